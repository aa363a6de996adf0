"""Which exceptions may cross the wire, by name: a closed list, both ways.

The server writes `to_failure`, the client raises `from_failure`. Classes that only CuPy
defines (`OutOfMemoryError`, `CUDARuntimeError`, ...) are registered by each side.
"""

from __future__ import annotations

import traceback as _traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cupool import errors
from cupool.proto.messages import Failure

MAX_MESSAGE_CHARS = 4000
MAX_TRACEBACK_CHARS = 16000


def _pool_error(cls: type[errors.PoolError], *texts: Any) -> errors.PoolError:
    message, remedy, reference = texts
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("the texts of an error are strings")
    return cls(message, remedy=remedy, reference=reference)


_BUILTIN: tuple[type[BaseException], ...] = (
    ArithmeticError,
    AttributeError,
    DeprecationWarning,
    FloatingPointError,
    IndexError,
    KeyError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
    ZeroDivisionError,
    np.linalg.LinAlgError,
    np.exceptions.AxisError,
    np.exceptions.ComplexWarning,
    np.exceptions.DTypePromotionError,
    np.exceptions.TooHardError,
    errors.PredictionMismatch,
    errors.ProtocolViolation,
    errors.OperationNotSupported,
    errors.SessionClosed,
)
_BY_NAME: dict[str, Callable[..., BaseException]] = {
    cls.__name__: partial(_pool_error, cls) if issubclass(cls, errors.PoolError) else cls
    for cls in _BUILTIN
}
_BY_CLASS: dict[type[BaseException], str] = {cls: cls.__name__ for cls in _BUILTIN}
# numpy's own ufunc errors are private subclasses of TypeError; they cross as TypeError.


def register(name: str, cls: type[BaseException], build: Callable[..., BaseException]) -> None:
    """Let an exception class cross under `name`; `build(*arguments)` makes it on the client."""
    _BY_NAME[name] = build
    _BY_CLASS[cls] = name


def _plain(argument: Any) -> bool:
    return argument is None or isinstance(argument, (bool, int, float, str))


def to_failure(exc: BaseException, operation: str, device: str) -> Failure:
    """Write an exception down; a class that is not listed crosses as its nearest listed base."""
    name = next((_BY_CLASS[c] for c in type(exc).__mro__ if c in _BY_CLASS), "RemoteError")
    message = str(exc)[:MAX_MESSAGE_CHARS]
    if name == "RemoteError":
        message = f"{type(exc).__name__}: {message}"
    if isinstance(exc, errors.PoolError):
        arguments: list[Any] = [exc.message, exc.remedy, exc.reference]
    else:
        arguments = list(exc.args) if all(_plain(a) for a in exc.args) else [message]
    arguments = [a[:MAX_MESSAGE_CHARS] if isinstance(a, str) else a for a in arguments]
    text = "".join(_traceback.format_exception(exc))[-MAX_TRACEBACK_CHARS:]
    return Failure(name, message, arguments, operation, device, text)


def from_failure(failure: Failure) -> BaseException:
    """Make the exception that a Failure describes.

    Carries a note that names the operation and the device (PEP 678).
    """
    build = _BY_NAME.get(failure.error)
    exc: BaseException
    if build is None:
        exc = errors.RemoteError(failure.message, reference=failure.operation)
    else:
        try:
            exc = build(*failure.arguments)
        except Exception:
            exc = errors.RemoteError(failure.message, reference=failure.operation)
    if failure.operation:
        exc.add_note(f"cupool: raised by operation '{failure.operation}' on {failure.device}")
    return exc
