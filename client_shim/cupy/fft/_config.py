"""`cupy.fft.config`: settings of the transforms."""

from __future__ import annotations

import contextvars
import warnings
from typing import Any

from cupool.client_shim.cupy import _util
from cupool.client_shim.cupy.cuda import cufft
from cupool.client_shim.cupy.fft import _cache, _callback

__all__ = ["config"]


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

    get_plan_cache = staticmethod(_cache.this_devices)

    def clear_plan_cache(self) -> None:
        """Forget the plans of the current device."""
        _cache.this_devices().clear()

    def get_plan_cache_size(self) -> int:
        """Return how many plans may be kept."""
        return _cache.this_devices().get_size()

    def set_plan_cache_size(self, size: int) -> None:
        """Set how many plans may be kept."""
        _cache.this_devices().set_size(size)

    def get_plan_cache_max_memsize(self) -> int:
        """Return how many bytes of work areas may be kept."""
        return _cache.this_devices().get_memsize()

    def set_plan_cache_max_memsize(self, size: int) -> None:
        """Set how many bytes of work areas may be kept."""
        _cache.this_devices().set_memsize(size)

    def show_plan_cache_info(self) -> None:
        """Print the limits and plans of this thread's caches of all devices."""
        _cache.show_all()

    get_current_callback_manager = staticmethod(_callback.get_current_callback_manager)
    set_cufft_callbacks = _callback.set_cufft_callbacks

    def set_cufft_gpus(self, gpus: Any) -> None:
        """Choose the devices for transforms with `use_multi_gpus`.

        Args:
            gpus: how many (the first ones), or a list of them.

        Raises:
            ValueError: less than two, or one of them twice.
        """
        _util.experimental("cupy.fft.config.set_cufft_gpus")
        self._devices.set(cufft.several(gpus))

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
        """Whether complex transforms along an axis are shared by several devices."""
        return self._use_multi_gpus.get()

    @use_multi_gpus.setter
    def use_multi_gpus(self, value: bool) -> None:
        self._use_multi_gpus.set(bool(value))

    @property
    def devices(self) -> tuple[int, ...] | None:
        """The devices that share transforms, None without `use_multi_gpus` or a choice."""
        return self._devices.get() if self._use_multi_gpus.get() else None


def _warn_planning() -> None:
    warnings.warn(
        "enable_nd_planning is deprecated as of CuPy 14 and will always be True in the future.",
        DeprecationWarning,
        stacklevel=3,
    )


config = _Config()
