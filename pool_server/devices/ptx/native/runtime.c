/* The mock GPU's scheduler: fibers, barriers, warp operations, memory checks, faults.
 *
 * Compiled to LLVM text by scripts/generate_ptx_runtime.py, never at run time. One launch owns one
 * Machine; nothing here is global, so launches of several devices may run side by side.
 */
#include "abi.h"

enum { WARP = 32, MAX_THREADS = 1024, BARRIERS = 16, PAGE = 4096 };
enum { READY, YIELDED, AT_BARRIER, AT_WARP, AT_ACTIVEMASK, DONE };
enum { FUEL_PLAIN = 1 << 16, FUEL_FIBER = 512 };

void rt_switch(void **save, void *to);
void rt_trampoline(void);
void *rt_frame(void **stack_top, void *thread, void (*start)(Thread *));

void *mmap(void *, u64, int, int, int, i64);
int munmap(void *, u64);
int mprotect(void *, u64, int);
struct timespec { i64 seconds, nanoseconds; };
int clock_gettime(int, struct timespec *);

typedef struct { u32 arrived, expected, ones, all, any, out_ones, out_all, out_any; } Barrier;

typedef struct Machine {
  void *main_sp;
  u64 stack_bytes, local_bytes, plain_stack_bytes;
  u8 *plain_region, *fiber_region;
  u32 ready_stacks;
  u32 alive, thread_count, activemask_waiters;
  u32 warp_alive[MAX_THREADS / WARP];
  Barrier barriers[BARRIERS];
  Thread threads[MAX_THREADS];
} Machine;

u64 rt_now(void) {
  struct timespec now;
  clock_gettime(1, &now);
  return (u64)now.seconds * 1000000000u + (u64)now.nanoseconds;
}

static u64 stride(const Machine *m) { return m->local_bytes + PAGE + m->stack_bytes; }

static u8 *reserve(u64 size) {
  u8 *p = mmap(0, size, 3, 0x4022, -1, 0); /* read, write; private, anonymous, no reserve */
  return p == (u8 *)-1 ? 0 : p;
}

/* Make a machine whose threads have these stacks and windows of local memory (multiples of a page);
 * null: no memory. */
Machine *rt_machine_new(u64 stack_bytes, u64 local_bytes, u64 plain_stack_bytes) {
  Machine *m = (Machine *)reserve(sizeof(Machine));
  if (!m) return 0;
  m->stack_bytes = stack_bytes;
  m->local_bytes = local_bytes;
  m->plain_stack_bytes = plain_stack_bytes;
  u64 plain = local_bytes + PAGE + plain_stack_bytes;
  m->plain_region = reserve(plain);
  m->fiber_region = reserve(stride(m) * MAX_THREADS);
  if (!m->plain_region || !m->fiber_region) return 0;
  mprotect(m->plain_region + local_bytes, PAGE, 0);
  return m;
}

void rt_machine_free(Machine *m) {
  munmap(m->plain_region, m->local_bytes + PAGE + m->plain_stack_bytes);
  munmap(m->fiber_region, stride(m) * MAX_THREADS);
  munmap(m, sizeof(Machine));
}

/* Faults */

static void leave(Thread *t) { rt_switch(&t->sp, t->machine->main_sp); }

__attribute__((noreturn, cold)) void rt_fault(Thread *t, i32 status, u64 address, u64 size, u32 site) {
  Launch *l = t->launch;
  if (!l->status) {
    l->status = status;
    for (int i = 0; i < 3; i++) l->fault_tid[i] = t->tid[i], l->fault_ctaid[i] = t->ctaid[i];
    l->fault_address = address;
    l->fault_size = size;
    l->fault_site = site;
  }
  t->state = DONE;
  leave(t);
  __builtin_trap();
}

/* Find the valid range around an address, or return 0. */
static int find(const Thread *t, u64 address, Range *found) {
  const Launch *l = t->launch;
  u64 low = 0, high = l->range_count;
  while (low < high) {
    u64 middle = (low + high) / 2;
    if (l->ranges[middle].low <= address) low = middle + 1;
    else high = middle;
  }
  if (low && address < l->ranges[low - 1].high) *found = l->ranges[low - 1];
  else if (address - l->shared < l->shared_bytes) *found = (Range){l->shared, l->shared + l->shared_bytes};
  else if (address >= t->local_low && address < t->local_high) *found = (Range){t->local_low, t->local_high};
  else if (address >= l->params && address < l->params_end) *found = (Range){l->params, l->params_end};
  else return 0;
  return 1;
}

