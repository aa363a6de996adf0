/* The mock GPU's scheduler: fibers, barriers, warp operations, memory checks, faults.
 *
 * Compiled to LLVM text by scripts/generate_ptx_runtime.py, never at run time. One launch owns one
 * Machine; nothing here is global, so launches of several devices may run side by side.
 */
#include "abi.h"

enum { WARP = 32, MAX_THREADS = 1024, BARRIERS = 16, PAGE = 4096 };
enum { PATIENCE = 32 }; /* rounds in which no thread ends and some poll: then the next block joins */
enum { READY, YIELDED, AT_BARRIER, AT_WARP, AT_ACTIVEMASK, DONE };
enum { FUEL_PLAIN = 1 << 16, FUEL_FIBER = 512 };

void rt_switch(void **save, void *to);
void rt_trampoline(void);
void *rt_frame(void *stack_top, void *thread, void (*start)(Thread *));

void *mmap(void *, u64, int, int, int, i64);
int munmap(void *, u64);
int mprotect(void *, u64, int);
int madvise(void *, u64, int);
struct timespec { i64 seconds, nanoseconds; };
int clock_gettime(int, struct timespec *);

typedef struct { u32 arrived, expected, ones, all, any, out_ones, out_all, out_any; } Barrier;

/* A block whose threads are running: in a slot, with shared memory of its own. */
typedef struct Block {
  u32 alive, thread_count, activemask_waiters, polls;
  u32 warp_alive[MAX_THREADS / WARP];
  Barrier barriers[BARRIERS];
  u64 shared;
  Thread *threads;
} Block;

