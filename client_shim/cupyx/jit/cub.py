"""`cupyx.jit.cub`: reductions by a warp or a block.

The interface is CUB's; the code is our own (`cub.cuh`), so that neither CUB's headers nor the time
to compile them are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit._internal_types import BuiltinFunc, Data, Expr, Method

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment

__all__ = ["BlockReduce", "Max", "Min", "Sum", "WarpReduce"]
_COMPLEX = """namespace jit {
template <typename T>
__device__ bool is_less(const complex<T>& x, const complex<T>& y) {
  return before(x, y);
}
}  // namespace jit"""


@dataclass(frozen=True)
class _Storage(types.TypeBase):
    """Shared memory that a reduction works in."""

    reducer: _Reducer

    def __str__(self) -> str:
        return f"{self.reducer}::storage"


@dataclass(frozen=True)
class _Reducer(types.TypeBase):
    """A reduction of one value from each thread.

    Attributes:
        child: type of the values.
        threads: of the block; 0: a warp reduces.
    """

    child: types.Scalar
    threads: int = 0

    def __str__(self) -> str:
        if self.threads:
            return f"jit::block_reduce<{self.child}, {self.threads}>"
        return f"jit::warp_reduce<{self.child}>"

    @property
    def TempStorage(self) -> _Storage:
        """Type of the shared memory that is needed: `jit.shared_memory(TempStorage, 1)`."""
        return _Storage(self)

    def instantiate(self, env: Environment, temp_storage: Expr) -> Data:
        """Return the reduction in its memory."""
        given = temp_storage.ctype if isinstance(temp_storage, Data) else temp_storage
        if not isinstance(temp_storage, Data) or given != self.TempStorage:
            raise TypeError(f"Invalid temp_storage type {given}. ({self.TempStorage} is expected.)")
        _include(env, self.child)
        return Data(f"{self}{{{temp_storage.code}}}", self)

    def attribute(self, instance: Data, name: str) -> Expr | None:
        """Answer `Sum` and `Reduce`."""
        methods = {"Sum": self._sum, "Reduce": self._reduce}
        return Method(methods[name], instance) if name in methods else None

    def _sum(self, env: Environment, instance: Data, input: Expr) -> Data:
        return self._reduce(env, instance, input, Sum.call(env))

    def _reduce(self, env: Environment, instance: Data, input: Expr, reduction_op: Expr) -> Data:
        value, op = Data.init(input, env), Data.init(reduction_op, env)
        if value.ctype != self.child:
            raise TypeError(f"Invalid input type {value.ctype}. ({self.child} is expected.)")
        return Data(f"{instance.code}.reduce({value.code}, {op.code})", self.child)


def _include(env: Environment, child: types.Scalar) -> None:
    env.module.include("cub.cuh")
    if child.dtype.kind == "c":
        env.module.add(_COMPLEX)


class _Template:
    """A class of CUB, to be given its parameters: `WarpReduce[dtype]`."""

    def __init__(self, block: bool) -> None:
        self._block = block

    def __getitem__(self, parameters: Any) -> _Reducer:
        given = parameters if isinstance(parameters, tuple) else (parameters,)
        if len(given) != (2 if self._block else 1):
            raise TypeError("wrong number of parameters: [dtype] of a warp, [dtype, threads]")
        child = given[0] if isinstance(given[0], types.Scalar) else types.scalar(given[0])
        return _Reducer(child, *given[1:])


class _Operator(BuiltinFunc):
    """What a reduction does with two values."""

    def __init__(self, name: str) -> None:
        self._name = name

    def call_const(self, env: Environment) -> Expr:
        """Return the operator."""
        return Data(f"jit::{self._name}()", types.Unknown("operator"))


WarpReduce = _Template(block=False)
BlockReduce = _Template(block=True)
Sum = _Operator("plus")
Max = _Operator("larger")
Min = _Operator("smaller")
