"""The transforms of `cupy.fft` with SciPy's arguments."""

from __future__ import annotations

from numbers import Number
from typing import Any

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy.fft._fft import (
    _FORWARD,
    _INVERSE,
    _default_fft_func,
    _fft,
    _swap_direction,
)

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]
ndarray = core.ndarray


def _sequence(value: Any) -> Any:
    return (value,) if isinstance(value, Number) else value


def _several(
    x: Any,
    s: Any,
    axes: Any,
    norm: str | None,
    plan: Any,
    direction: int,
    value_type: str = "C2C",
    overwrite_x: bool = False,
) -> ndarray:
    s, axes = _sequence(s), _sequence(axes)
    transform = _default_fft_func(x, s, axes, value_type=value_type)
    options = {"plan": plan, "overwrite_x": overwrite_x}
    return transform(x, s, axes, norm, direction, value_type, **options)  # type: ignore[no-any-return]


def _no_plan(name: str, plan: Any) -> None:
    if plan is not None:
        raise NotImplementedError(f"{name} plan is currently not yet supported")


def fft(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform an axis, cut or padded with zeros to `n` points; the result is complex.

    Args:
        norm: "backward" (default), "ortho" or "forward": which direction divides.
        overwrite_x: accepted; `x` stays as it is.
        plan: what `get_fft_plan` would return.

    Raises:
        TypeError: not a device array.
        ValueError: no points, a bad norm.
    """
    return _fft(x, (n,), (axis,), norm, _FORWARD, plan=plan)


def ifft(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform an axis back; see `fft`."""
    return _fft(x, (n,), (axis,), norm, _INVERSE, plan=plan)


def rfft(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform an axis of real values; the result has ``n // 2 + 1`` points."""
    return _fft(x, (n,), (axis,), norm, _FORWARD, "R2C", plan=plan)


def irfft(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform an axis back to real values; `n` is ``2 * (points - 1)`` by default."""
    return _fft(x, (n,), (axis,), norm, _INVERSE, "C2R", plan=plan)


def hfft(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform an axis with Hermitian symmetry; the result is real."""
    _no_plan("hfft", plan)
    return irfft(x.conj(), n, axis, _swap_direction(norm))


def ihfft(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform back what `hfft` gave."""
    _no_plan("ihfft", plan)
    return rfft(x, n, axis, _swap_direction(norm)).conj()  # type: ignore[no-any-return]


def fftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform several axes, cut or padded to the lengths `s`; all axes by default.

    Args:
        overwrite_x: the result may be written into `x` and be `x` itself.
    """
    return _several(x, s, axes, norm, plan, _FORWARD, overwrite_x=overwrite_x)


def ifftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform several axes back; see `fftn`."""
    return _several(x, s, axes, norm, plan, _INVERSE, overwrite_x=overwrite_x)


def rfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform several axes of real values; the last of them is halved."""
    return _several(x, s, axes, norm, plan, _FORWARD, "R2C")


def irfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform several axes back to real values; see `irfft` for the last of them."""
    return _several(x, s, axes, norm, plan, _INVERSE, "C2R")


def hfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform several axes with Hermitian symmetry; the result is real."""
    _no_plan("hfftn", plan)
    return irfftn(x.conj(), s, axes, _swap_direction(norm))


def ihfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform back what `hfftn` gave."""
    _no_plan("ihfftn", plan)
    return rfftn(x, s, axes, _swap_direction(norm)).conj()  # type: ignore[no-any-return]


def fft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform two axes; see `fftn`."""
    return fftn(x, s, axes, norm, overwrite_x, plan=plan)


def ifft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform two axes back; see `fftn`."""
    return ifftn(x, s, axes, norm, overwrite_x, plan=plan)


def rfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform two axes of real values; see `rfftn`."""
    return rfftn(x, s, axes, norm, plan=plan)


def irfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform two axes back to real values; see `irfftn`."""
    return irfftn(x, s, axes, norm, plan=plan)


def hfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform two axes with Hermitian symmetry; the result is real."""
    _no_plan("hfft2", plan)
    return hfftn(x, s, axes, norm)


def ihfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: str | None = None,
    overwrite_x: bool = False,
    *,
    plan: Any = None,
) -> ndarray:
    """Transform back what `hfft2` gave."""
    _no_plan("ihfft2", plan)
    return ihfftn(x, s, axes, norm)