typedef struct Machine {
  void *main_sp;
  u64 stack_bytes, local_bytes;
  u32 capacity, ready_stacks, used, loops;
  u8 *region, *shared_region; /* of `capacity` threads; of all slots but the first */
  Thread *threads;
  Block *blocks;
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

/* Make a machine for up to `capacity` threads at a time, with these stacks and windows of local
 * memory (multiples of a page); null: no memory. */
Machine *rt_machine_new(u64 stack_bytes, u64 local_bytes, u64 capacity) {
  Machine *m = (Machine *)reserve(sizeof(Machine));
  if (!m) return 0;
  m->stack_bytes = stack_bytes;
  m->local_bytes = local_bytes;
  m->capacity = (u32)capacity;
  m->region = reserve(stride(m) * capacity);
  m->threads = (Thread *)reserve(sizeof(Thread) * capacity);
  m->blocks = (Block *)reserve(sizeof(Block) * capacity);
  if (m->region && m->threads && m->blocks) return m;
  if (m->region) munmap(m->region, stride(m) * capacity);
  if (m->threads) munmap(m->threads, sizeof(Thread) * capacity);
  munmap(m, sizeof(Machine));
  return 0;
}

void rt_machine_free(Machine *m) {
  munmap(m->region, stride(m) * m->capacity);
  munmap(m->threads, sizeof(Thread) * m->capacity);
  munmap(m->blocks, sizeof(Block) * m->capacity);
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

static void poll(Thread *t) {
  if (t->block) t->block->polls = 1;
  t->state = YIELDED;
  leave(t);
}

/* Time: called when a thread has used up its fuel. */
i32 rt_tick(Thread *t) {
  Launch *l = t->launch;
  if (l->stop || rt_now() > l->deadline_ns) rt_fault(t, TIMEOUT, 0, 0, 0);
  poll(t);
  return l->fibers ? FUEL_FIBER : FUEL_PLAIN;
}

void rt_yield(Thread *t) { poll(t); }

/* exit in a called function: this thread is over. */
void rt_exit(Thread *t) {
  t->state = DONE;
  leave(t);
}

/* Warps */

static Thread *lanes(Thread *t) { return &t->block->threads[t->linear & ~31u]; }

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
static u32 release_groups(Block *m, u32 warp) {
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
  u32 live = t->block->warp_alive[t->linear >> 5] & t->mask;
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
  t->block->activemask_waiters++;
  leave(t);
  return (u32)t->result;
}

static u32 release_activemask(Block *m, u32 warp) {
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

static void release_barrier(Block *m, u32 id) {
  Barrier *b = &m->barriers[id];
  b->out_ones = b->ones, b->out_all = b->all, b->out_any = b->any;
  b->arrived = b->ones = b->any = 0;
  b->all = 1;
  for (u32 i = 0; i < m->thread_count; i++)
    if (m->threads[i].state == AT_BARRIER && m->threads[i].barrier == id) m->threads[i].state = READY;
}

static u32 complete(const Block *m, const Barrier *b) {
  return b->arrived && b->arrived >= (b->expected ? b->expected : m->alive);
}

static void arrive(Thread *t, u32 id, u32 count, u32 predicate) {
  Block *m = t->block;
  Barrier *b = &m->barriers[id & 15];
  b->expected = count >= m->thread_count ? 0 : count;
  b->arrived++;
  b->ones += predicate;
  b->all &= predicate;
  b->any |= predicate;
}

/* Wait at barrier `id` for `count` threads (0: all); op 0 none, 1 popc, 2 and, 3 or. */
u32 rt_barrier(Thread *t, u32 id, u32 count, u32 op, u32 predicate) {
  Block *m = t->block;
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
  if (complete(t->block, &t->block->barriers[id & 15])) release_barrier(t->block, id & 15);
}

/* Threads */

static void resume(Machine *m, Thread *t) {
  t->launch->shared = t->shared;
  rt_switch(&m->main_sp, t->sp);
}

static void run_thread(Thread *t) {
  t->launch->entry(t);
  t->state = DONE;
  leave(t);
}

/* Make thread `slot` of the machine ready to run `start` on its own stack. */
static Thread *prepare(Machine *m, Launch *l, u32 slot, Block *block, u64 shared, void (*start)(Thread *)) {
  Thread *t = &m->threads[slot];
  while (m->ready_stacks <= slot) mprotect(m->region + stride(m) * m->ready_stacks++ + m->local_bytes, PAGE, 0);
  if (m->used <= slot) m->used = slot + 1;
  u8 *region = m->region + stride(m) * slot;
  t->launch = l;
  t->machine = m;
  t->block = block;
  t->shared = shared;
  t->state = READY;
  t->overtaken = t->linear = 0;
  for (int i = 0; i < 3; i++) t->tid[i] = t->first[i] = 0;
  t->local_low = (u64)region;
  t->local_high = (u64)region + m->local_bytes;
  t->local_top = (u64)region + l->local_bytes;
  u8 *stack = region + m->local_bytes + PAGE;
  t->stack_limit = (u64)stack + 12288; /* for the C library's functions */
  t->fuel = l->fibers ? FUEL_FIBER : FUEL_PLAIN;
  /* Not all at the same place of a page: they would compete for the same lines of the cache. */
  void *top = stack + m->stack_bytes - (slot * 320 & 4095 & -64);
  t->sp = rt_frame(top, t, start);
  return t;
}

static void place(Thread *t, u64 block) {
  const u32 *grid = t->launch->grid;
  t->ctaid[0] = (u32)(block % grid[0]);
  t->ctaid[1] = (u32)(block / grid[0] % grid[1]);
  t->ctaid[2] = (u32)(block / grid[0] / grid[1]);
}

static u64 block_count(const Launch *l) { return (u64)l->grid[0] * l->grid[1] * l->grid[2]; }
static u64 shared_stride(const Launch *l) { return (l->shared_bytes + 1023) & ~1023ull; }

/* Return how many blocks can run at once: each needs threads and shared memory. */
static u64 slots_of(Machine *m, Launch *l, u64 wanted, u64 threads) {
  u64 slots = m->capacity / threads < wanted ? m->capacity / threads : wanted;
  m->shared_region = 0;
  if (slots > 1 && l->shared_bytes) m->shared_region = reserve(shared_stride(l) * (slots - 1));
  return slots > 1 && l->shared_bytes && !m->shared_region ? 1 : slots;
}

static u64 shared_of(const Machine *m, const Launch *l, u64 first, u64 slot) {
  return slot && l->shared_bytes ? (u64)m->shared_region + shared_stride(l) * (slot - 1) : first;
}

/* Blocks of fibers */

static void begin_block(Machine *m, Launch *l, u32 slot, u64 number, u64 shared) {
  Block *b = &m->blocks[slot];
  b->alive = b->thread_count = l->block[0] * l->block[1] * l->block[2];
  b->activemask_waiters = b->polls = 0;
  b->shared = shared;
  u32 first = slot * b->thread_count;
  b->threads = &m->threads[first];
  for (u32 i = 0; i < BARRIERS; i++) b->barriers[i] = (Barrier){.all = 1};
  for (u32 w = 0; w * WARP < b->alive; w++) {
    u32 rest = b->alive - w * WARP;
    b->warp_alive[w] = rest >= WARP ? ~0u : (1u << rest) - 1;
  }
  u32 i = 0;
  for (u32 z = 0; z < l->block[2]; z++)
    for (u32 y = 0; y < l->block[1]; y++)
      for (u32 x = 0; x < l->block[0]; x++, i++) {
        Thread *t = prepare(m, l, first + i, b, shared, run_thread);
        t->linear = i;
        t->tid[0] = x, t->tid[1] = y, t->tid[2] = z;
        place(t, number);
      }
}

static void end_thread(Block *b, Thread *t) {
  u32 warp = t->linear >> 5;
  b->alive--;
  b->warp_alive[warp] &= ~(1u << (t->linear & 31));
  release_groups(b, warp);
  for (u32 i = 0; i < BARRIERS; i++)
    if (!b->barriers[i].expected && complete(b, &b->barriers[i])) release_barrier(b, i);
}

/* Run the lanes of a warp that can run, until none can; say whether any did. */
static u32 run_warp(Machine *m, Launch *l, Block *b, u32 warp) {
  u32 progress = 0, again = 1;
  while (again) {
    again = 0;
    for (u32 live = b->warp_alive[warp]; live; live &= live - 1) {
      Thread *t = &b->threads[warp * WARP + (u32)__builtin_ctz(live)];
      if (t->state != READY) continue;
      resume(m, t);
      if (l->status) return 1;
      progress = again = 1;
      if (t->state == DONE) end_thread(b, t);
    }
    if (!again && b->activemask_waiters) again = release_activemask(b, warp);
  }
  for (u32 live = b->warp_alive[warp]; live; live &= live - 1) {
    Thread *t = &b->threads[warp * WARP + (u32)__builtin_ctz(live)];
    if (t->state == YIELDED) t->state = READY, progress = 1;
  }
  return progress;
}

static void deadlock(Block *b, Launch *l) {
  for (u32 i = 0; i < b->thread_count; i++) {
    Thread *t = &b->threads[i];
    if (t->state == DONE) continue;
    l->status = DEADLOCK;
    for (int k = 0; k < 3; k++) l->fault_tid[k] = t->tid[k], l->fault_ctaid[k] = t->ctaid[k];
    l->fault_size = b->alive;
    return;
  }
}

/* Let each warp of a block run; return whether any thread ended. */
static u32 run_round(Machine *m, Launch *l, Block *b) {
  u32 before = b->alive, progress = 0;
  for (u32 w = 0; w * WARP < b->thread_count; w++) {
    if (b->warp_alive[w]) progress |= run_warp(m, l, b, w);
    if (l->status) return 1;
  }
  if (!progress && b->alive) deadlock(b, l);
  return b->alive != before;
}

/* Blocks run one after the other, until one polls in vain: then others join it, twice as many each
 * time, for it may wait for them. All blocks of a cooperative launch are there from the start. */
static void run_fibers(Machine *m, Launch *l, u64 slots) {
  u64 next = 0, total = block_count(l), shared = l->shared;
  u64 resident = l->cooperative ? slots : 1, idle = 0;
  for (u64 s = 0; s < slots; s++) m->blocks[s].alive = 0;
  for (u32 running = 1; running;) {
    u32 ended = 0, polls = 0;
    running = 0;
    for (u32 s = 0; s < resident; s++) {
      Block *b = &m->blocks[s];
      if (!b->alive) {
        if (next == total) continue;
        begin_block(m, l, s, next++, shared_of(m, l, shared, s));
      }
      running = 1;
      b->polls = 0;
      ended |= run_round(m, l, b);
      if (l->status) return;
      polls |= b->polls;
      if (b->alive) continue;
      if (l->stop || rt_now() > l->deadline_ns) {
        l->status = TIMEOUT;
        return;
      }
    }
    idle = ended || !polls ? 0 : idle + 1;
    if (idle == PATIENCE && next < total && resident < slots) {
      resident = resident * 2 < slots ? resident * 2 : slots;
      idle = 0;
    }
  }
}

/* Blocks in plain loops */

/* Run blocks from `t->next_block` on, until the last one or until another fiber took over. Shared
 * memory is only one block's: the next one begins when the fibers that were overtaken have ended. */
static void run_plain(Thread *t) {
  Launch *l = t->launch;
  u64 total = block_count(l);
  for (u64 count = 1; t->next_block < total; count++) {
    u32 fresh = !(t->first[0] | t->first[1] | t->first[2]);
    while (fresh && l->shared_bytes && t->machine->loops > 1) {
      t->state = AT_BARRIER;
      leave(t);
    }
    place(t, t->next_block++);
    if (!(count & 15) && (l->stop || rt_now() > l->deadline_ns)) rt_fault(t, TIMEOUT, 0, 0, 0);
    l->entry(t);
    if (t->overtaken) break;
  }
  t->state = DONE;
  leave(t);
}

/* Run what follows a thread that loops for long on another fiber: that thread may wait for one of
 * them. Its own fiber ends with it. */
static void overtake(Machine *m, Launch *l, Thread *t, u32 slot) {
  Thread *o = prepare(m, l, slot, 0, t->shared, run_plain);
  o->next_block = t->next_block;
  t->overtaken = 1;
  for (int i = 0; i < 3; i++) o->first[i] = t->tid[i];
  for (int i = 0; i < 3; i++) {
    if (++o->first[i] < l->block[i]) {
      o->next_block--; /* the rest of the same block */
      return;
    }
    o->first[i] = 0;
  }
}

static u32 free_slot(const Machine *m, u32 used) {
  u32 slot = 0;
  while (slot < used && m->threads[slot].state != DONE) slot++;
  return slot;
}

/* One fiber, the leader, runs block after block. If one of its threads uses up its fuel twice, it
 * is overtaken: another fiber leads, and this one ends with that thread. */
static void run_loops(Machine *m, Launch *l) {
  u32 used = 1, leader = 0, tid[3] = {~0u, 0, 0};
  u64 block = 0;
  prepare(m, l, 0, 0, l->shared, run_plain)->next_block = 0;
  m->loops = 1;
  while (m->loops)
    for (u32 i = 0; i < used; i++) {
      Thread *t = &m->threads[i];
      if (t->state == DONE) continue;
      t->state = READY;
      resume(m, t);
      if (l->status) return;
      if (t->state == DONE) m->loops--;
      if (t->state != YIELDED || i != leader || !l->overtakes) continue;
      u32 again = block == t->next_block;
      for (int k = 0; k < 3; k++) again &= tid[k] == t->tid[k], tid[k] = t->tid[k];
      block = t->next_block;
      u32 slot = again ? free_slot(m, used) : m->capacity;
      if (slot == m->capacity) continue;
      overtake(m, l, t, leader = slot);
      m->loops++;
      if (slot == used) used++;
    }
}

/* Give back the memory of more stacks than one block has: few launches need them. */
static void forget_stacks(Machine *m) {
  u64 first = stride(m) * MAX_THREADS;
  if (m->used > MAX_THREADS) madvise(m->region + first, stride(m) * m->used - first, 4); /* don't need */
}

i32 rt_launch(Machine *m, Launch *l) {
  u64 threads = (u64)l->block[0] * l->block[1] * l->block[2], blocks = block_count(l);
  if (l->cooperative && blocks > m->capacity / threads) return l->status = TOO_LARGE;
  m->used = 0;
  if (l->fibers) {
    u64 slots = slots_of(m, l, blocks, threads), shared = l->shared;
    if (l->cooperative && slots < blocks) return l->status = TOO_LARGE;
    run_fibers(m, l, slots);
    l->shared = shared;
    if (m->shared_region) munmap(m->shared_region, shared_stride(l) * (slots - 1));
  } else run_loops(m, l);
  forget_stacks(m);
  return l->status;
}
