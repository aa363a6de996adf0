"""`cupyx.scipy.ndimage` against SciPy: filters, transforms, morphology, measurements."""

from __future__ import annotations

import cupy as cp
import cupyx.scipy.ndimage as ours
import numpy as np
import pytest
import scipy.ndimage as theirs

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def ndi(xp):
    return theirs if xp is np else ours


def picture(xp, *shape, dtype="f8"):
    rng = np.random.default_rng(sum(shape))
    values = rng.normal(size=shape) * 20
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return xp.asarray(np.abs(values).astype(dtype) if dtype[0] == "u" else values.astype(dtype))


def blobs(xp):
    return xp.asarray(np.random.default_rng(2).random((9, 11)) > 0.6)


FILTERS = [
    ("uniform_filter", (3,), {}),
    ("uniform_filter", ((2, 5),), {"mode": "wrap", "origin": (0, 1)}),
    ("uniform_filter1d", (4,), {"axis": 0}),
    ("gaussian_filter", (1.5,), {}),
    ("gaussian_filter", ((1, 0),), {"order": (1, 0), "mode": "nearest"}),
    ("gaussian_filter", (1,), {"axes": (1,), "radius": 2}),
    ("gaussian_filter1d", (2,), {"order": 2}),
    ("gaussian_laplace", (1,), {"truncate": 2.0}),
    ("gaussian_gradient_magnitude", (1,), {}),
    ("laplace", (), {"mode": "mirror"}),
    ("prewitt", (), {"axis": 0}),
    ("sobel", (), {"mode": "constant", "cval": 2.0}),
    ("minimum_filter", (3,), {}),
    ("maximum_filter", ((3, 2),), {"origin": (1, 0)}),
    ("maximum_filter1d", (3,), {}),
    ("minimum_filter1d", (4,), {"axis": 0}),
    ("median_filter", (3,), {}),
    ("percentile_filter", (30, 3), {}),
    ("rank_filter", (-2, 3), {}),
    ("grey_erosion", (3,), {}),
    ("grey_dilation", ((2, 3),), {}),
    ("grey_opening", (3,), {}),
    ("grey_closing", (3,), {}),
    ("morphological_gradient", (3,), {}),
    ("morphological_laplace", (3,), {}),
    ("white_tophat", (3,), {}),
    ("black_tophat", (3,), {}),
]


@pytest.mark.parametrize(("name", "args", "options"), FILTERS, ids=lambda v: str(v)[:20])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_filters(name, args, options, dtype) -> None:
    same(lambda xp: getattr(ndi(xp), name)(picture(xp, 7, 8, dtype=dtype), *args, **options))
    with no_waits():
        getattr(ours, name)(picture(cp, 7, 8, dtype=dtype), *args, **options)


@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_weights(name: str) -> None:
    def run(xp):
        apply, line = getattr(ndi(xp), name), getattr(ndi(xp), name + "1d")
        weights, row = picture(xp, 3, 2), picture(xp, 4)
        results = [apply(picture(xp, 6, 5, dtype=d), weights) for d in ("f8", "i8", "c16")]
        results.append(apply(picture(xp, 6, 5), weights, mode="constant", cval=1.0, origin=(1, 0)))
        results.append(line(picture(xp, 6, 5), row, axis=0, mode="mirror"))
        return [*results, apply(picture(xp, 6, 5), row, axes=(1,)), line(picture(xp, 5), row)]

    same(run, rtol=1e-9)


def test_outputs() -> None:
    def run(xp):
        a = picture(xp, 5, 6)
        into = xp.zeros((5, 6), "f4")
        assert ndi(xp).gaussian_filter(a, 1, output=into) is into or xp is np
        other = a.copy()
        ndi(xp).sobel(other, output=other)
        return into, other, ndi(xp).uniform_filter(a, 3, output="f4")

    same(run, rtol=1e-6)
    half = ours.uniform_filter(picture(cp, 5, 6, dtype="f2"), 3)
    assert half.dtype == np.float16
    assert np.isfinite(half.get()).all()
    with pytest.raises(RuntimeError, match="shape"):
        ours.sobel(cp.ones((3, 4)), output=cp.ones((4, 3)))


def test_generic_functions_of_the_script() -> None:
    def run(xp):
        a = picture(xp, 5, 6)
        laplace = ndi(xp).generic_laplace(a, ndi(xp).prewitt)
        return laplace, ndi(xp).generic_gradient_magnitude(a, ndi(xp).sobel)

    same(run, rtol=1e-9)
    with pytest.raises(TypeError, match="bad function type"):
        ours.generic_filter(cp.ones(4), None, 3)


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("mode", ["constant", "nearest", "reflect"])
def test_geometry(order: int, mode: str) -> None:
    def run(xp):
        n, a = ndi(xp), picture(xp, 7, 9)
        options = {"order": order, "mode": mode}
        matrix = xp.asarray([[0.9, 0.1], [-0.2, 1.1]])
        where = xp.asarray(np.random.default_rng(0).random((2, 4, 3)) * 6)
        results = [n.shift(a, (0.4, -1.3), **options), n.rotate(a, 30, **options)]
        results += [n.rotate(a, 20, reshape=False, **options), n.zoom(a, (1.5, 0.7), **options)]
        results += [n.affine_transform(a, matrix, offset=(0.5, 1), **options)]
        results += [n.affine_transform(a, matrix[0], output_shape=(4, 5), **options)]
        return [*results, n.map_coordinates(a, where, **options)]

    same(run, rtol=1e-9)


