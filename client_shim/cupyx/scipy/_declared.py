"""Functions whose whole work is done on the device: a declaration checks and predicts, no more.

    @declared("scipy.ndimage")
    def laplace(input, output=None, mode="reflect", cval=0.0, *, axes=None):
        '''...'''
        check_mode(mode)
        return like(input, output)

The body raises the errors that the caller must see at once, and returns what the results will be:
one specification, a list of them, or their number if they depend on data (one wait). The call then
goes to the device with the arguments as they were given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["Spec", "declared", "lines", "send"]

_F = TypeVar("_F", bound=Callable[..., Any])
ndarray = core.ndarray


class Spec(NamedTuple):
    """Shape, dtype and order of one result."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Any = "C"


def lines(*names: str) -> Callable[[_F], _F]:
    """Let parameters of these names be numbers or sequences, which become arrays of one axis."""

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def converting(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            for name in names:
                value = asarray(given.arguments[name])
                given.arguments[name] = value if value.ndim else value.reshape(1)
            return function(*given.args, **given.kwargs)

        return converting  # type: ignore[return-value]

    return decorate


def declared(path: str) -> Callable[[_F], _F]:
    """Make a declaration callable: `path` and its name are the operation's name."""

    def decorate(body: _F) -> _F:
        signature = inspect.signature(body)
        name = f"{path}.{body.__name__}"
        first = next(iter(signature.parameters.values()))

        @functools.wraps(body)
        def function(*args: Any, **kwargs: Any) -> Any:
            prediction = body(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            given = {first.name: given.get(first.name, first.default), **given}
            given.update(given.pop("kwargs", {}))
            return send(name, given, prediction)

        function.operation = name  # type: ignore[attr-defined]
        return function  # type: ignore[return-value]

    return decorate


def send(name: str, given: Mapping[str, Any], prediction: Any) -> Any:
    """Queue an operation and return its result, or the tuple of its results.

    An array as the argument `output` is written into and returned; the device makes a new array of
    its dtype first, so input and output may overlap.
    """
    arguments = {key: _plain(key, value) for key, value in given.items()}
    output = given.get("output")
    if isinstance(output, ndarray):
        arguments["output"] = output.dtype
    # The first by position: packages differ in its name.
    positional = [arguments.pop(key) for key in list(arguments)[:1]]
    if isinstance(prediction, int):
        results = calls.call_unknown(name, positional, arguments, prediction)
    else:
        specs = prediction if isinstance(prediction, list) else [prediction]
        results = calls.call(name, positional, arguments, *specs)
    if isinstance(output, ndarray):
        calls.call_into("assign", (output, results[0]))
        return output
    return results[0] if len(results) == 1 else tuple(results)


_DATA = frozenset(("Zxx", "data", "signal", "x", "y"))


def _plain(key: str, value: Any) -> Any:
    """Return a host parameter as the wire's grammar has it."""
    if isinstance(value, type) and not issubclass(value, np.generic):
        return np.dtype(value)
    if isinstance(value, np.ndarray):
        return asarray(value) if key in _DATA else value.tolist()
    if isinstance(value, range):
        return list(value)
    return value
