"""Pictures of any dimension (`cupyx.scipy.ndimage`)."""

from cupool.proto.operations.operation import Operation

_NAMES = (
    "affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes "
    "binary_hit_or_miss binary_opening binary_propagation black_tophat center_of_mass convolve "
    "convolve1d correlate correlate1d distance_transform_edt extrema fourier_ellipsoid "
    "fourier_gaussian fourier_shift fourier_uniform gaussian_filter gaussian_filter1d "
    "gaussian_gradient_magnitude gaussian_laplace generate_binary_structure grey_closing "
    "grey_dilation grey_erosion grey_opening iterate_structure label laplace map_coordinates "
    "maximum maximum_filter maximum_filter1d maximum_position mean median median_filter minimum "
    "minimum_filter minimum_filter1d minimum_position morphological_gradient "
    "morphological_laplace percentile_filter prewitt rank_filter rotate shift sobel spline_filter "
    "spline_filter1d standard_deviation sum_labels uniform_filter uniform_filter1d variance "
    "white_tophat zoom"
).split()

OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(
        f"scipy.ndimage.{name}",
        "function",
        f"cupyx.scipy.ndimage.{name}",
        f"scipy.ndimage.{name}",
        "own",
    )
    for name in _NAMES
)
