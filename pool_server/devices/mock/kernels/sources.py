"""CUDA C++ of elementwise and reduction kernels: the user's expressions within a loop of ours."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from cupool.proto.bfloat16 import is_bfloat16
from cupool.proto.kernels import Parameter, Types, c_type
from cupool.proto.values import DType

LANES = 512
"""Threads of a block with which CuPy reduces; its order of summation depends on them."""

_HEADERS = "".join(
    f"#include <cupy/{name}>\n"
    for name in ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
)
_LOOP = "CUPY_FOR(i, _ind.size())"
_ONE_EACH = """for (ptrdiff_t i = static_cast<ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x,
  _left = i < _ind.size(); _left; _left = 0)"""
_THREADS = re.compile(
    r"\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize|cooperative_groups|__shared__|asm"
    r"|__\w*sync\w*|__shfl\w*|__ballot\w*|__any\w*|__all\w*|__activemask|__match\w*)\b"
)


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """What of an array argument the generated source depends on; `ndim` -1 says a scalar."""

    dtype: DType
    ndim: int = -1
    contiguous: bool = True
    short_index: bool = True


def uses_threads(*texts: str) -> bool:
    """Could code depend on which thread runs it? Otherwise any threads can share the loop."""
    return any(_THREADS.search(text) for text in texts)


def _parameter(parameter: Parameter, info: ArrayInfo) -> str:
    kind = c_type(info.dtype)
    name = parameter.name
    if info.ndim >= 0:
        kind = f"CArray<{kind}, {info.ndim}, {info.contiguous:d}, {info.short_index:d}>"
        name = name if parameter.raw else f"_raw_{name}"
    return f"{'const ' if parameter.const else ''}{kind} {name}"


def _indexer(name: str, ndim: int) -> str:
    return f"CIndexer<{ndim}> {name}"


def _typedefs(types: Types) -> str:
    return "".join(f"typedef {c_type(dtype)} {letter};\n" for letter, dtype in types.letters)


def _type_name(parameter: Parameter, dtype: DType) -> str:
    return parameter.letter or c_type(dtype)


def _element(parameter: Parameter, info: ArrayInfo, indexer: str) -> str:
    """Return the statement that gives an array's current element its name, "" for the others."""
    if info.ndim < 0 or parameter.raw:
        return ""
    const = "const " if parameter.const else ""
    kind, name = _type_name(parameter, info.dtype), parameter.name
    return f"{const}{kind} &{name} = _raw_{name}[{indexer}.get()];\n"


def _preamble(types: Types, infos: Sequence[ArrayInfo], own: str) -> str:
    half = any(info.dtype.char == "e" for info in infos)
    header = "#include <cupy/float16.cuh>\n" if half else ""
    if any(is_bfloat16(info.dtype) for info in infos):
        header += "#include <cupy/bfloat16.cuh>\n"
    if any(info.dtype.char == "V" for info in infos):
        header += "#include <cupy/structview.cuh>\n"
    return f"{_HEADERS}{header}{_typedefs(types)}{own}\n"


def elementwise(
    name: str,
    params: Sequence[Parameter],
    infos: Sequence[ArrayInfo],
    types: Types,
    ndim: int,
    operation: str,
    preamble: str,
    loop_prep: str,
    after_loop: str,
    one_each: bool,
) -> str:
    """Return the source of an elementwise kernel for arguments of one kind.

    Args:
        infos: of each parameter's argument.
        ndim: dimensions of the loop.
        one_each: there is a thread for each element. Such rows of threads are checked at once
            and vectorised; a loop is not.
    """
    pairs = list(zip(params, infos, strict=True))
    declared = ", ".join([*(_parameter(p, i) for p, i in pairs), _indexer("_ind", ndim)])
    elements = "".join(_element(p, i, "_ind") for p, i in pairs)
    return f"""{_preamble(types, infos, preamble)}
extern "C" __global__ void {name}({declared}) {{
{loop_prep};
{_ONE_EACH if one_each else _LOOP} {{
_ind.set(i);
{elements}{operation};
}}
{after_loop};
}}
"""


