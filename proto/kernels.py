"""Parameter lists of elementwise and reduction kernels ("raw T x, float32 y"), for both sides.

The client resolves types before it sends a call, so that errors come at the user's line; a
device that generates the source itself resolves them again, from what arrived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cupool.proto.bfloat16 import is_bfloat16
from cupool.proto.values import DType

MAX_SOURCE_CHARS = 4 << 20
"""Of a kernel's source text; a larger one is refused before it is sent, and when it arrives."""
MAX_ARGUMENTS = 1024
ARCHITECTURES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)
"""What CUDA 12.9's compiler makes code for (nvrtcGetSupportedArchs)."""
_MAX_DEPTH = 16
"""Of structures within structures."""

_C_TYPES = {
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
    "e": "float16",
    "f": "float",
    "d": "double",
    "F": "thrust::complex<float>",
    "D": "thrust::complex<double>",
}

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*\Z")
SETTABLE_ATTRIBUTES = ("max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout")
ATTRIBUTES = (
    "max_threads_per_block",
    "shared_size_bytes",
    "const_size_bytes",
    "local_size_bytes",
    "num_regs",
    "ptx_version",
    "binary_version",
    "cache_mode_ca",
    *SETTABLE_ATTRIBUTES,
)
"""Of a kernel function, under CuPy's names."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        dtype: None where the type is a letter such as T.
        letter: that letter, or "".
        raw: the kernel indexes the array itself.
        const: an input, which the kernel may not assign to.
    """

    name: str
    dtype: DType | None
    letter: str
    raw: bool
    const: bool


def is_valid_name(name: str) -> bool:
    """Can a kernel have this name?"""
    return _NAME.match(name) is not None


@lru_cache(maxsize=1024)
def parse(text: str, const: bool) -> tuple[Parameter, ...]:
    """Read a parameter list.

    Raises:
        Exception: no type, or an unknown keyword (the class is CuPy's).
        TypeError, ValueError: not a dtype.
    """
    if not text.strip():
        return ()
    return tuple([_parameter(part, const) for part in text.strip().split(",")])


def _parameter(text: str, const: bool) -> Parameter:
    words = text.split()
    if len(words) < 2:
        raise Exception(f"Syntax error: {text}")
    *keywords, kind, name = words
    if not is_valid_name(name):
        raise ValueError(f"Invalid parameter name: {name!r}")
    letter, dtype = (kind, None) if len(kind) == 1 else ("", np.dtype(kind))
    if dtype is not None and (dtype.kind not in "biufc" or not dtype.isnative):
        raise ValueError(f"Unsupported dtype {dtype}")
    raw = False
    for keyword in keywords:
        if keyword == "raw":
            raw = True
        elif keyword == "_non_const":
            const = False
        else:
            raise Exception(f'Unknown keyword "{keyword}"')
    return Parameter(name, dtype, letter, raw, const)


@dataclass(frozen=True, slots=True)
class Types:
    """The dtypes of a call's parameters, and of each letter."""

    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]
    letters: tuple[tuple[str, DType], ...]


def decide_types(
    in_params: Sequence[Parameter],
    out_params: Sequence[Parameter],
    in_dtypes: Sequence[DType | None],
    out_dtypes: Sequence[DType | None],
) -> Types:
    """Work out every parameter's dtype from those of the arrays; scalars take what is decided.

    Args:
        in_dtypes: of each input that is an array, None of a scalar.
        out_dtypes: of each output that was given; empty if none was.

    Raises:
        TypeError: an array's dtype is not the parameter's, or two for one letter.
        KeyError: nothing says what a letter is.
    """
    letters: dict[str, DType] = {}
    pairs = [*zip(out_params, out_dtypes, strict=False), *zip(in_params, in_dtypes, strict=True)]
    for index, (parameter, given) in enumerate(pairs):
        if given is None:
            if index < len(out_dtypes):
                raise TypeError("Output arguments must be cupy.ndarray")
            continue
        name = parameter.name
        if parameter.dtype is not None:
            if given != parameter.dtype:
                raise TypeError(f"Type is mismatched. {name} {given} {parameter.dtype}")
        elif letters.setdefault(parameter.letter, given) != given:
            known = letters[parameter.letter]
            raise TypeError(f"Type is mismatched. {name} {given} {known} {parameter.letter}")
    return Types(
        tuple([_type_of(p, letters) for p in in_params]),
        tuple([_type_of(p, letters) for p in out_params]),
        tuple(sorted(letters.items())),
    )


def _type_of(parameter: Parameter, letters: Mapping[str, DType]) -> DType:
    return letters[parameter.letter] if parameter.dtype is None else parameter.dtype


def c_type(dtype: DType) -> str:
    """Return the C++ type of elements.

    Raises:
        ValueError: kernels cannot take such elements.
    """
    if dtype.fields is not None:
        return _structure(dtype)[0]
    if dtype.char == "V" and dtype.subdtype is None and dtype.itemsize:
        return f"cupy::UnstructuredVoid<{dtype.itemsize}>"
    if is_bfloat16(dtype):
        return "bfloat16"
    name = _C_TYPES.get(dtype.char)
    if name is None:
        raise ValueError(f"Unsupported dtype {dtype}")
    return name


def _structure(dtype: DType, depth: int = 0) -> tuple[str, int]:
    """Return the C++ type of a structured dtype, and its alignment in bytes."""
    if depth > _MAX_DEPTH:
        raise ValueError("a structured dtype of too many levels")
    fields, alignment = [], dtype.alignment
    for name, (kind, offset, *_) in (dtype.fields or {}).items():
        if kind.fields is not None:
            inner, own = _structure(kind, depth + 1)
        else:
            inner, own = c_type(kind), 1 if kind.char == "V" else kind.itemsize
        if offset % own:
            raise ValueError(
                f"Field {name} with offset {offset} is not aligned to {own} in dtype {dtype}:"
                " make_aligned_dtype() gives one that kernels can take"
            )
        alignment = max(alignment, own)
        fields.append(f"cupy::Field<{inner}, {offset}>")
    if dtype.itemsize % alignment:
        raise ValueError(
            f"Itemsize {dtype.itemsize} is not a multiple of alignment {alignment} for dtype"
            f" {dtype}: make_aligned_dtype() gives one that kernels can take"
        )
    storage = f"cupy::raw_structview_storage<{dtype.itemsize}, {alignment}>"
    return f"cupy::StructView<{', '.join([storage, *fields])}>", alignment


def block_of(size: int, block_size: int) -> tuple[int, int]:
    """Return blocks and threads of a block with which CuPy launches a loop of `size` steps."""
    return min(0x7FFFFFFF, -(-size // block_size)), min(block_size, size)


def checked_text(value: Any, what: str) -> str:
    """Return a text of the wire that is part of a kernel's source.

    Raises:
        TypeError, ValueError: no text, or too long.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    if len(value) > MAX_SOURCE_CHARS:
        raise ValueError(f"{what} has {len(value)} characters, the limit is {MAX_SOURCE_CHARS}")
    return value