/* An access that its site's last range does not explain: find its range, or fault. */
__attribute__((cold)) void rt_check(Thread *t, u64 address, u64 size, u64 align, u32 site) {
  if (address & (align - 1)) rt_fault(t, MISALIGNED, address, size, site);
  Range range;
  if (!find(t, address, &range) || range.high - address < size) rt_fault(t, ILLEGAL_ADDRESS, address, size, site);
  t->launch->sites[site] = (Site){range.low, range.high - range.low - size + 1};
}

/* The end of the valid range around an address; 0: there is none. */
u64 rt_readable(Thread *t, u64 address) {
  Range range;
  return find(t, address, &range) ? range.high : 0;
}

/* Do all accesses base, base+step, ..., base+step*last lie in one range and aligned? */
u32 rt_row(Thread *t, u64 first, i64 step, u64 last, u64 size, u64 align) {
  i128 span = (i128)step * (i128)last;
  u64 low = step < 0 ? first + (u64)span : first;
  u64 bytes = (u64)(span < 0 ? -span : span) + size;
  Range range;
  if ((first | (u64)step) & (align - 1)) return 0;
  if (span > ((i128)1 << 47) || span < -((i128)1 << 47)) return 0;
  return find(t, low, &range) && range.high - low >= bytes;
}

/* Time: called when a thread has used up its fuel. */
i32 rt_tick(Thread *t) {
  Launch *l = t->launch;
  if (l->stop || rt_now() > l->deadline_ns) rt_fault(t, TIMEOUT, 0, 0, 0);
  if (!l->fibers) return FUEL_PLAIN;
  t->state = YIELDED;
  leave(t);
  return FUEL_FIBER;
}

void rt_yield(Thread *t) {
  if (!t->launch->fibers) return;
  t->state = YIELDED;
  leave(t);
}

/* exit in a called function: this thread is over. */
void rt_exit(Thread *t) {
  t->state = DONE;
  leave(t);
}

/* Warps */

static Thread *lanes(Thread *t) { return &t->machine->threads[t->linear & ~31u]; }

static u64 reduce(u32 op, u64 a, u64 b) {
  i32 x = (i32)a, y = (i32)b;
  u32 ux = (u32)a, uy = (u32)b;
  switch (op) {
    case W_ADD: return ux + uy;
    case W_MIN_S: return (u32)(x < y ? x : y);
    case W_MAX_S: return (u32)(x > y ? x : y);
    case W_MIN_U: return ux < uy ? ux : uy;
    case W_MAX_U: return ux > uy ? ux : uy;
    case W_AND: return ux & uy;
    case W_OR: return ux | uy;
    default: return ux ^ uy;
  }
}

static void compute_vote(Thread *w, u32 group, u32 op) {
  u32 ones = 0;
  for (u32 i = 0; i < WARP; i++)
    if (group >> i & 1 && w[i].value) ones |= 1u << i;
  u64 result = op == W_BALLOT ? ones : op == W_ALL ? ones == group : op == W_ANY ? ones != 0 : ones == group || !ones;
  for (u32 i = 0; i < WARP; i++)
    if (group >> i & 1) w[i].result = result;
}

static void compute_match(Thread *w, u32 group, u32 op) {
  for (u32 i = 0; i < WARP; i++) {
    if (!(group >> i & 1)) continue;
    u32 same = 0;
    for (u32 k = 0; k < WARP; k++)
      if (group >> k & 1 && w[k].value == w[i].value) same |= 1u << k;
    w[i].result = op == W_MATCH_ANY ? same : same == group ? (1ull << 32 | group) : 0;
  }
}

static void compute(Thread *w, u32 group, u32 op) {
  if (op == W_SHFL) {
    for (u32 i = 0; i < WARP; i++)
      if (group >> i & 1) w[i].result = w[group >> w[i].source & 1 ? w[i].source : i].value;
  } else if (op >= W_BALLOT && op <= W_UNI) compute_vote(w, group, op);
  else if (op == W_MATCH_ANY || op == W_MATCH_ALL) compute_match(w, group, op);
  else if (op >= W_ADD) {
    u32 first = (u32)__builtin_ctz(group);
    u64 total = w[first].value;
    for (u32 i = first + 1; i < WARP; i++)
      if (group >> i & 1) total = reduce(op, total, w[i].value);
    for (u32 i = 0; i < WARP; i++)
      if (group >> i & 1) w[i].result = total;
  }
}

/* Release every group of lanes whose mask is complete: exited lanes do not count. */
static u32 release_groups(Machine *m, u32 warp) {
  Thread *w = &m->threads[warp * WARP];
  u32 live = m->warp_alive[warp], released = 0, seen = 0;
  for (u32 i = 0; i < WARP; i++) {
    if (!(live >> i & 1) || seen >> i & 1 || w[i].state != AT_WARP) continue;
    u32 group = 0, mask = w[i].mask & live;
    for (u32 k = 0; k < WARP; k++)
      if (mask >> k & 1 && w[k].state == AT_WARP && w[k].mask == w[i].mask) group |= 1u << k;
    seen |= group;
    if (group != mask) continue;
    compute(w, group, w[i].op);
    for (u32 k = 0; k < WARP; k++)
      if (group >> k & 1) w[k].state = READY;
    released = 1;
  }
  return released;
}

