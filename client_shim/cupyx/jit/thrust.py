"""`cupyx.jit.thrust`: algorithms on parts of arrays, each run by the thread that calls it.

Thrust itself needs the nvcc compiler on the device's machine. Inside a kernel its algorithms are
loops of one thread; here they are loops of our own (`thrust.cuh`), which NVRTC compiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit._internal_types import BuiltinFunc, Data, Expr

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment


@dataclass(frozen=True)
class _Policy(types.TypeBase):
    """Where an algorithm runs. All of them mean: in the calling thread."""


@dataclass(frozen=True)
class _Virtual(types.ArrayBase):
    """An iterator over values that are nowhere in memory."""

    name: str
    child: types.TypeBase
    ndim: ClassVar[int] = 1  # type: ignore[misc]

    def __str__(self) -> str:
        return f"jit::{self.name}<{self.child}>"


_SETS = "first1 last1 first2 last2 "
_ALGORITHMS = {
    "adjacent_difference": "first last result -> result",
    "binary_search": "first last value -> ?",
    "copy": "first last result -> result",
    "count": "first last value -> i",
    "equal": "first1 last1 first2 -> ?",
    "equal_range": "first last value -> first first",
    "exclusive_scan": "first last result init= -> result",
    "exclusive_scan_by_key": "first1 last1 first2 result init= -> result",
    "fill": "first last value ->",
    "find": "first last value -> first",
    "gather": "map_first map_last input_first result -> result",
    "inclusive_scan": "first last result -> result",
    "inclusive_scan_by_key": "first1 last1 first2 result -> result",
    "inner_product": "first1 last1 first2 init -> init",
    "is_sorted": "first last -> ?",
    "is_sorted_until": "first last -> first",
    "lower_bound": "first last value -> first",
    "mismatch": "first1 last1 first2 -> first1 first2",
    "reduce": "first last init= -> init|first",
    "reduce_by_key": (
        "keys_first keys_last values_first keys_output values_output -> keys_output values_output"
    ),
    "remove": "first last value -> first",
    "remove_copy": "first last result value -> result",
    "replace": "first last old_value new_value ->",
    "replace_copy": "first last result old_value new_value -> result",
    "reverse": "first last ->",
    "reverse_copy": "first last result -> result",
    "scatter": "first last map result ->",
    "sequence": "first last init= step= ->",
    "set_difference": _SETS + "result -> result",
    "set_intersection": _SETS + "result -> result",
    "set_symmetric_difference": _SETS + "result -> result",
    "set_union": _SETS + "result -> result",
    "set_difference_by_key": _SETS + "values1 values2 keys values -> keys values",
    "set_intersection_by_key": _SETS + "values1 keys values -> keys values",
    "set_symmetric_difference_by_key": _SETS + "values1 values2 keys values -> keys values",
    "set_union_by_key": _SETS + "values1 values2 keys values -> keys values",
    "sort": "first last ->",
    "sort_by_key": "keys_first keys_last values_first ->",
    "stable_sort": "first last ->",
    "stable_sort_by_key": "keys_first keys_last values_first ->",
    "swap_ranges": "first1 last1 first2 -> first2",
    "unique": "first last -> first",
    "unique_by_key": "keys_first keys_last values_first -> keys_first values_first",
    "upper_bound": "first last value -> first",
}
"""Parameters after the policy ("name=" may be left out), and what comes back: types of parameters
(of what one points to, if a value is reduced), "?" bool, "i" int32, nothing."""
_SORTS = frozenset(["sort", "sort_by_key", "stable_sort", "stable_sort_by_key"])
_BULK = "first last value_first value_last result -> result"
_MANY = {name: _BULK for name in ("binary_search", "lower_bound", "upper_bound")}
"""Searches that also take a range of values."""
_VALUES = ("value", "init", "step", "old_value", "new_value")


class _Algorithm(BuiltinFunc):
    """An algorithm of Thrust; the first argument says where it runs (`device` or `seq`)."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.__doc__ = f"Thrust's `{name}`, run by the calling thread: {_ALGORITHMS[name]}"

    def call(self, env: Environment, *args: Expr, **kwargs: Expr) -> Expr:
        """Return the call.

        Raises:
            TypeError: the arguments do not fit together.
            NotImplementedError: an operator of one's own.
        """
        if not args or not isinstance(args[0], Data) or not isinstance(args[0].ctype, _Policy):
            raise TypeError(f"{self._name}: the first argument must be execution policy type")
        given = [Data.init(a, env) for a in args[1:]]
        signature = _ALGORITHMS[self._name]
        if self._name in _MANY and len(given) >= 3 and _is_pointer(given[2]):
            signature = _MANY[self._name]
        parameters, _, returned = signature.partition("->")
        bound = self._bind(
            parameters.split(), given, {k: Data.init(v, env) for k, v in kwargs.items()}
        )
        _check(bound)
        env.module.include("sorting.cuh" if self._name in _SORTS else "thrust.cuh")
        code = f"jit::thrust::{self._name}({', '.join([d.code for d in bound.values()])})"
        return Data(code, _returned(returned.split(), bound))

    def _bind(
        self, parameters: list[str], given: list[Data], named: dict[str, Data]
    ) -> dict[str, Data]:
        names = [p.rstrip("=") for p in parameters]
        unknown = [k for k in named if k not in names]
        if len(given) > len(names) or unknown:
            option = unknown[0] if unknown else "an operator or comparison"
            raise NotImplementedError(f"{self._name}: {option} is not supported")
        bound = dict(zip(names, given, strict=False)) | named
        missing = [p for p in parameters if not p.endswith("=") and p not in bound]
        if missing:
            raise TypeError(f"Invalid number of inputs of thrust.{self._name}")
        return bound


