"""Types of the values in a kernel, and how each is written in C++."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cupool.client_shim.cupyx.jit._internal_types import Constant, Data, Expr, Method

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment

DType = np.dtype[Any]
_NAMES = {
    "?": "bool",
    "b": "signed char",
    "B": "unsigned char",
    "h": "short",
    "H": "unsigned short",
    "i": "int",
    "I": "unsigned int",
    "l": "long long",
    "L": "unsigned long long",
    "q": "long long",
    "Q": "unsigned long long",
    "e": "float",
    "f": "float",
    "d": "double",
    "F": "complex<float>",
    "D": "complex<double>",
}


class TypeBase:
    """A type; `str` gives its C++ name."""

    def declare(self, name: str, value: Data | None = None) -> str:
        """Return the declaration of a variable, without the semicolon."""
        return f"{self} {name}" if value is None else f"{self} {name} = {value.code}"

    def attribute(self, instance: Data, name: str) -> Expr | None:
        """Return what `instance.name` becomes, None if there is no such attribute."""
        return None

    def __str__(self) -> str:
        raise TypeError("a value of this type can only be the argument of a function")


@dataclass(frozen=True)
class Void(TypeBase):
    """No value."""

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True)
class Unknown(TypeBase):
    """Something that is only passed on, such as a reduction's operator."""

    label: str


@dataclass(frozen=True)
class Scalar(TypeBase):
    """A number. float16 is computed as float, as CuPy does."""

    dtype: DType

    def __str__(self) -> str:
        return _NAMES[self.dtype.char]

    def attribute(self, instance: Data, name: str) -> Expr | None:
        """Answer `real`, `imag` of complex numbers."""
        if name in ("real", "imag") and self.dtype.kind == "c":
            part = scalar("f" if self.dtype.char == "F" else "d")
            return Data(f"{instance.code}.{name}()", part)
        return None


def scalar(spec: Any) -> Scalar:
    """Return the type of a NumPy dtype.

    Raises:
        TypeError: a dtype that kernels do not have.
    """
    dtype = np.dtype(spec)
    if dtype.char not in _NAMES:
        raise TypeError(f"{dtype} is not supported in a kernel")
    return Scalar(dtype)


void = Void()
bool_ = scalar("?")
int32 = scalar("i")
uint32 = scalar("I")
int64 = scalar("q")
uint64 = scalar("Q")


@dataclass(frozen=True)
class Tuple(TypeBase):
    """Several values."""

    types: tuple[TypeBase, ...]

    def __str__(self) -> str:
        return f"jit::tuple<{', '.join(map(str, self.types))}>"


def tuple_of(items: Sequence[Data]) -> Data:
    """Return values as one tuple."""
    ctype = Tuple(tuple([item.ctype for item in items]))
    return Data(f"{ctype}({', '.join([item.code for item in items])})", ctype)


@dataclass(frozen=True)
class Dim3(TypeBase):
    """Three unsigned numbers: `x`, `y`, `z`."""

    def __str__(self) -> str:
        return "dim3"

    def attribute(self, instance: Data, name: str) -> Expr | None:
        """Answer `x`, `y`, `z`."""
        return Data(f"{instance.code}.{name}", uint32) if name in ("x", "y", "z") else None


dim3 = Dim3()


class ArrayBase(TypeBase):
    """What can be indexed by integers."""

    ndim: int
    child: TypeBase
    """Type of an element as a value."""


