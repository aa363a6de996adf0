"""How the mock finds the function of an operation: an adapter, or the table's NumPy name.

An adapter is a function that takes the operation's arguments and behaves as CuPy does:

    @adapter("sinc", casts=True)
    def sinc(x): ...

It returns an array, or a tuple or list of arrays. Modules of `adapters/` are imported with it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from cupool.pool_server.devices.base import Layout, memory_order
from cupool.pool_server.devices.mock import bfloat16, elementwise, randoms
from cupool.pool_server.devices.mock.casts import cast
from cupool.proto.operations import Operation

_F = TypeVar("_F", bound=Callable[..., Any])
NpArray = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Adapter:
    """A function of the mock.

    Attributes:
        casts: CuPy's result dtype differs from NumPy's; results are cast to the promised one.
        wants_outs: the function also takes `outs=`, the promised layouts (None where unknown).
    """

    function: Callable[..., Any]
    casts: bool = False
    wants_outs: bool = False


ADAPTERS: dict[str, Adapter] = {}


def adapter(*names: str, casts: bool = False, wants_outs: bool = False) -> Callable[[_F], _F]:
    """Let a function do the operations of these names on the mock."""

    def register(function: _F) -> _F:
        for name in names:
            # A module that is imported again after an error may register again.
            known = ADAPTERS.get(name)
            if known is not None and known.function.__module__ != function.__module__:
                raise ValueError(f"the mock has two adapters for {name!r}")
            ADAPTERS[name] = Adapter(function, casts, wants_outs)
        return function

    return register


def resolve(operation: Operation) -> Adapter:
    """Find the function of a row of the table.

    Raises:
        NotImplementedError: the mock has none.
    """
    found = ADAPTERS.get(operation.name)
    if found is not None:
        return found
    if operation.kind == "random":
        return Adapter(randoms.function_for(operation.name), wants_outs=True)
    if not operation.numpy:
        raise NotImplementedError(f"the mock GPU cannot do '{operation.name}' yet")
    return Adapter(named(operation.numpy))


def named(dotted: str) -> Callable[..., Any]:
    """Import what a dotted name of the table says, e.g. ``scipy.linalg.lu``."""
    module_name, _, attributes = dotted.partition(".")
    value: Any = importlib.import_module(module_name)
    for attribute in attributes.split("."):
        if not hasattr(value, attribute):
            importlib.import_module(f"{value.__name__}.{attribute}")
        value = getattr(value, attribute)
    function: Callable[..., Any] = value
    return function


def run(
    found: Adapter,
    operation: Operation,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    outs: Sequence[Layout | None],
) -> list[Any]:
    """Call the function; return its results as a list of arrays (or objects of the device)."""
    function = found.function
    narrow = bfloat16.concerns(operation, args, kwargs, len(outs))
    if narrow:
        args, kwargs = bfloat16.widened(args), bfloat16.widened_options(kwargs)
    if found.wants_outs:
        result = function(*args, outs=outs, **kwargs)
    elif operation.kind == "ufunc":
        result = elementwise.run(function, args, kwargs, outs)
    else:
        result = function(*args, **kwargs)
    if not outs:
        return []
    results = _flat(result)
    if not operation.has_objects:
        results = [_array(r) for r in results]
    # Ufuncs need none: CuPy's loops and NumPy's give the same dtypes, and a promise of another
    # one is a fault of the shim that must be seen.
    if found.casts or narrow:
        pairs = zip(results, outs, strict=True)
        results = [_cast(r, promised) for r, promised in pairs]
    if len(results) == len(outs) and not operation.has_objects:
        results = [_laid_out(r, promised) for r, promised in zip(results, outs, strict=True)]
    return results


def _flat(result: Any) -> list[Any]:
    """Return the results as one list, also those of a tuple in a tuple."""
    if not isinstance(result, (tuple, list)):
        return [result]
    return [one for part in result for one in _flat(part)]


def _array(result: Any) -> np.ndarray[Any, Any]:
    if not isinstance(result, np.ndarray):
        result = np.asarray(result)
    if result.dtype.hasobject:
        raise TypeError("arrays of Python objects do not exist on a GPU")
    # A plain ndarray: matrices and masked arrays have no place on a device.
    return result if type(result) is np.ndarray else np.asarray(result)


def _laid_out(result: NpArray, promised: Layout | None) -> NpArray:
    """Return a result in the memory order that was promised, which is CuPy's and not NumPy's."""
    if promised is None or result.shape != promised.shape:
        return result
    order = promised.order
    if isinstance(order, str):
        return np.asarray(result, order="F" if order == "F" else "C")
    if result.strides == order:
        return result
    axes = memory_order(promised)
    made = np.empty([promised.shape[axis] for axis in axes], result.dtype)
    made = made.transpose(np.argsort(axes))
    made[...] = result
    return made


def _cast(result: Any, promised: Layout | None) -> Any:
    if promised is None or not isinstance(result, np.ndarray) or result.dtype == promised.dtype:
        return result
    if result.dtype.kind == "c" and promised.dtype.kind != "c":
        result = result.real  # where CuPy gives real parts only
    return cast(result, promised.dtype)
