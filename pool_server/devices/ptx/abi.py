"""What translated kernels, the C runtime and Python agree on: the twin of `native/abi.h`."""

from __future__ import annotations

import ctypes

u32, u64, i32 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32


class Launch(ctypes.Structure):
    """One launch, as the runtime reads and writes it."""

    _fields_ = (
        ("grid", u32 * 3),
        ("block", u32 * 3),
        ("params", u64),
        ("params_end", u64),
        ("shared", u64),
        ("shared_bytes", u64),
        ("globals", u64),
        ("ranges", u64),
        ("range_count", u64),
        ("sites", u64),
        ("deadline_ns", u64),
        ("stop", u32),
        ("dynamic_shared_bytes", u32),
        ("out", u64),
        ("out_capacity", u64),
        ("out_used", u64),
        ("out_lost", u64),
        ("entry", u64),
        ("fibers", u32),
        ("local_bytes", u32),
        ("status", i32),
        ("fault_tid", u32 * 3),
        ("fault_ctaid", u32 * 3),
        ("fault_site", u32),
        ("fault_address", u64),
        ("fault_size", u64),
        ("workspace", u64),
        ("cooperative", u32),
        ("overtakes", u32),
        ("context", u64),
    )


# Offsets in bytes that translated code uses.
LAUNCH_GRID = 0
LAUNCH_BLOCK = 12
LAUNCH_PARAMS = 24
LAUNCH_SHARED = 40
LAUNCH_SHARED_BYTES = 48
LAUNCH_GLOBALS = 56
LAUNCH_SITES = 80
LAUNCH_DYNAMIC_SHARED_BYTES = 100
LAUNCH_WORKSPACE = 200
LAUNCH_CONTEXT = 216
THREAD_TID = 8
THREAD_CTAID = 20
THREAD_LINEAR = 32
THREAD_FUEL = 36
THREAD_LOCAL_LOW = 40
THREAD_LOCAL_HIGH = 48
THREAD_LOCAL_TOP = 56
THREAD_STACK_LIMIT = 64
THREAD_FIRST = 72
THREAD_OVERTAKEN = 84
SITE_BYTES = 16

ILLEGAL_ADDRESS = 700
TIMEOUT = 702
ASSERTION = 710
ILLEGAL_INSTRUCTION = 715
MISALIGNED = 716
INVALID_PC = 718
LAUNCH_FAILURE = 719
TOO_LARGE = 720
# Reasons of 719 that the runtime tells apart.
DEADLOCK = 10719
STACK_OVERFLOW = 20719

FUEL_PLAIN = 1 << 16
FUEL_FIBER = 512

WARP_OPERATIONS = {
    "sync": 0, "shfl": 1, "ballot": 2, "all": 3, "any": 4, "uni": 5, "match.any": 6, "match.all": 7,
    "add": 8, "min.s": 9, "max.s": 10, "min.u": 11, "max.u": 12, "and": 13, "or": 14, "xor": 15,
}  # fmt: skip

SWITCH_X86_64 = """
.text
.globl rt_switch
.p2align 4
rt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.globl rt_frame
.p2align 4
rt_frame:
  andq $-16, %rdi
  subq $64, %rdi
  movq $0, (%rdi)
  movq $0, 8(%rdi)
  movq $0, 16(%rdi)
  movq %rdx, 24(%rdi)
  movq %rsi, 32(%rdi)
  movq $0, 40(%rdi)
  leaq rt_trampoline(%rip), %rax
  movq %rax, 48(%rdi)
  movq $0, 56(%rdi)
  movq %rdi, %rax
  ret
.globl rt_trampoline
.p2align 4
rt_trampoline:
  subq $8, %rsp
  movq %rbx, %rdi
  callq *%r12
  ud2
"""

SWITCH_AARCH64 = """
.text
.globl rt_switch
.p2align 4
rt_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.globl rt_frame
.p2align 4
rt_frame:
  and x0, x0, #-16
  sub x0, x0, #160
  stp x1, x2, [x0]
  adr x9, rt_trampoline
  stp xzr, x9, [x0, #80]
  ret
.globl rt_trampoline
.p2align 4
rt_trampoline:
  mov x0, x19
  blr x20
  brk #0
"""