_REDUCTION = string.Template("""${head}
${preamble}
#define REDUCE(a, b) (${reduce_expr})
#define POST_MAP(a) (${post_map_expr})
typedef ${reduce_type} _type_reduce;
extern "C" __global__ void ${name}(${declared}, const int _block_stride) {
_type_reduce _lanes[${lanes}];
const ptrdiff_t _out_size = _out_ind.size();
const ptrdiff_t _in_size = _in_ind.size();
const IndexT _J_stride = ${lanes} / _block_stride;
for (ptrdiff_t _i_base = 0; _i_base < _out_size; _i_base += _block_stride) {
  const ptrdiff_t _left = _out_size - _i_base;
  const int _width = _left < _block_stride ? (int)_left : _block_stride;
  for (int _tid = 0; _tid < ${lanes}; ++_tid) _lanes[_tid] = _type_reduce(${identity});
  for (IndexT _J = 0;; ++_J) {
    const ptrdiff_t _j_base = _i_base + (ptrdiff_t)_J * _out_size;
    if (_j_base >= _in_size) break;
    _type_reduce* const _row = _lanes + (_J & (_J_stride - 1)) * _block_stride;
    for (int _column = 0; _column < _width; ++_column) {
      const ptrdiff_t _j = _j_base + _column;
      _in_ind.set(_j);
      ${ins}
      _type_reduce _a = static_cast<_type_reduce>(${map_expr});
      _type_reduce _s = _row[_column];
      _row[_column] = REDUCE(_s, _a);
    }
  }
  for (int _block = ${half}; _block >= _block_stride; _block >>= 1) {
    for (int _tid = 0; _tid < _block; ++_tid) {
      _type_reduce _a = _lanes[_tid], _b = _lanes[_tid + _block];
      _lanes[_tid] = REDUCE(_a, _b);
    }
  }
  for (int _column = 0; _column < _width; ++_column) {
    const ptrdiff_t _i = _i_base + _column;
    _out_ind.set(_i);
    ${outs}
    _type_reduce _s = _lanes[_column];
    POST_MAP(_s);
  }
}
}
""")


def reduction(
    name: str,
    params: Sequence[Parameter],
    infos: Sequence[ArrayInfo],
    inputs: int,
    types: Types,
    ndims: tuple[int, int],
    expressions: tuple[str, str, str, str],
    reduce_type: str,
    preamble: str,
    large: bool,
) -> str:
    """Return the source of a reduction kernel for arguments of one kind.

    One thread does what CuPy's blocks of `LANES` threads do, lane by lane, so that sums are
    rounded in the same order.

    Args:
        inputs: how many of the parameters are inputs.
        ndims: dimensions of the loop over the inputs, and of that over the outputs.
        expressions: map, reduce, post_map, identity.
        large: more than 2**31 - 1 elements are reduced to one.
    """
    pairs = list(zip(params, infos, strict=True))
    indexers = [_indexer("_in_ind", ndims[0]), _indexer("_out_ind", ndims[1])]
    declared = ", ".join([*(_parameter(p, i) for p, i in pairs), *indexers])
    ins = "".join(_element(p, i, "_in_ind") for p, i in pairs[:inputs])
    outs = "".join(_element(p, i, "_out_ind") for p, i in pairs[inputs:])
    map_expr, reduce_expr, post_map_expr, identity = expressions
    index_type = f"typedef {'long long' if large else 'int'} IndexT;"
    return _REDUCTION.substitute(
        head=_preamble(types, infos, index_type),
        preamble=preamble,
        name=name,
        declared=declared,
        ins=ins,
        outs=outs,
        map_expr=map_expr,
        reduce_expr=reduce_expr,
        post_map_expr=post_map_expr,
        identity=identity,
        reduce_type=reduce_type or _type_name(params[inputs], infos[inputs].dtype),
        lanes=LANES,
        half=LANES // 2,
    )