def _is_pointer(value: Data) -> bool:
    return isinstance(value.ctype, types.ArrayBase) and not isinstance(value.ctype, types.CArray)


def _check(bound: dict[str, Data]) -> None:
    """Check that ranges have one type at both ends, and that places are places."""
    for name, value in bound.items():
        if name in _VALUES:
            if not isinstance(value.ctype, types.Scalar):
                raise TypeError(f"`{value.code}` must be a scalar, not `{value.ctype}`")
        elif not _is_pointer(value):
            raise TypeError(f"`{value.code}` must be of pointer type: `{value.ctype}`")
        first = bound.get(name.replace("last", "first")) if "last" in name else None
        if first is not None and first.ctype != value.ctype:
            raise TypeError(
                f"`{first.code}` and `{value.code}` must be of the same type: "
                f"`{first.ctype}` != `{value.ctype}`"
            )
    if "step" in bound and bound["init"].ctype != bound["step"].ctype:
        raise TypeError("`init` and `step` must be of the same type")


def _returned(words: list[str], bound: dict[str, Data]) -> types.TypeBase:
    if not words:
        return types.void
    if words == ["init|first"]:
        if "init" in bound:
            return bound["init"].ctype
        first = bound["first"].ctype
        assert isinstance(first, types.ArrayBase)
        return first.child
    found = [types.scalar(w) if w in ("?", "i") else bound[w].ctype for w in words]
    return found[0] if len(found) == 1 else types.Tuple(tuple(found))


class _MakeIterator(BuiltinFunc):
    """An iterator over values that are computed: always the same one, or counted from it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def call(self, env: Environment, *args: Expr, **kwargs: Expr) -> Expr:
        """Return the iterator."""
        if len(args) != 1 or kwargs:
            raise NotImplementedError("index_type is not supported")
        value = Data.init(args[0], env)
        ctype = _Virtual(self._name, value.ctype)
        env.module.include("thrust.cuh")
        return Data(f"{ctype}{{{value.code}}}", ctype)


host = device = seq = Data("", _Policy())
make_constant_iterator = _MakeIterator("constant_iterator")
make_counting_iterator = _MakeIterator("counting_iterator")
globals().update({name: _Algorithm(name) for name in _ALGORITHMS})
__all__ = ["device", "host", "make_constant_iterator", "make_counting_iterator", "seq"]
__all__ += sorted(_ALGORITHMS)
