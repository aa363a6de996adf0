"""`cupyx.jit.cg`: cooperative groups, by NVIDIA's header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cupool.client_shim.cupyx.jit import _cuda_types as types
from cupool.client_shim.cupyx.jit import _routines
from cupool.client_shim.cupyx.jit._expressions import index_into
from cupool.client_shim.cupyx.jit._internal_types import BuiltinFunc, Constant, Data, Expr, Method

if TYPE_CHECKING:
    from cupool.client_shim.cupyx.jit._compile import Environment

__all__ = ["memcpy_async", "sync", "this_grid", "this_thread_block", "wait", "wait_prior"]


def _query(name: str, ctype: types.TypeBase) -> Callable[..., Data]:
    return lambda env, instance: Data(f"{instance.code}.{name}()", ctype)


@dataclass(frozen=True)
class _ThreadGroup(types.TypeBase):
    """Threads that may wait for each other.

    Attributes:
        name: of the group in C++.
        queries: what can be asked of it, and the type of the answer.
    """

    name: ClassVar[str]
    queries: ClassVar[dict[str, types.TypeBase]]

    def __str__(self) -> str:
        return f"cooperative_groups::{self.name}"

    def attribute(self, instance: Data, name: str) -> Expr | None:
        """Answer `sync` and the queries."""
        if name == "sync":
            return Method(lambda env, group: self.wait(env, f"{group.code}.sync()"), instance)
        found = self.queries.get(name)
        return None if found is None else Method(_query(name, found), instance)

    def wait(self, env: Environment, code: str) -> Data:
        """Return a wait for the group, given its text."""
        return Data(code, types.void)


class _GridGroup(_ThreadGroup):
    """All threads of the launch. Waiting for them makes the launch a cooperative one."""

    name = "grid_group"
    queries: ClassVar[dict[str, types.TypeBase]] = {
        "is_valid": types.bool_,
        "thread_rank": types.uint64,
        "block_rank": types.uint64,
        "num_threads": types.uint64,
        "num_blocks": types.uint64,
        "dim_blocks": types.dim3,
        "block_index": types.dim3,
        "size": types.uint64,
        "group_dim": types.dim3,
    }

    def wait(self, env: Environment, code: str) -> Data:
        """Return the wait, and note that all blocks must run at the same time."""
        env.module.cooperative = True
        return super().wait(env, code)


class _ThreadBlockGroup(_ThreadGroup):
    """The threads of the own block."""

    name = "thread_block"
    queries: ClassVar[dict[str, types.TypeBase]] = {
        "thread_rank": types.uint32,
        "group_index": types.dim3,
        "thread_index": types.dim3,
        "dim_threads": types.dim3,
        "num_threads": types.uint32,
        "size": types.uint32,
        "group_dim": types.dim3,
    }


def _group_of(value: Expr) -> tuple[Data, _ThreadGroup]:
    if isinstance(value, Data) and isinstance(value.ctype, _ThreadGroup):
        return value, value.ctype
    raise ValueError("group must be a valid cooperative group")


class _ThisGroup(BuiltinFunc):
    """The group that the calling thread belongs to."""

    def __init__(self, group: _ThreadGroup) -> None:
        self._group = group

    def call_const(self, env: Environment) -> Expr:
        """Return it."""
        env.module.include("#include <cooperative_groups.h>")
        name = self._group.name.removesuffix("_group")
        return Data(f"cooperative_groups::this_{name}()", self._group)


class _Sync(BuiltinFunc):
    """Wait for all threads of a group."""

    def call(self, env: Environment, group: Expr) -> Expr:
        data, ctype = _group_of(group)
        return ctype.wait(env, f"cooperative_groups::sync({data.code})")


class _MemcpyAsync(BuiltinFunc):
    """Begin to copy `size` bytes from `src[src_idx]` to `dst[dst_idx]`, by the whole group.

    `aligned_size` promises that both are aligned to so many bytes.
    """

    def call(
        self,
        env: Environment,
        group: Expr,
        dst: Expr,
        dst_idx: Expr,
        src: Expr,
        src_idx: Expr,
        size: Expr,
        *,
        aligned_size: Expr | None = None,
    ) -> Expr:
        data, _ = _group_of(group)
        places = []
        for array, index in ((dst, dst_idx), (src, src_idx)):
            given = Data.init(array, env)
            if not isinstance(given.ctype, types.ArrayBase):
                raise TypeError("dst/src must be of array type.")
            places.append(Data.init(index_into(given, index, env), env).code)
        count = Data.init(_routines.cast(size, types.uint32), env).code
        env.module.include("#include <cooperative_groups/memcpy_async.h>")
        if aligned_size is not None:
            if not isinstance(aligned_size, Constant):
                raise ValueError("aligned_size must be a compile-time constant")
            env.module.include("#include <cuda/barrier>")
            count = f"cuda::aligned_size_t<{int(aligned_size.obj)}>({count})"
        code = f"cooperative_groups::memcpy_async({data.code}, &{places[0]}, &{places[1]}, {count})"
        return Data(code, types.void)


class _Wait(BuiltinFunc):
    """Wait until the copies that the group began are done."""

    def call(self, env: Environment, group: Expr) -> Expr:
        env.module.include("#include <cooperative_groups/memcpy_async.h>")
        return Data(f"cooperative_groups::wait({_group_of(group)[0].code})", types.void)


class _WaitPrior(BuiltinFunc):
    """Wait until all copies but the last `step` are done."""

    def call(self, env: Environment, group: Expr, step: Expr) -> Expr:
        if not isinstance(step, Constant):
            raise ValueError("step must be a compile-time constant")
        env.module.include("#include <cooperative_groups/memcpy_async.h>")
        code = f"cooperative_groups::wait_prior<{int(step.obj)}>({_group_of(group)[0].code})"
        return Data(code, types.void)


this_grid = _ThisGroup(_GridGroup())
this_thread_block = _ThisGroup(_ThreadBlockGroup())
sync = _Sync()
wait = _Wait()
wait_prior = _WaitPrior()
memcpy_async = _MemcpyAsync()