@dataclass(frozen=True)
class CArray(ArrayBase):
    """A device array, or a part of one.

    Attributes:
        dense: contiguous in C order.
    """

    dtype: DType
    ndim: int
    dense: bool

    @classmethod
    def from_ndarray(cls, array: Any) -> CArray:
        """Return the type of an array."""
        return cls(scalar(array.dtype).dtype, array.ndim, array.flags.c_contiguous)

    @property
    def child(self) -> Scalar:  # type: ignore[override]
        return Scalar(self.dtype)

    @property
    def element(self) -> str:
        """Return the C++ type of an element in memory."""
        return "__half" if self.dtype.char == "e" else str(self.child)

    def __str__(self) -> str:
        return f"jit::array<{self.element}, {self.ndim}, {'true' if self.dense else 'false'}>"

    def attribute(self, instance: Data, name: str) -> Expr | None:
        """Answer `ndim`, `size`, `shape`, `strides`, `begin`, `end`."""
        if name == "ndim":
            return Constant(self.ndim)
        if name == "size":
            return Data(f"{instance.code}.size()", int64)
        if name in ("shape", "strides"):
            return tuple_of([Data(f"{instance.code}.{name}[{i}]", int64) for i in range(self.ndim)])
        if name in ("begin", "end"):
            return Method(self._edge(name), instance)
        return None

    def _edge(self, name: str) -> Callable[..., Data]:
        def edge(env: Environment, instance: Data) -> Data:
            if self.ndim != 1:
                raise NotImplementedError(
                    f"getting {name} iterator for an array with ndim != 1 is not supported yet"
                )
            ctype = Pointer(self.child, self.element, self.dense)
            return Data(f"jit::{name}({instance.code})", ctype)

        return edge


@dataclass(frozen=True)
class Pointer(ArrayBase):
    """A place in memory; integers may be added.

    Attributes:
        element: C++ type of what is there.
        dense: elements follow each other without gaps.
    """

    child: TypeBase
    element: str
    dense: bool = True
    ndim: ClassVar[int] = 1  # type: ignore[misc]

    def __str__(self) -> str:
        return f"{self.element}*" if self.dense else f"jit::iterator<{self.element}>"


@dataclass(frozen=True)
class SharedMem(TypeBase):
    """The declaration of memory that a block shares.

    Attributes:
        size: number of elements; None: as many as the launch gives.
    """

    child: TypeBase
    size: int | None
    alignment: int | None = None

    def declare(self, name: str, value: Data | None = None) -> str:
        """Return the declaration."""
        align = "" if self.alignment is None else f"__align__({self.alignment}) "
        if self.size is None:
            return f"extern {align}__shared__ {self.child} {name}[]"
        return f"{align}__shared__ {self.child} {name}[{self.size}]"


# ---------------------------------------------------------------- constants


def scalar_of(mode: str, value: Any) -> Scalar:
    """Return the type of a Python or NumPy number; mode "cuda" takes 32 bits where they do.

    Raises:
        NotImplementedError: not a number.
    """
    if isinstance(value, np.generic):
        return scalar(value.dtype)
    wide = mode == "numpy"
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64 if wide or not -(1 << 31) <= value < 1 << 31 else int32
    if isinstance(value, float):
        return scalar("d" if wide else "f")
    if isinstance(value, complex):
        return scalar("D" if wide else "F")
    raise NotImplementedError(f"{value} is not scalar object.")


def literal(value: Any, ctype: Scalar) -> str:
    """Return a number in C++."""
    char, kind = ctype.dtype.char, ctype.dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind == "c":
        part = scalar("f" if char == "F" else "d")
        return f"{ctype}({literal(value.real, part)}, {literal(value.imag, part)})"
    if kind == "f":
        return _float_literal(float(value), single=char != "d")
    number = int(value)
    if char == "i" and 0 <= number:
        return str(number)
    if number == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    return f"({ctype})({number}{'ULL' if kind == 'u' else 'LL'})"


def _float_literal(value: float, *, single: bool) -> str:
    if math.isfinite(value):
        text = repr(value) + ("f" if single else "")
        return text if math.copysign(1, value) > 0 else f"({text})"
    if math.isnan(value):
        return "__int_as_float(0x7fffffff)" if single else "__longlong_as_double(~0ULL >> 1)"
    bits = "__int_as_float(0x7f800000)" if single else "__longlong_as_double(0x7ff0000000000000LL)"
    return bits if value > 0 else f"(-{bits})"
