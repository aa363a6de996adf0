"""What elementwise and reduction kernels share: arguments, types, the kernel's object."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim import session as _session
from cupool.client_shim import shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._kernel import broadcast_shapes
from cupool.client_shim.cupy._core.foreign import from_cupy_like
from cupool.client_shim.cupy.cuda import compiler, function
from cupool.errors import OperationNotSupported
from cupool.proto import kernels, values
from cupool.proto.kernels import Parameter, Types

DType = np.dtype[Any]
_PYTHON_SCALARS = frozenset((bool, int, float, complex))


class Definition:
    """A kernel's definition, and the object that each session's device has made of it.

    Args:
        operation: the row of the table that makes the object.
        args, kwargs: of the row.
    """

    def __init__(self, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for text in (*args, *kwargs.values()):
            if isinstance(text, str):
                kernels.checked_text(text, "a part of a kernel")
        self.operation = operation
        self._args, self._kwargs = args, kwargs
        self._objects: weakref.WeakKeyDictionary[Any, calls.DeviceObject] = (
            weakref.WeakKeyDictionary()
        )
        self._compiled: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()

    def object_in(self, session: _session.DeviceSession) -> calls.DeviceObject:
        """Return the object of the current device's session."""
        made = self._objects.get(session)
        if made is None:
            made = calls.call_object(self.operation, self._args, self._kwargs)
            self._objects[session] = made
            self._compiled[session] = set()
        return made

    def launch(
        self,
        session: _session.DeviceSession,
        signature: Any,
        args: list[Any],
        options: tuple[Any, ...],
        made: Sequence[tuple[tuple[int, ...], DType]],
    ) -> list[core.ndarray]:
        """Queue a call, and wait for the compiler where the signature is a new one.

        Args:
            args: in the grammar of the wire.
            options: the arguments of the row after them.
            made: shape and dtype of each new output.

        Raises:
            CompileException: the generated source does not compile.
        """
        kernel = self.object_in(session)
        outs = [(shape, dtype, "C") for shape, dtype in made]
        shadows = [shadow.make(*out) for out in outs]
        record = (kernel._handle.ref, (values.LIST, args), *options)
        handles = session.emit(f"{self.operation}.call", record, None, outs)
        arrays = [core.wrap(s, h) for s, h in zip(shadows, handles, strict=True)]
        compiled = self._compiled[session]
        if signature not in compiled:
            with compiler.explained("", self._kwargs.get("options", ()), "nvrtc"):
                session.ask("describe", ())
            compiled.add(signature)
        return arrays

    def codes(self) -> dict[tuple[Any, ...], str]:
        """Ask the device for the sources that it has generated, by the arrays' dtypes."""
        made = self._objects.get(_session.session())
        if made is None:
            return {}
        rows = made._handle.session.ask(f"{self.operation}.codes", [made._handle.ref])
        return {
            tuple(values.dtype_from_wire(text) for text in dtypes): code for dtypes, code in rows
        }


def operands(args: Sequence[Any]) -> list[Any]:
    """Return arguments as device arrays and scalars.

    Raises:
        TypeError: what no kernel takes, such as a NumPy array.
    """
    return [_operand(arg) for arg in args]


def _operand(value: Any) -> Any:
    if isinstance(value, core.ndarray) or type(value) in _PYTHON_SCALARS:
        return value
    found = from_cupy_like(value)
    if found is not None:
        return found
    if isinstance(value, np.generic):
        return value
    if type(value).__name__ == "TextureObject":
        raise OperationNotSupported("textures are not supported by cupool yet")
    raise TypeError(f"Unsupported type {type(value)}")


def loop_shape(
    args: Sequence[Any], params: Sequence[Parameter], size_given: bool
) -> tuple[int, ...]:
    """Return the shape that a kernel loops over: that of its arrays that are not raw.

    Raises:
        ValueError: there is none and no size, or both; or the shapes do not broadcast.
    """
    shapes = [
        a._shadow.shape
        for a, p in zip(args, params, strict=False)
        if not p.raw and isinstance(a, core.ndarray)
    ]
    if size_given and shapes:
        raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
    if not shapes:
        if not size_given:
            raise ValueError("Loop size is undecided.")
        return ()
    return broadcast_shapes(shapes)


def dtype_of(value: Any) -> DType | None:
    """Return an array's dtype, None for a scalar, which takes what the arrays decide."""
    return value._shadow.dtype if isinstance(value, core.ndarray) else None


def check_outputs(
    outs: Sequence[Any], params: Sequence[Parameter], shape: tuple[int, ...], size_given: bool
) -> None:
    """Check outputs that were given, or that those to be made have a known size.

    Raises:
        TypeError, ValueError
    """
    if not outs:
        if not size_given and any(p.raw for p in params):
            raise ValueError("Output array size is Undecided")
        return
    for out, parameter in zip(outs, params, strict=True):
        if not isinstance(out, core.ndarray):
            raise TypeError("Output arguments type must be cupy.ndarray")
        if not parameter.raw and out.shape != shape:
            raise ValueError("Out shape is mismatched")


def encode(args: Sequence[Any], dtypes: Sequence[DType], session: Any) -> list[Any]:
    """Write arguments for the wire; scalars in the dtype of their parameter.

    Raises:
        OverflowError, ValueError: a scalar does not fit.
    """
    wire = []
    for value, dtype in zip(args, dtypes, strict=True):
        if not isinstance(value, core.ndarray):
            held = np.empty((), dtype)
            held[()] = value
            value = held
        wire.append(function.argument(value, session))
    return wire


def signature_of(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return what of the arguments decides which source is generated for them."""
    return tuple(
        [
            (a._shadow.dtype, a._shadow.ndim) if isinstance(a, core.ndarray) else type(a)
            for a in args
        ]
    )


class TypeMemo:
    """Decides the types of a kernel's calls, and remembers them."""

    def __init__(self, ins: Sequence[Parameter], outs: Sequence[Parameter]) -> None:
        self._ins, self._outs = ins, outs
        self._known: dict[Any, Types] = {}

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> Types:
        key = (tuple(map(dtype_of, inputs)), tuple(map(dtype_of, outputs)))
        types = self._known.get(key)
        if types is None:
            types = self._known[key] = kernels.decide_types(self._ins, self._outs, *key)
        return types
