"""`cupyx.scipy.interpolate` against SciPy: values, shapes, waits and errors."""

from __future__ import annotations

import cupy as cp
import cupyx.scipy.interpolate as theirs
import numpy as np
import pytest
import scipy.interpolate

from tests.cupy.agreement import same
from tests.cupy.waits import no_waits, waits


def part(xp):
    return theirs if xp is cp else scipy.interpolate


def numbers(xp, *shape, seed: int = 0, dtype: str = "d"):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return xp.asarray(values.astype(dtype))


def rising(xp, n: int, seed: int = 1):
    return xp.asarray(np.cumsum(np.random.default_rng(seed).uniform(0.5, 1.5, n)))


# ------------------------------------------------------------------- piecewise polynomials


@pytest.mark.parametrize("name", ["PPoly", "BPoly"])
@pytest.mark.parametrize("dtype", ["d", "D"])
@pytest.mark.parametrize("axis", [0, 1])
def test_pieces(name: str, dtype: str, axis: int) -> None:
    def run(xp):
        shape = (4, 5, 2) if axis == 0 else (2, 4, 5)
        made = getattr(part(xp), name)(numbers(xp, *shape, dtype=dtype), rising(xp, 6), axis=axis)
        points = xp.asarray([[0.1, 1.0, 3.3], [4.0, 5.5, 9.0]])
        return [
            made.c,
            made(points),
            made(points, 1),
            made(points, extrapolate=False),
            made(points, extrapolate="periodic"),
            made.derivative(2)(points),
            made.antiderivative(2)(points),
            made.integrate(1.5, 4.5),
            made.integrate(4.5, 1.5),
            made.integrate(-1.0, 13.0, extrapolate="periodic"),
        ]

    same(run, rtol=1e-9)


def test_pieces_change_their_basis() -> None:
    def run(xp):
        power = part(xp).PPoly(numbers(xp, 4, 5), rising(xp, 6))
        bernstein = part(xp).BPoly.from_power_basis(power)
        back = part(xp).PPoly.from_bernstein_basis(bernstein)
        return [bernstein.c, back.c, part(xp).BPoly._raise_degree(bernstein.c, 2)]

    same(run, rtol=1e-9)


def test_pieces_are_extended_on_both_sides() -> None:
    def run(xp):
        made = part(xp).PPoly(numbers(xp, 3, 2), xp.asarray([1.0, 2.0, 4.0]))
        made.extend(numbers(xp, 4, 2, seed=1), xp.asarray([5.0, 6.0]))
        made.extend(numbers(xp, 4, 1, seed=2), xp.asarray([0.5]))
        return [made.x, made.c]

    same(run)
    made = theirs.PPoly(numbers(cp, 3, 2), cp.asarray([1.0, 2.0, 4.0]))
    with pytest.raises(ValueError, match="neither on the left"):
        made.extend(numbers(cp, 3, 1), cp.asarray([1.5]))


