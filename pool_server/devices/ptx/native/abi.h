/* What translated kernels, the runtime and Python agree on. `abi.py` has the same offsets. */
#pragma once
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef __int128 i128;
typedef unsigned __int128 u128;

/* A range of valid memory: the first byte, and the one after the last. */
typedef struct { u64 low, high; } Range;

/* What an access site found last: an access at `a` is good if a - low < width. */
typedef struct { u64 low, width; } Site;

struct Thread;

typedef struct Launch {
  u32 grid[3], block[3];
  u64 params, params_end;
  u64 shared, shared_bytes; /* static, then dynamic */
  u64 globals;
  const Range *ranges; /* sorted, disjoint */
  u64 range_count;
  Site *sites;
  u64 deadline_ns; /* of CLOCK_MONOTONIC */
  volatile u32 stop;
  u32 dynamic_shared_bytes;
  u8 *out; /* text of printf and assert */
  u64 out_capacity, out_used, out_lost;
  void (*entry)(struct Thread *); /* runs a block (plain) or a thread (fibers) */
  u32 fibers;
  u32 local_bytes; /* of the entry's own frame */
  /* The first fault. */
  i32 status;
  u32 fault_tid[3], fault_ctaid[3];
  u32 fault_site;
  u64 fault_address;
  u64 fault_size;
  u64 workspace; /* of a cooperative launch: what its barrier counts with */
  u32 cooperative;
  u32 overtakes; /* plain: may a thread that loops for long wait for a later one? */
  u64 context; /* plain: registers of threads that take turns */
} Launch;

typedef struct Thread {
  Launch *launch;
  u32 tid[3], ctaid[3];
  u32 linear; /* in the block */
  i32 fuel;
  u64 local_low, local_high, local_top;
  u64 stack_limit;
  u32 first[3]; /* plain: where to begin in the block */
  u32 overtaken; /* plain: another fiber runs the threads after this one */
  /* Only the scheduler looks at what follows. */
  void *sp;
  struct Machine *machine;
  struct Block *block; /* null: plain */
  u64 shared, next_block;
  u32 state, op, mask, source, barrier, site;
  u64 value, result;
} Thread;

#define OFFSET(type, field, offset) _Static_assert(__builtin_offsetof(type, field) == offset, #field)
OFFSET(Launch, block, 12);
OFFSET(Launch, params, 24);
OFFSET(Launch, shared, 40);
OFFSET(Launch, shared_bytes, 48);
OFFSET(Launch, globals, 56);
OFFSET(Launch, sites, 80);
OFFSET(Launch, dynamic_shared_bytes, 100);
OFFSET(Launch, fault_tid, 156);
OFFSET(Launch, workspace, 200);
OFFSET(Launch, context, 216);
OFFSET(Thread, tid, 8);
OFFSET(Thread, ctaid, 20);
OFFSET(Thread, linear, 32);
OFFSET(Thread, fuel, 36);
OFFSET(Thread, local_low, 40);
OFFSET(Thread, local_top, 56);
OFFSET(Thread, stack_limit, 64);
OFFSET(Thread, first, 72);
OFFSET(Thread, overtaken, 84);

/* CUDA's status codes. */
enum {
  ILLEGAL_ADDRESS = 700, TIMEOUT = 702, ASSERTION = 710, ILLEGAL_INSTRUCTION = 715, MISALIGNED = 716,
  INVALID_PC = 718, LAUNCH_FAILURE = 719, TOO_LARGE = 720
};
/* More precise reasons of 719, kept apart until Python words them. */
enum { DEADLOCK = 10719, STACK_OVERFLOW = 20719, HEAP_FAULT = 30719 };

/* Operations of a warp. */
enum {
  W_SYNC, W_SHFL, W_BALLOT, W_ALL, W_ANY, W_UNI, W_MATCH_ANY, W_MATCH_ALL, W_ADD, W_MIN_S, W_MAX_S,
  W_MIN_U, W_MAX_U, W_AND, W_OR, W_XOR
};
