"""Which loop of a ufunc runs for which dtypes: CuPy's own lists, searched as CuPy searches them.

The first loop wins whose types the inputs cast to safely. A Python scalar is weak: its value's
type gives way to the arrays' unless it is of a higher kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cupool.proto.bfloat16 import bfloat16, is_bfloat16

DType = np.dtype[Any]

_KIND_SCORES = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 2}
_WEAK_SCORES = {int: 1, float: 2, complex: 2}
_WEAK_DTYPES = {
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
_UINT = np.dtype(np.uint64)
_COMPARISONS = frozenset("equal not_equal less less_equal greater greater_equal".split())


class Loop(NamedTuple):
    """The dtypes that a ufunc computes with; `refusal` is the error text of a forbidden loop."""

    ins: tuple[DType, ...]
    outs: tuple[DType, ...]
    refusal: str = ""


class Loops:
    """The loops of one ufunc.

    Args:
        name: for error texts.
        types: as "dd->d", in the order in which they are tried.
        refusals: types on the list that raise TypeError, and what they say.
        bfloat16: each loop of float16 has one of bfloat16 behind it.
    """

    def __init__(
        self,
        name: str,
        types: Sequence[str],
        refusals: Mapping[str, str] = {},
        bfloat16: bool = False,
    ) -> None:
        self.name = name
        self._lacks_bfloat16 = bfloat16
        self.loops: list[Loop] = []
        for text in types:
            ins, _, outs = text.partition("->")
            if "V" not in ins:
                self.loops.append(
                    Loop(
                        tuple(np.dtype(c) for c in ins),
                        tuple(np.dtype(c) for c in outs or ins),
                        refusals.get(text, ""),
                    )
                )
        self._cache: dict[Any, Loop] = {}

    def by_inputs(self, dtypes: tuple[DType, ...], weak: tuple[Any, ...]) -> Loop:
        """Return the loop for inputs.

        Args:
            dtypes: of the arrays and NumPy scalars; of Python scalars those of their values.
            weak: int, float or complex where the input is such a Python scalar, else None.

        Raises:
            TypeError: there is none, or it is forbidden.
        """
        key = (dtypes, weak)
        found = self._cache.get(key)
        if found is None:
            self._complete(dtypes)
            counts = _weak_counts(dtypes, weak)
            if counts and self.name in _COMPARISONS:
                weak = _firm(dtypes, weak)
            found = self._search(dtypes, weak if counts else None)
            if found is None:
                raise TypeError(f"Wrong type ({dtypes}) of arguments for cupy_{self.name}")
            self._cache[key] = found
        if found.refusal:
            raise TypeError(found.refusal)
        return found

    def _complete(self, dtypes: Sequence[DType]) -> None:
        """Add the loops of bfloat16 when the first array of it comes: no others pick them."""
        if self._lacks_bfloat16 and any(is_bfloat16(d) for d in dtypes):
            # In this order: another thread adds them once more, which changes nothing.
            self.loops = [each for loop in self.loops for each in _with_bfloat16(loop)]
            self._lacks_bfloat16 = False

    def _search(self, dtypes: tuple[DType, ...], weak: tuple[Any, ...] | None) -> Loop | None:
        for loop in self.loops:
            for position, (dtype, wanted) in enumerate(zip(dtypes, loop.ins, strict=True)):
                if np.can_cast(dtype, wanted):
                    continue
                scalar = weak[position] if weak is not None else None
                if scalar is None or np.result_type(scalar(0), wanted) != wanted:
                    break
            else:
                return loop
        return None

    def by_output(self, dtype: DType) -> Loop:
        """Return the loop that `dtype=` asks for.

        Raises:
            TypeError: there is none, or it is forbidden.
        """
        self._complete((dtype,))
        for loop in self.loops:
            if all(made == dtype for made in loop.outs):
                if loop.refusal:
                    raise TypeError(loop.refusal)
                return loop
        raise TypeError(f"Wrong type ({dtype}) of arguments for cupy_{self.name}")


def _with_bfloat16(loop: Loop) -> list[Loop]:
    half, other = np.dtype(np.float16), bfloat16()
    if half not in loop.ins:
        return [loop]
    ins, outs = (tuple(other if d == half else d for d in part) for part in loop[:2])
    return [loop, Loop(ins, outs)]


def _firm(dtypes: tuple[DType, ...], weak: tuple[Any, ...]) -> tuple[Any, ...]:
    """Let an int that is compared with integers keep its type: it may be out of their range."""
    first, second = weak
    if first is int and second is None and dtypes[1].kind in "iu":
        return None, second
    if second is int and first is None and dtypes[0].kind in "iu":
        return first, None
    return weak


def _weak_counts(dtypes: tuple[DType, ...], weak: tuple[Any, ...]) -> bool:
    """Whether Python scalars give way: there are arrays, of at least the scalars' kind."""
    strong = [_KIND_SCORES.get(d.kind, 3) for d, w in zip(dtypes, weak, strict=True) if w is None]
    scalars = [_WEAK_SCORES[w] for w in weak if w is not None]
    return bool(strong) and bool(scalars) and max(strong) >= max(scalars)


def kind_of(value: Any) -> tuple[DType, Any]:
    """Return the dtype of an operand, and its Python type if it is a weak scalar.

    Raises:
        OverflowError: an int beyond 64 bits.
    """
    kind = type(value)
    if kind is bool:
        return np.dtype(np.bool_), None
    if kind is int:
        if value >= 1 << 63:
            if value >= 1 << 64:
                raise OverflowError("Python int too large to convert to C long")
            return _UINT, int
        if value < -(1 << 63):
            raise OverflowError("Python int too large to convert to C long")
        return _WEAK_DTYPES[int], int
    if kind is float or kind is complex:
        return _WEAK_DTYPES[kind], kind
    return value.dtype, None


def check_value(value: Any, dtype: DType) -> None:
    """Raise what storing a Python scalar as `dtype` raises.

    Raises:
        OverflowError: an int out of range.
        ValueError, TypeError: nan as an integer, a complex as a real.
    """
    np.zeros((), dtype)[()] = value
