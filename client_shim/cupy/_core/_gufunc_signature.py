"""Signatures of generalized ufuncs, as "(i,j),(j,k)->(i,k)", and their loops by dtype."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim.cupy._core._dtype import get_dtype

_DIMENSION = r"\w+(?:\?|\|1)?"
_ARGUMENT = rf"\((?:{_DIMENSION}(?:,{_DIMENSION})*,?)?\)"
_SIGNATURE = re.compile(rf"((?:{_ARGUMENT}(?:,{_ARGUMENT})*,?)?)->({_ARGUMENT}(?:,{_ARGUMENT})*)\Z")

Function = Callable[..., Any]


class Dimension(NamedTuple):
    """A core dimension: `optional` for "n?", `stretches` for "n|1"."""

    name: str
    optional: bool
    stretches: bool


def parse(signature: Any) -> tuple[list[tuple[Dimension, ...]], list[tuple[Dimension, ...]], int]:
    """Return the core dimensions of inputs and of outputs, and how many different ones there are.

    Raises:
        TypeError, ValueError: no signature.
    """
    if not isinstance(signature, str):
        raise TypeError("Signature is not a string")
    if not signature:
        raise ValueError("Signature cannot be empty")
    text = signature.replace(" ", "")
    found = _SIGNATURE.match(text)
    if found is None:
        raise ValueError(f"Not a valid gufunc signature: {text}")
    ins, outs = ([_dimensions(a) for a in _arguments(side)] for side in found.groups())
    if any(d.stretches for out in outs for d in out):
        raise ValueError("Output name cannot indicate |1.")
    names = {d.name for argument in (*ins, *outs) for d in argument}
    return ins, outs, len(names)


def _arguments(side: str) -> list[str]:
    # No input at all counts as one without dimensions.
    return re.findall(r"\(([^)]*)\)", side) or [""]


def _dimensions(argument: str) -> tuple[Dimension, ...]:
    words = [word for word in argument.split(",") if word]
    return tuple(
        [
            Dimension(w.removesuffix("?").removesuffix("|1"), w.endswith("?"), w.endswith("|1"))
            for w in words
        ]
    )


class Loop(NamedTuple):
    """A function and the dtypes that it takes and gives."""

    ins: tuple[np.dtype[Any], ...]
    outs: tuple[np.dtype[Any], ...]
    function: Function

    @property
    def text(self) -> str:
        return f"{''.join(d.char for d in self.ins)}->{''.join(d.char for d in self.outs)}"


class Loops:
    """The loops that a generalized ufunc was given.

    Args:
        signatures: "dd->d", or such a text and a function of its own.
        default: the function of those without one.
    """

    def __init__(
        self, signatures: Sequence[Any], default: Function, nin: int, nout: int, name: str
    ) -> None:
        self._default = default
        self._nin, self._nout, self._name = nin, nout, name
        self._loops = [self._read(one) for one in signatures]

    def _read(self, one: Any) -> Loop:
        text, function = one if isinstance(one, tuple) else (one, self._default)
        sides = text.replace(" ", "").split("->")
        if len(sides) != 2 or (len(sides[0]), len(sides[1])) != (self._nin, self._nout):
            raise ValueError(
                f"signature {text} for dtypes is invalid: the function takes "
                f"{self._nin} and gives {self._nout}"
            )
        ins, outs = (tuple(np.dtype(c) for c in side) for side in sides)
        return Loop(ins, outs, function)

    def choose(
        self, args: Sequence[Any], dtype: Any, casting: Any, signature: Any
    ) -> tuple[list[Any], np.dtype[Any], Function]:
        """Return the inputs in the chosen loop's dtypes, the result's dtype and the function.

        Raises:
            TypeError: no loop of this signature, or inputs that do not cast.
            NotImplementedError: several outputs, as in CuPy.
        """
        if self._nout != 1:
            raise NotImplementedError("Multiple output gufuncs not supported")
        if signature is not None:
            loop: Loop | None = self._by_signature(signature)
        elif isinstance(dtype, tuple):
            raise RuntimeError("dtype with tuple is not yet supported")
        elif dtype is not None:
            loop = next((x for x in self._loops if all(d == dtype for d in x.outs)), None)
        else:
            loop = next((x for x in self._loops if self._fits(x, args, casting)), None)
        if loop is None:
            wanted = np.result_type(*(a.dtype for a in args)) if dtype is None else get_dtype(dtype)
            return list(args), wanted, self._default
        cast = []
        for index, (arg, wanted) in enumerate(zip(args, loop.ins, strict=False)):
            check_cast(arg.dtype, wanted, casting, f"ufunc {self._name} input {index}")
            cast.append(arg.astype(wanted, copy=False))
        return cast, loop.outs[0], loop.function

    @staticmethod
    def _fits(loop: Loop, args: Sequence[Any], casting: Any) -> bool:
        pairs = zip(args, loop.ins, strict=False)
        return all(np.can_cast(a.dtype, wanted, casting=casting) for a, wanted in pairs)

    def _by_signature(self, signature: Any) -> Loop:
        if isinstance(signature, tuple):
            if len(signature) == 1:
                raise TypeError(
                    "The use of a length 1 tuple for the ufunc `signature` is not allowed. Use"
                    " `dtype` or fill the tuple with `None`s."
                )
            if len(signature) != self._nin + self._nout:
                raise TypeError(
                    f"A type-tuple must be specified of length 1 or 3 for ufunc {self._name}"
                )
            chars = [np.dtype(t).char for t in signature]
            signature = f"{''.join(chars[: self._nin])}->{''.join(chars[self._nin :])}"
        for loop in self._loops:
            if loop.text == signature:
                return loop
            if isinstance(signature, str) and len(signature) == 1:
                if all(d.char == signature for d in loop.outs):
                    return loop
        raise TypeError(
            f"No loop matching the specified signature and casting was found for ufunc {self._name}"
        )


def check_cast(source: Any, target: Any, casting: Any, what: str) -> None:
    """Raise CuPy's TypeError if a cast is not allowed."""
    if not np.can_cast(source, target, casting=casting):
        raise TypeError(
            f"Cannot cast {what} from {np.dtype(source)!r} to {np.dtype(target)!r} with casting"
            f" rule '{casting}'"
        )