u64 rt_warp(Thread *t, u32 mask, u32 op, u64 value, u32 source) {
  u32 self = 1u << (t->linear & 31);
  t->mask = mask & self ? mask : self;
  t->op = op;
  t->value = value;
  t->source = source & 31;
  t->state = AT_WARP;
  u32 live = t->machine->warp_alive[t->linear >> 5] & t->mask;
  u32 arrived = 0;
  Thread *w = lanes(t);
  for (u32 i = 0; i < WARP; i++)
    if (live >> i & 1 && w[i].state == AT_WARP && w[i].mask == t->mask) arrived |= 1u << i;
  if (arrived == live) {
    compute(w, live, op);
    for (u32 i = 0; i < WARP; i++)
      if (live >> i & 1) w[i].state = READY;
  } else leave(t);
  return t->result;
}

/* The lanes that meet at this instruction: known when no other lane of the warp can run on. */
u32 rt_activemask(Thread *t, u32 site) {
  t->site = site;
  t->state = AT_ACTIVEMASK;
  t->machine->activemask_waiters++;
  leave(t);
  return (u32)t->result;
}

static u32 release_activemask(Machine *m, u32 warp) {
  Thread *w = &m->threads[warp * WARP];
  u32 live = m->warp_alive[warp], first = WARP, group = 0;
  for (u32 i = 0; i < WARP; i++) {
    if (!(live >> i & 1) || w[i].state != AT_ACTIVEMASK) continue;
    if (first == WARP) first = i;
    if (w[i].site == w[first].site) group |= 1u << i;
  }
  for (u32 i = 0; i < WARP; i++)
    if (group >> i & 1) w[i].result = group, w[i].state = READY, m->activemask_waiters--;
  return group != 0;
}

/* Barriers */

static void release_barrier(Machine *m, u32 id) {
  Barrier *b = &m->barriers[id];
  b->out_ones = b->ones, b->out_all = b->all, b->out_any = b->any;
  b->arrived = b->ones = b->any = 0;
  b->all = 1;
  for (u32 i = 0; i < m->thread_count; i++)
    if (m->threads[i].state == AT_BARRIER && m->threads[i].barrier == id) m->threads[i].state = READY;
}

static u32 complete(const Machine *m, const Barrier *b) {
  return b->arrived && b->arrived >= (b->expected ? b->expected : m->alive);
}

static void arrive(Thread *t, u32 id, u32 count, u32 predicate) {
  Machine *m = t->machine;
  Barrier *b = &m->barriers[id & 15];
  b->expected = count >= m->thread_count ? 0 : count;
  b->arrived++;
  b->ones += predicate;
  b->all &= predicate;
  b->any |= predicate;
}

/* Wait at barrier `id` for `count` threads (0: all); op 0 none, 1 popc, 2 and, 3 or. */
u32 rt_barrier(Thread *t, u32 id, u32 count, u32 op, u32 predicate) {
  Machine *m = t->machine;
  Barrier *b = &m->barriers[id & 15];
  arrive(t, id, count, predicate);
  t->state = AT_BARRIER;
  t->barrier = id & 15;
  if (complete(m, b)) release_barrier(m, id & 15);
  leave(t);
  return op == 1 ? b->out_ones : op == 2 ? b->out_all : b->out_any;
}

void rt_arrive(Thread *t, u32 id, u32 count) {
  arrive(t, id, count, 0);
  if (complete(t->machine, &t->machine->barriers[id & 15])) release_barrier(t->machine, id & 15);
}

/* Blocks */

static void run_thread(Thread *t) {
  t->launch->entry(t);
  t->state = DONE;
  leave(t);
}

static void prepare(Machine *m, Launch *l, Thread *t, u8 *region, u64 stack_bytes) {
  t->launch = l;
  t->machine = m;
  t->state = READY;
  t->local_low = (u64)region;
  t->local_high = (u64)region + m->local_bytes;
  t->local_top = (u64)region + l->local_bytes;
  u8 *stack = region + m->local_bytes + PAGE;
  t->stack_limit = (u64)stack + 12288; /* for the C library's functions */
  t->fuel = l->fibers ? FUEL_FIBER : FUEL_PLAIN;
  /* Not all at the same place of a page: they would compete for the same lines of the cache. */
  t->sp = stack + stack_bytes - (t->linear * 320 & 4095 & -64);
}