def test_from_derivatives() -> None:
    def run(xp):
        made = part(xp).BPoly.from_derivatives(
            xp.asarray([0.0, 1.0, 3.0]), xp.asarray([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
        )
        return [made.c, made(xp.linspace(0, 3, 7), 1)]

    same(run)


def test_several_variables() -> None:
    def run(xp):
        x = (rising(xp, 4), rising(xp, 3, seed=2))
        made = part(xp).NdPPoly(numbers(xp, 3, 2, 3, 2, 5), x)
        points = xp.asarray(np.random.default_rng(3).uniform(0.5, 3, (4, 2)))
        return [
            made(points),
            made(points, xp.asarray([1, 0])) if xp is np else made(points, (1, 0)),
            made.derivative((1, 1))(points),
            made.antiderivative((1, 2))(points),
            made.integrate_1d(1.0, 2.0, 1)(points[:, :1]),
            made.integrate([(1.0, 2.0), (0.5, 1.5)]),
        ]

    same(run, rtol=1e-9)


@pytest.mark.parametrize(
    ("c", "x", "match"),
    [
        ((3,), [0.0, 1.0], "2-dimensional"),
        ((3, 2), [0.0, 1.0], "number of coefficients"),
        ((0, 1), [0.0, 1.0], "order 0"),
        ((3, 2), [0.0, 2.0, 1.0], "strictly increasing or decreasing"),
    ],
)
def test_pieces_refuse(c, x, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        theirs.PPoly(cp.zeros(c), cp.asarray(x))


# ------------------------------------------------------------------- cubics


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
@pytest.mark.parametrize("n", [3, 4, 9])
def test_cubics(name: str, n: int) -> None:
    def run(xp):
        made = getattr(part(xp), name)(rising(xp, n), numbers(xp, n, 2))
        inside = xp.linspace(made.x[0].item(), made.x[-1].item(), 17)
        return [made(inside), made(inside, 1), made.integrate(inside[1].item(), inside[9].item())]

    same(run, rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("bc_type", ["clamped", "natural", ("natural", (1, 0.5)), "periodic"])
def test_cubic_spline_ends(n: int, bc_type) -> None:
    def run(xp):
        x, y = rising(xp, n), numbers(xp, n)
        if bc_type == "periodic":
            y[-1] = y[0]
        ends = bc_type
        if isinstance(bc_type, tuple):
            ends = (bc_type[0], (1, xp.asarray(0.5) if xp is cp else 0.5))
        made = part(xp).CubicSpline(x, y, bc_type=ends)
        return made(xp.linspace(x[0].item(), x[-1].item(), 11))

    same(run, rtol=1e-9)


def test_hermite_and_functions() -> None:
    def run(xp):
        x, y, slopes = rising(xp, 5), numbers(xp, 3, 5), numbers(xp, 3, 5, seed=2)
        points = xp.asarray([1.0, 2.5, 4.0])
        made = part(xp).CubicHermiteSpline(x, y, slopes, axis=1)
        pchip = part(xp).pchip_interpolate
        return [made(points), made.c, pchip(x, y, points, axis=1), pchip(x, y[0], points, der=1)]

    same(run, rtol=1e-10)
    with pytest.raises(ValueError, match="strictly increasing"):
        theirs.PchipInterpolator(cp.asarray([0.0, 2.0, 1.0]), cp.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        theirs.CubicSpline(cp.asarray([0.0, 1.0]), cp.asarray([0.0, cp.nan]))


# ------------------------------------------------------------------- polynomials


def test_barycentric() -> None:
    def run(xp):
        x, y = rising(xp, 5), numbers(xp, 2, 5)
        made = part(xp).BarycentricInterpolator(x, y, axis=1)
        points = xp.asarray([1.2, x[1].item(), 3.0])
        return [made(points), part(xp).barycentric_interpolate(x, y[0], points)]

    same(run, rtol=1e-10)


def test_barycentric_takes_points_later() -> None:
    # SciPy's weights have wrong signs then.
    x, y, points = rising(np, 5), numbers(np, 2, 5), np.asarray([1.2, 3.0])
    made = theirs.BarycentricInterpolator(cp.asarray(x[:4]), cp.asarray(y[:, :4]), axis=1)
    made.add_xi(cp.asarray(x[4:]), cp.asarray(y[:, 4:]))
    expected = [np.polyval(np.polyfit(x, row, 4), points) for row in y]
    np.testing.assert_allclose(made(cp.asarray(points)).get(), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="No update to yi"):
        made.add_xi(cp.asarray([99.0]))


def test_krogh_with_derivatives() -> None:
    def run(xp):
        x = xp.asarray([0.0, 0.0, 1.0, 2.0, 2.0, 2.0])
        made = part(xp).KroghInterpolator(x, numbers(xp, 6, 2))
        points = xp.asarray([[0.5, 1.5], [2.0, 3.0]])
        krogh = part(xp).krogh_interpolate
        return [
            made.c[:6],
            made(points),
            made.derivatives(points),
            made.derivatives(points, 3),
            made.derivative(points, 2),
            krogh(x, numbers(xp, 6), points, der=2),
        ]

    same(run, rtol=1e-9)
    with pytest.raises(ValueError, match="can't be equal"):
        theirs.KroghInterpolator(cp.asarray([0.0, 1.0, 0.0]), cp.zeros(3))


KINDS = ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "cubic"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill_value", ["extrapolate", 7.0, (-1.0, 2.0)])
def test_interp1d(kind: str, fill_value) -> None:
    def run(xp):
        x = rising(xp, 6)[::-1]
        made = part(xp).interp1d(
            x, numbers(xp, 2, 6), kind, fill_value=fill_value, bounds_error=False
        )
        inside = part(xp).interp1d(x, numbers(xp, 6), kind)
        return [made(xp.asarray([[0.0, 1.9], [3.3, 99.0]])), inside(xp.asarray([2.0, 3.5]))]

    if kind in ("zero", "slinear", "cubic") and fill_value == "extrapolate":
        same(run, rtol=1e-6)
    else:
        same(run, rtol=1e-9)


def test_interp1d_says_what_is_outside() -> None:
    made = theirs.interp1d(cp.arange(4.0), cp.arange(4.0))
    with waits() as counted:
        made(cp.asarray([0.5]))
    assert counted == ["fetch"]
    with pytest.raises(ValueError, match="below the interpolation range"):
        made(cp.asarray([-1.0]))
    with pytest.raises(NotImplementedError, match="unsupported"):
        theirs.interp1d(cp.arange(4.0), cp.arange(4.0), kind="hilbert")


# ------------------------------------------------------------------- splines


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("dtype", ["d", "D"])
def test_interpolating_splines(k: int, dtype: str) -> None:
    def run(xp):
        x, y = rising(xp, 9), numbers(xp, 9, 2, dtype=dtype)
        made = part(xp).make_interp_spline(x, y, k)
        points = xp.linspace(0.0, 12.0, 13)
        results = [made.t, made.c, made(points), made(points, extrapolate=False)]
        if k:
            results += [made.derivative()(points), made.antiderivative()(points)]
        if dtype == "d":  # SciPy's cannot for complex numbers
            results.append(made.integrate(1.0, 5.0))
        return results

    if k == 0:  # the coefficients of SciPy's have one row more
        made = theirs.make_interp_spline(rising(cp, 4), cp.arange(4.0), 0)
        assert made(rising(cp, 4)).get().tolist() == [0.0, 1.0, 2.0, 3.0]
    else:
        same(run, rtol=1e-8)


@pytest.mark.parametrize("bc_type", ["natural", "clamped", "periodic", None])
def test_ends_of_splines(bc_type) -> None:
    def run(xp):
        x, y = rising(xp, 8), numbers(xp, 8)
        y[-1] = y[0]
        made = part(xp).make_interp_spline(x, y, 3, bc_type=bc_type)
        return [made.t, made.c, made(xp.linspace(-1.0, 9.0, 7))]

    same(run, rtol=1e-8)


def test_given_ends_of_splines() -> None:
    def run(xp):
        x, y = rising(xp, 8), numbers(xp, 8, 2)
        ends = ([(1, xp.asarray([1.0, 2.0]))], [(2, xp.asarray([0.0, 3.0]))])
        made = part(xp).make_interp_spline(x, y, 3, bc_type=ends)
        return [made.t, made.c]

    same(run, rtol=1e-8)
    with pytest.raises(ValueError, match="number of derivatives"):
        theirs.make_interp_spline(cp.arange(6.0), cp.arange(6.0), bc_type=([(1, 0.0)], None))
    with pytest.raises(ValueError, match="duplicates"):
        theirs.make_interp_spline(cp.asarray([0.0, 1, 1, 2]), cp.arange(4.0))


def test_least_squares_splines() -> None:
    def run(xp):
        x, y = rising(xp, 20), numbers(xp, 20, 2)
        inner = [4.0, 8.0]
        ends = [x[0].item()] * 4, [x[-1].item()] * 4
        t = xp.asarray([*ends[0], *inner, *ends[1]])
        made = part(xp).make_lsq_spline(x, y, t, w=xp.linspace(1, 2, 20))
        return [made.c, made(x[::3])]

    same(run, rtol=1e-8)


def test_functions_of_splines() -> None:
    def run(xp):
        t, c = rising(xp, 10), numbers(xp, 6, 2)
        padded = xp.concatenate([c, xp.zeros((4, 2))])
        made = part(xp).BSpline(t, c, 3)
        basis = part(xp).BSpline.basis_element(t[:5])
        down, up = part(xp).splder((t, padded, 3)), part(xp).splantider((t, padded, 3))
        inside = xp.linspace(t[3].item(), t[6].item(), 5)
        return [
            *down[:2],
            *up[:2],
            basis(inside),
            made(inside),
            made(inside + 9, extrapolate="periodic"),
        ]

    same(run, rtol=1e-9)
    with pytest.raises(ValueError, match="non-decreasing"):
        theirs.BSpline(cp.asarray([3.0, 1, 2, 0]), cp.zeros(2), 1)
    with pytest.raises(ValueError, match="two internal knots"):
        theirs.BSpline(cp.ones(4), cp.zeros(2), 1)


def test_products_of_splines() -> None:
    def run(xp):
        t = (rising(xp, 8), rising(xp, 7, seed=3))
        made = part(xp).NdBSpline(t, numbers(xp, 4, 4, 3), (3, 2))
        points = xp.asarray(np.random.default_rng(5).uniform(3, 4, (2, 3, 2)))
        return [
            made(points),
            made(points, nu=xp.asarray([1, 0])),
            made(points + 99, extrapolate=False),
        ]

    same(run, rtol=1e-9)


@pytest.mark.parametrize("s", [None, 0, 0.5])
def test_smoothing_splines(s) -> None:
    def run(xp):
        x = rising(xp, 20)
        y = xp.sin(x) + 0.05 * numbers(xp, 20)
        made = part(xp).UnivariateSpline(x, y, s=s)
        points = xp.linspace(0.0, 25.0, 9)
        return [
            *(xp.asarray(one) for one in (made.get_knots(), made.get_coeffs())),
            *(made(points, ext=ext) for ext in (0, "zeros", "const")),
            xp.asarray(made.integral(2.0, 15.0)),
            made.derivatives(3.5),
            made.derivative()(points[2:5]),
        ]

    # The two fits stop at slightly different smoothing parameters.
    same(run, rtol=1e-2)
    made = theirs.InterpolatedUnivariateSpline(rising(cp, 6), numbers(cp, 6))
    assert type(made) is theirs.InterpolatedUnivariateSpline
    with pytest.raises(ValueError, match="ext='raise'"):
        made(cp.asarray([99.0]), ext=2)


# ------------------------------------------------------------------- several variables

METHODS = ["linear", "nearest", "slinear", "cubic", "quintic", "pchip"]


@pytest.mark.parametrize("method", METHODS)
def test_grids(method: str) -> None:
    def run(xp):
        grid = (rising(xp, 7), rising(xp, 6, seed=2)[::-1])
        values = numbers(xp, 7, 6, 2)
        points = xp.asarray(np.random.default_rng(4).uniform(2, 4, (5, 2)))
        interpolator = part(xp).RegularGridInterpolator(
            grid, values, method, bounds_error=False, fill_value=-5.0
        )
        far = xp.asarray([[99.0, 3.0], [3.0, 99.0 if method == "pchip" else xp.nan]])
        return [
            interpolator(points),
            interpolator(far),
            part(xp).interpn(grid, values, points, method),
        ]

    # SciPy solves for splines by iteration.
    same(run, rtol=1e-4 if method in ("cubic", "quintic") else 1e-7)


def test_grids_refuse() -> None:
    make = theirs.RegularGridInterpolator
    places, values = (cp.arange(4.0), cp.arange(3.0)), cp.zeros((4, 3))
    made = make(places, values)
    with pytest.raises(ValueError, match="out of bounds in dimension 1"):
        made(cp.asarray([[1.0, 7.0]]))
    with pytest.raises(ValueError, match="strictly ascending or descending"):
        make((cp.asarray([0.0, 2, 1, 3]), cp.arange(3.0)), values)
    with pytest.raises(ValueError, match="requires at least"):
        make(places, values, method="cubic")
    with pytest.raises(ValueError, match="4 points and 5 values"):
        make(places, cp.zeros((5, 3)))


@pytest.mark.parametrize("kernel", sorted(theirs._rbfinterp.NAME_TO_FUNC))
@pytest.mark.parametrize("neighbors", [None, 9])
def test_radial_functions(kernel: str, neighbors) -> None:
    def run(xp):
        points = xp.asarray(np.random.default_rng(0).uniform(size=(30, 2)))
        values = numbers(xp, 30, 3, dtype="D")
        made = part(xp).RBFInterpolator(
            points, values, neighbors, smoothing=0.1, kernel=kernel, epsilon=2.0
        )
        return made(xp.asarray(np.random.default_rng(1).uniform(size=(11, 2))))

    same(run, rtol=1e-5)


@pytest.mark.parametrize("name", ["LinearNDInterpolator", "CloughTocher2DInterpolator"])
@pytest.mark.parametrize("rescale", [False, True])
def test_triangles(name: str, rescale: bool) -> None:
    def run(xp):
        points = xp.asarray(np.random.default_rng(0).uniform(size=(30, 2)))
        made = getattr(part(xp), name)(points, numbers(xp, 30, 2), rescale=rescale, fill_value=-1.0)
        where = xp.asarray(np.random.default_rng(1).uniform(0, 1.2, (3, 4, 2)))
        return [made(where), made(where[..., 0], where[..., 1])]

    same(run, rtol=1e-9)


def test_nearest_point() -> None:
    def run(xp):
        points = xp.asarray(np.random.default_rng(0).uniform(size=(30, 3)))
        made = part(xp).NearestNDInterpolator(points, numbers(xp, 30, 2))
        where = xp.asarray(np.random.default_rng(1).uniform(size=(5, 3)))
        return [made(where), made(where, distance_upper_bound=0.2)]

    same(run)


def test_evaluating_waits_for_nothing() -> None:
    x, y = cp.arange(8.0), cp.arange(8.0) ** 2
    scattered = cp.asarray(np.random.default_rng(0).uniform(size=(8, 2)))
    made = [
        theirs.CubicSpline(x, y),
        theirs.make_interp_spline(x, y),
        theirs.Akima1DInterpolator(x, y),
        theirs.KroghInterpolator(x, y),
        theirs.BarycentricInterpolator(x, y),
        theirs.interp1d(x, y, fill_value="extrapolate"),
        theirs.UnivariateSpline(x, y),
    ]
    points = cp.linspace(0, 7, 5)
    with no_waits():
        for one in made:
            one(points)
        made[0].integrate(1.0, 2.0)
        made[1].antiderivative().derivative(2)
        radial = theirs.RBFInterpolator(scattered, y, neighbors=4)
        radial(scattered[:2])
        theirs.CloughTocher2DInterpolator(scattered, y)(scattered[:2])
        theirs.NearestNDInterpolator(scattered, y)(scattered[:2])
    with waits() as counted:
        theirs.CubicSpline(x, y)
    assert counted == ["fetch"]


def test_design_matrices() -> None:
    def run(xp):
        t = rising(xp, 9)
        x = xp.linspace(t[3].item(), t[5].item(), 6)
        line = part(xp).BSpline.design_matrix(x, t, 3)
        ring = part(xp).BSpline.design_matrix(x + 9, t, 3, extrapolate="periodic")
        plane = part(xp).NdBSpline.design_matrix(xp.stack([x, x], axis=1), (t, t), (3, 2))
        return [xp.asarray(one.toarray()) for one in (line, ring, plane)]

    same(run, rtol=1e-9)
    with pytest.raises(ValueError, match="Out of bounds"):
        theirs.BSpline.design_matrix(cp.asarray([-1.0]), rising(cp, 9), 3)


def test_two_points_are_a_line() -> None:
    def run(xp):
        x = xp.asarray([1.0, 3.0])
        made = [part(xp).Akima1DInterpolator(x, x * 2), part(xp).PchipInterpolator(x, x * 2)]
        return [one(xp.asarray([1.5, 2.0])) for one in made]

    same(run)