def test_splines_and_spectra() -> None:
    def run(xp):
        n, a, z = ndi(xp), picture(xp, 6, 7), picture(xp, 6, 7, dtype="c16")
        results = [n.spline_filter(a), n.spline_filter1d(a, 2, axis=0, mode="reflect")]
        results += [n.fourier_gaussian(z, 1.0), n.fourier_uniform(a, 3), n.fourier_shift(z, 1.5)]
        return [*results, n.fourier_ellipsoid(z, (3, 2), n=10, axis=0)]

    same(run, rtol=1e-9)


def test_binary_morphology() -> None:
    def run(xp):
        n, a = ndi(xp), blobs(xp)
        cross = n.generate_binary_structure(2, 2)
        names = ("binary_erosion", "binary_dilation", "binary_opening", "binary_closing")
        results = [getattr(n, name)(a, cross, iterations=k) for name in names for k in (1, 2)]
        results += [n.binary_fill_holes(a), n.binary_propagation(a & (a.T[:1, :1]), mask=a)]
        results += [n.binary_hit_or_miss(a), n.binary_dilation(a, mask=blobs(xp)[::-1, ::-1])]
        return [*results, cross, n.iterate_structure(cross, 3)]

    same(run)


@pytest.mark.filterwarnings("ignore:.*slower:cupy._util.PerformanceWarning")
@pytest.mark.parametrize("dtype", ["f8", "i4", "?"])
def test_measurements(dtype: str) -> None:
    def run(xp):
        n = ndi(xp)
        a = picture(xp, 9, 11, dtype=dtype)
        labels, count = n.label(blobs(xp))
        index = xp.asarray([1, 2, 3])
        results = [xp.asarray(labels), xp.asarray(count)]
        for name in ("sum", "mean", "variance", "standard_deviation"):
            measure = getattr(n, name)
            results += [xp.asarray(measure(a, labels, i), dtype="f8") for i in (None, 1, index)]
            results.append(xp.asarray(measure(a), dtype="f8"))
        for name in ("minimum", "maximum", "median"):
            results.append(xp.asarray(getattr(n, name)(a, labels, index), dtype="f8"))
        return results

    same(run, rtol=1e-9)


def test_positions_and_boxes() -> None:
    def run(xp):
        n, a = ndi(xp), picture(xp, 9, 11)
        labels, _ = n.label(blobs(xp))
        index = xp.asarray([2, 1])
        places = [n.minimum_position(a), n.maximum_position(a, labels, 1)]
        places += [*n.maximum_position(a, labels, index), *n.extrema(a)[2:]]
        centre = n.center_of_mass(abs(a), labels, index)
        boxes = [[s.start, s.stop] for box in n.find_objects(labels) for s in box]
        counts = n.histogram(a, -40, 40, 5, labels, index)
        indices = n.value_indices(labels, ignore_value=0)[2]
        results = [np.asarray([list(map(int, p)) for p in places]), np.asarray(boxes)]
        return [*results, *(xp.asarray(x) for x in (*centre, *counts, *indices))]

    same(run, rtol=1e-9)
    assert ours.find_objects(cp.asarray([0, 3, 3]))[:2] == [None, None]


def test_distances() -> None:
    def run(xp):
        options = {"return_indices": True, "sampling": (1.0, 2.0)}
        distance, where = ndi(xp).distance_transform_edt(blobs(xp), **options)
        return distance, where.astype("i8")

    same(run)
    assert ours.distance_transform_edt(blobs(cp), float64_distances=False).dtype == np.float32


def test_errors_are_raised_at_once() -> None:
    a = cp.ones((4, 5))
    with waits() as counted:
        for error, call in (
            (RuntimeError, lambda: ours.uniform_filter(a, (1, 2, 3))),
            (RuntimeError, lambda: ours.gaussian_filter(a, 1, mode="mean")),
            (ValueError, lambda: ours.correlate(a, cp.ones((3, 3)), origin=5)),
            (RuntimeError, lambda: ours.correlate(a, cp.ones(3))),
            (RuntimeError, lambda: ours.minimum_filter(a)),
            (np.exceptions.AxisError, lambda: ours.sobel(a, axis=3)),
            (NotImplementedError, lambda: ours.shift(a.astype(int), 1, cval=np.nan)),
            (ValueError, lambda: ours.zoom(a, 2, order=7)),
            (TypeError, lambda: ours.label([1, 2])),
            (TypeError, lambda: ours.sum(a.astype(complex))),
            (TypeError, lambda: ours.mean(a, a, [1, 2])),
            (NotImplementedError, lambda: ours.distance_transform_edt(cp.ones(4))),
            (RuntimeError, lambda: ours.distance_transform_edt(a, return_distances=False)),
            (TypeError, lambda: ours.binary_erosion(a.astype(complex))),
        ):
            with pytest.raises(error):
                call()
    assert counted == []


def test_measuring_waits_once() -> None:
    a = picture(cp, 5, 6)
    with no_waits():
        ours.center_of_mass(a)
        ours.sum(a, a > 0, cp.asarray([0, 1]))
    with waits() as counted:
        ours.extrema(a)
    assert len(counted) == 1


def test_what_is_declared_is_in_the_table() -> None:
    import cupyx.scipy.signal as signal
    import cupyx.signal as extra

    from cupool.proto.operations import TABLE

    for module in (ours, signal, signal.windows, extra):
        sent = {getattr(getattr(module, name), "operation", None) for name in module.__all__}
        assert sent - {None} <= set(TABLE)