static void begin_block(Machine *m, Launch *l, u32 x, u32 y, u32 z) {
  m->alive = m->thread_count = l->block[0] * l->block[1] * l->block[2];
  m->activemask_waiters = 0;
  for (u32 i = 0; i < BARRIERS; i++) m->barriers[i] = (Barrier){.all = 1};
  for (u32 w = 0; w * WARP < m->alive; w++) {
    u32 rest = m->alive - w * WARP;
    m->warp_alive[w] = rest >= WARP ? ~0u : (1u << rest) - 1;
  }
  while (m->ready_stacks < m->alive) mprotect(m->fiber_region + stride(m) * m->ready_stacks++ + m->local_bytes, PAGE, 0);
  u32 i = 0;
  for (u32 c = 0; c < l->block[2]; c++)
    for (u32 b = 0; b < l->block[1]; b++)
      for (u32 a = 0; a < l->block[0]; a++, i++) {
        Thread *t = &m->threads[i];
        t->linear = i;
        prepare(m, l, t, m->fiber_region + stride(m) * i, m->stack_bytes);
        t->tid[0] = a, t->tid[1] = b, t->tid[2] = c;
        t->ctaid[0] = x, t->ctaid[1] = y, t->ctaid[2] = z;
        t->sp = rt_frame(t->sp, t, run_thread);
      }
}

static void end_thread(Machine *m, Thread *t) {
  u32 warp = t->linear >> 5;
  m->alive--;
  m->warp_alive[warp] &= ~(1u << (t->linear & 31));
  release_groups(m, warp);
  for (u32 i = 0; i < BARRIERS; i++)
    if (!m->barriers[i].expected && complete(m, &m->barriers[i])) release_barrier(m, i);
}

/* Run the lanes of a warp that can run, until none can; say whether any did. */
static u32 run_warp(Machine *m, Launch *l, u32 warp) {
  u32 progress = 0, again = 1;
  while (again) {
    again = 0;
    for (u32 live = m->warp_alive[warp]; live; live &= live - 1) {
      Thread *t = &m->threads[warp * WARP + (u32)__builtin_ctz(live)];
      if (t->state != READY) continue;
      rt_switch(&m->main_sp, t->sp);
      if (l->status) return 1;
      progress = again = 1;
      if (t->state == DONE) end_thread(m, t);
    }
    if (!again && m->activemask_waiters) again = release_activemask(m, warp);
  }
  for (u32 live = m->warp_alive[warp]; live; live &= live - 1) {
    Thread *t = &m->threads[warp * WARP + (u32)__builtin_ctz(live)];
    if (t->state == YIELDED) t->state = READY, progress = 1;
  }
  return progress;
}

static void deadlock(Machine *m, Launch *l) {
  for (u32 i = 0; i < m->thread_count; i++) {
    Thread *t = &m->threads[i];
    if (t->state == DONE) continue;
    l->status = DEADLOCK;
    for (int k = 0; k < 3; k++) l->fault_tid[k] = t->tid[k], l->fault_ctaid[k] = t->ctaid[k];
    l->fault_size = m->alive;
    return;
  }
}

static void run_block(Machine *m, Launch *l) {
  u32 warps = (m->thread_count + WARP - 1) / WARP;
  while (m->alive) {
    u32 progress = 0;
    for (u32 w = 0; w < warps; w++) {
      if (m->warp_alive[w]) progress |= run_warp(m, l, w);
      if (l->status) return;
    }
    if (!progress && m->alive) return deadlock(m, l);
  }
}

static void run_plain(Thread *t) {
  Launch *l = t->launch;
  u32 count = 0;
  for (u32 z = 0; z < l->grid[2]; z++)
    for (u32 y = 0; y < l->grid[1]; y++)
      for (u32 x = 0; x < l->grid[0]; x++) {
        t->ctaid[0] = x, t->ctaid[1] = y, t->ctaid[2] = z;
        if (!(++count & 15)) rt_tick(t);
        l->entry(t);
      }
  t->state = DONE;
  leave(t);
}

i32 rt_launch(Machine *m, Launch *l) {
  if (!l->fibers) {
    Thread *t = &m->threads[0];
    t->linear = 0;
    prepare(m, l, t, m->plain_region, m->plain_stack_bytes);
    t->sp = rt_frame(t->sp, t, run_plain);
    rt_switch(&m->main_sp, t->sp);
    return l->status;
  }
  for (u32 z = 0; z < l->grid[2]; z++)
    for (u32 y = 0; y < l->grid[1]; y++)
      for (u32 x = 0; x < l->grid[0]; x++) {
        begin_block(m, l, x, y, z);
        run_block(m, l);
        if (l->status) return l->status;
        if (l->stop || rt_now() > l->deadline_ns) return l->status = TIMEOUT;
      }
  return l->status;
}
