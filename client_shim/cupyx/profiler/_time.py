"""`benchmark`: how long calls take, here and on the device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy import cuda

__all__ = ["benchmark"]


class _PerfCaseResult:
    """Seconds of each call: `cpu_times` (calls,) and `gpu_times` (devices, calls)."""

    def __init__(self, name: str, ts: np.ndarray[Any, Any], devices: Sequence[int]) -> None:
        self.name = name
        self._ts = ts
        self._devices = devices

    @property
    def cpu_times(self) -> np.ndarray[Any, Any]:
        """Until the call returned: the time to queue it, if it does not wait."""
        return self._ts[0]  # type: ignore[no-any-return]

    @property
    def gpu_times(self) -> np.ndarray[Any, Any]:
        """Until the device had done it."""
        return self._ts[1:]

    def to_str(self, show_gpu: bool = False) -> str:
        """Return one line with means, deviations and extremes."""
        parts = [_line("CPU", self._ts[0])]
        if show_gpu:
            pairs = zip(self._devices, self._ts[1:], strict=False)
            parts += [_line(f"GPU-{device}", times) for device, times in pairs]
        return f"{self.name:<20s}:{' '.join(parts)}"

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)

    __repr__ = __str__


def _line(what: str, seconds: np.ndarray[Any, Any]) -> str:
    us = seconds * 1e6
    text = f"    {what}: {us.mean():9.03f} us"
    if us.size > 1:
        low, high = us.min(), us.max()
        text += f"   +/- {us.std():6.03f} (min: {low:9.03f} / max: {high:9.03f}) us"
    return text


def benchmark(
    func: Callable[..., Any],
    args: Any = (),
    kwargs: Any = {},  # noqa: B006
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: Any = None,
) -> _PerfCaseResult:
    """Call a function repeatedly and measure each call; the device is waited for after each.

    Args:
        func, args, kwargs: what to call.
        n_repeat, n_warmup: how often, measured and before that.
        name: for the result's text, the function's by default.
        max_duration: seconds after which no further call is begun.
        devices: ordinals of devices to measure, the current one by default.

    Raises:
        ValueError: an argument of the wrong type.
    """
    if name is None:
        name = func.__name__
    if devices is None:
        devices = (cuda.Device().id,)
    _check(callable(func), "`func` should be a callable object.")
    _check(isinstance(args, tuple), "`args` should be of tuple type.")
    _check(isinstance(kwargs, dict), "`kwargs` should be of dict type.")
    _check(isinstance(n_repeat, int), "`n_repeat` should be an integer.")
    _check(isinstance(name, str), "`name` should be a string.")
    _check(isinstance(n_warmup, int), "`n_warmup` should be an integer.")
    _check(bool(np.isreal(max_duration)), "`max_duration` should be given in seconds")
    _check(isinstance(devices, tuple), "`devices` should be of tuple type")
    return _repeat(lambda: func(*args, **kwargs), n_repeat, name, n_warmup, max_duration, devices)


def _check(good: bool, text: str) -> None:
    if not good:
        raise ValueError(text)


def _repeat(
    call: Callable[[], Any],
    n_repeat: int,
    name: str,
    n_warmup: int,
    max_duration: float,
    devices: tuple[int, ...],
) -> _PerfCaseResult:
    before, after = _events(devices), _events(devices)
    for _ in range(n_warmup):
        call()
    _record(devices, before)
    for event in before:
        event.synchronize()
    cpu_times: list[float] = []
    gpu_times: list[list[float]] = [[] for _ in devices]
    duration = 0.0
    for _ in range(n_repeat):
        _record(devices, before)
        begin = time.perf_counter()
        call()
        cpu_times.append(time.perf_counter() - begin)
        _record(devices, after)
        for times, start, end in zip(gpu_times, before, after, strict=True):
            end.synchronize()
            times.append(cuda.get_elapsed_time(start, end) * 1e-3)
        duration += time.perf_counter() - begin
        if duration > max_duration:
            break
    return _PerfCaseResult(name, np.asarray([cpu_times, *gpu_times], np.float64), devices)


def _events(devices: tuple[int, ...]) -> list[cuda.stream.Event]:
    made = []
    for device in devices:
        with cuda.Device(device):
            made.append(cuda.stream.Event())
    return made


def _record(devices: tuple[int, ...], events: list[cuda.stream.Event]) -> None:
    for device, event in zip(devices, events, strict=True):
        with cuda.Device(device):
            event.record()
