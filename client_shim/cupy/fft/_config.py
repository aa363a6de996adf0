"""`cupy.fft.config`: settings of the transforms. cuFFT's plans live on the server."""

from __future__ import annotations

import contextvars
import warnings
from typing import Any, NoReturn

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.fft import _callback

__all__ = ["PlanCache", "config"]

_DEFAULT_PLANS = 16


class PlanCache:
    """What a script may ask of a device's cache of plans.

    The server's CuPy keeps its plans by itself; limits set here are remembered and reported.
    """

    def __init__(self, size: int = _DEFAULT_PLANS, memsize: int = -1) -> None:
        self._size = size
        self._memsize = memsize

    def get_size(self) -> int:
        """Return how many plans may be kept."""
        return self._size

    def set_size(self, size: int) -> None:
        """Set how many plans may be kept; -1 is without a limit."""
        self._size = _limit(size)

    def get_memsize(self) -> int:
        """Return how many bytes of work areas may be kept."""
        return self._memsize

    def set_memsize(self, memsize: int) -> None:
        """Set how many bytes of work areas may be kept; -1 is without a limit."""
        self._memsize = _limit(memsize)

    def get_curr_size(self) -> int:
        """Return how many plans this process keeps: none."""
        return 0

    def get_curr_memsize(self) -> int:
        """Return the bytes of work areas that this process keeps: none."""
        return 0

    def clear(self) -> None:
        """Forget all plans of this process: there are none."""

    def show_info(self) -> None:
        """Print the limits."""
        print(f"cuFFT plans are kept by the server; limits: {self._size} plans, {self._memsize} B")


def _limit(value: int) -> int:
    number = int(value)
    if number < -1:
        raise ValueError(f"a limit is -1 (none) or more, not {value!r}")
    return number


_caches: dict[int, PlanCache] = {}


def get_plan_cache() -> PlanCache:
    """Return the cache of the current device."""
    from cupool.client_shim import session

    return _caches.setdefault(session.current.device, PlanCache())


class _Config:
    """The type of `cupy.fft.config`."""

    _enable_nd_planning: contextvars.ContextVar[bool] = contextvars.ContextVar(
        "cupy.fft.config.enable_nd_planning", default=True
    )
    _use_multi_gpus: contextvars.ContextVar[bool] = contextvars.ContextVar(
        "cupy.fft.config.use_multi_gpus", default=False
    )
    _devices: contextvars.ContextVar[Any] = contextvars.ContextVar(
        "cupy.fft.config.devices", default=None
    )

    get_plan_cache = staticmethod(get_plan_cache)

    def clear_plan_cache(self) -> None:
        """Forget the plans of the current device."""
        get_plan_cache().clear()

    def get_plan_cache_size(self) -> int:
        """Return how many plans may be kept."""
        return get_plan_cache().get_size()

    def set_plan_cache_size(self, size: int) -> None:
        """Set how many plans may be kept."""
        get_plan_cache().set_size(size)

    def get_plan_cache_max_memsize(self) -> int:
        """Return how many bytes of work areas may be kept."""
        return get_plan_cache().get_memsize()

    def set_plan_cache_max_memsize(self, size: int) -> None:
        """Set how many bytes of work areas may be kept."""
        get_plan_cache().set_memsize(size)

    def show_plan_cache_info(self) -> None:
        """Print the limits of the current device's cache."""
        get_plan_cache().show_info()

    get_current_callback_manager = staticmethod(_callback.get_current_callback_manager)
    set_cufft_callbacks = _callback.set_cufft_callbacks

    def set_cufft_gpus(self, gpus: Any) -> NoReturn:
        """Refuse: one transform runs on one device."""
        _unsupported.refuse("cupy.fft.config.set_cufft_gpus")

    @property
    def enable_nd_planning(self) -> bool:
        """Whether transforms of several axes are planned as one; deprecated."""
        _warn_planning()
        return self._enable_nd_planning.get()

    @enable_nd_planning.setter
    def enable_nd_planning(self, value: bool) -> None:
        _warn_planning()
        self._enable_nd_planning.set(value)

    @property
    def use_multi_gpus(self) -> bool:
        """Whether a transform is spread over several devices: never."""
        return self._use_multi_gpus.get()

    @use_multi_gpus.setter
    def use_multi_gpus(self, value: bool) -> None:
        if value:
            _unsupported.refuse("cupy.fft.config.use_multi_gpus")

    @property
    def devices(self) -> None:
        """The devices that a transform is spread over: None."""
        return None


def _warn_planning() -> None:
    warnings.warn(
        "enable_nd_planning is deprecated as of CuPy 14 and will always be True in the future.",
        DeprecationWarning,
        stacklevel=3,
    )


config = _Config()
