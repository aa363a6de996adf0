"""Predicted layouts as the client writes them: checked once, then remembered."""

from __future__ import annotations

from typing import Any

from cupool.errors import PredictionMismatch, ProtocolViolation
from cupool.pool_server.devices.base import Device, Layout
from cupool.proto.values import checked_size, dtype_from_wire

_REMEMBERED = 4096
_MAX_STRIDE = 1 << 62


class Layouts(dict[tuple[Any, ...], Layout]):
    """(dtype text, shape, "C" | "F") -> layout, for a look-up without checks; bounded."""

    def read(self, spec: Any) -> Layout:
        """Return the layout of [handle, dtype, shape, order].

        Raises:
            ProtocolViolation: not a layout.
        """
        try:
            _, dtype, shape, order = spec
            key = (dtype, tuple(shape), order)
        except (TypeError, ValueError):
            raise ProtocolViolation(f"not a predicted output: {spec!r:.80}") from None
        try:
            return self[key]
        except (KeyError, TypeError):  # TypeError: a structured dtype or strides, never remembered
            layout = _layout(dtype, shape, order)
        if isinstance(dtype, str) and isinstance(order, str):
            if len(self) >= _REMEMBERED:
                self.clear()
            self[key] = layout
        return layout


def _layout(wire_dtype: Any, shape: Any, order: Any) -> Layout:
    dtype = dtype_from_wire(wire_dtype)
    checked_size(shape, dtype)
    if isinstance(order, (list, tuple)):
        if len(order) != len(shape) or not all(
            type(s) is int and -_MAX_STRIDE < s < _MAX_STRIDE for s in order
        ):
            raise ProtocolViolation(f"not strides: {order!r:.80}")
        return Layout(tuple(shape), dtype, tuple(order))
    if order not in ("C", "F"):
        raise ProtocolViolation(f"not an order: {order!r:.80}")
    return Layout(tuple(shape), dtype, order)


def check(device: Device, name: str, array: Any, promised: Layout, relaid: dict[str, int]) -> Any:
    """Return the array in the promised layout; `relaid` counts those that had to be copied.

    Raises:
        PredictionMismatch: another dtype or shape was promised.
    """
    if device.matches(array, promised):
        return array
    made = device.layout(array)
    if made.dtype != promised.dtype or made.shape != promised.shape:
        raise PredictionMismatch(
            f"operation '{name}': promised shape {promised.shape} dtype {promised.dtype}, "
            f"made shape {made.shape} dtype {made.dtype}"
        )
    relaid[name] = relaid.get(name, 0) + 1
    return device.relay(array, promised)
