/* printf and assert of device code: text goes to a bounded buffer of the launch. */
#include "abi.h"

void rt_fault(Thread *, i32, u64, u64, u32) __attribute__((noreturn));
int snprintf(char *, u64, const char *, ...);
u64 rt_readable(Thread *, u64);

enum { PIECE = 1536, SPEC = 40, MAX_FIELD = 512 };

static void put(Launch *l, const char *text, u64 size) {
  if (l->out_used + size > l->out_capacity) {
    l->out_lost += size;
    return;
  }
  for (u64 i = 0; i < size; i++) l->out[l->out_used++] = (u8)text[i];
}

static void put_number(Launch *l, u32 number) {
  char text[16];
  put(l, text, (u64)snprintf(text, sizeof text, "%u", number));
}

/* Write a string of device memory; a wild pointer is an illegal access. */
static void put_string(Thread *t, u64 address, i32 precision) {
  u64 end = rt_readable(t, address);
  if (address >= end) rt_fault(t, ILLEGAL_ADDRESS, address, 1, 0);
  u64 length = 0;
  while (address + length < end && (precision < 0 || length < (u64)precision) && ((u8 *)address)[length]) length++;
  put(t->launch, (const char *)address, length);
}

static u64 argument(Thread *t, u64 *next, u64 size) {
  u64 at = (*next + size - 1) & ~(size - 1);
  *next = at + size;
  if (rt_readable(t, at) < at + size) rt_fault(t, ILLEGAL_ADDRESS, at, size, 0);
  return size == 8 ? *(u64 *)at : *(u32 *)at;
}

typedef struct { char text[SPEC]; u32 used; i32 precision; u32 wide; } Spec;

static void add(Spec *s, char c) {
  if (s->used < SPEC - 4) s->text[s->used++] = c;
}

static void add_field(Thread *t, Spec *s, const char **format, u64 *next, i32 *value) {
  i32 number = 0;
  if (**format == '*') {
    number = (i32)argument(t, next, 4);
    ++*format;
  } else
    while (**format >= '0' && **format <= '9') {
      number = number < 100000 ? number * 10 + (**format - '0') : number;
      ++*format;
    }
  if (number < 0) add(s, '-'), number = number < -MAX_FIELD ? MAX_FIELD : -number;
  if (number > MAX_FIELD) number = MAX_FIELD;
  *value = number;
  char digits[8];
  i32 count = snprintf(digits, sizeof digits, "%d", number);
  for (i32 i = 0; i < count; i++) add(s, digits[i]);
}

static int is_flag(char c) { return c == '-' || c == '+' || c == ' ' || c == '#' || c == '0'; }

/* Read a conversion after its %, up to but without the letter. */
static const char *read_spec(Thread *t, const char *format, u64 *next, Spec *s) {
  i32 width;
  s->used = 0, s->precision = -1, s->wide = 0;
  add(s, '%');
  while (is_flag(*format)) add(s, *format++);
  if (*format == '*' || (*format >= '1' && *format <= '9')) add_field(t, s, &format, next, &width);
  if (*format == '.') {
    add(s, *format++);
    add_field(t, s, &format, next, &s->precision);
  }
  for (; *format == 'l' || *format == 'h' || *format == 'j' || *format == 'z' || *format == 't'; format++)
    if (*format != 'h') s->wide = 1;
  return format;
}

static void put_conversion(Thread *t, Spec *s, char letter, u64 *next) {
  char piece[PIECE];
  i32 size = 0;
  if (letter == '%') return put(t->launch, "%", 1);
  if (letter == 's') return put_string(t, argument(t, next, 8), s->precision);
  if (letter == 'd' || letter == 'i' || letter == 'u' || letter == 'o' || letter == 'x' || letter == 'X') {
    u64 value = argument(t, next, s->wide ? 8 : 4);
    if (!s->wide && (letter == 'd' || letter == 'i')) value = (u64)(i64)(i32)value;
    s->text[s->used++] = 'l', s->text[s->used++] = 'l', s->text[s->used++] = letter, s->text[s->used] = 0;
    size = snprintf(piece, PIECE, s->text, value);
  } else if (letter == 'c') {
    s->text[s->used++] = letter, s->text[s->used] = 0;
    size = snprintf(piece, PIECE, s->text, (i32)argument(t, next, 4));
  } else if (letter == 'p') {
    size = snprintf(piece, PIECE, "0x%llx", argument(t, next, 8));
  } else {
    union { u64 bits; double value; } number = {argument(t, next, 8)};
    s->text[s->used++] = letter, s->text[s->used] = 0;
    size = snprintf(piece, PIECE, s->text, number.value);
  }
  put(t->launch, piece, size < PIECE ? (u64)size : PIECE - 1);
}

static int is_letter(char c) {
  for (const char *p = "diouxXcspeEfFgGaA%"; *p; p++)
    if (*p == c) return 1;
  return 0;
}

/* vprintf(format, arguments): the number of conversions, as CUDA's. */
i32 rt_vprintf(Thread *t, u64 format_address, u64 next) {
  u64 end = rt_readable(t, format_address), size = 0;
  while (format_address + size < end && ((u8 *)format_address)[size]) size++;
  if (format_address + size >= end) rt_fault(t, ILLEGAL_ADDRESS, format_address, 1, 0);
  const char *format = (const char *)format_address;
  i32 count = 0;
  if (t->launch->out_used >= t->launch->out_capacity) t->launch->out_lost++;
  while (*format) {
    const char *text = format;
    while (*format && *format != '%') format++;
    if (format > text) put(t->launch, text, (u64)(format - text));
    if (!*format) break;
    Spec spec;
    format = read_spec(t, format + 1, &next, &spec);
    if (!is_letter(*format)) break;
    put_conversion(t, &spec, *format++, &next);
    count++;
  }
  return count;
}

static void put_place(Launch *l, const char *name, const u32 *where) {
  put(l, name, name[0] == 'b' ? 8 : 9);
  for (int i = 0; i < 3; i++) {
    put_number(l, where[i]);
    put(l, i < 2 ? "," : "]", 1);
  }
}

__attribute__((noreturn)) void rt_assertfail(Thread *t, u64 message, u64 file, u32 line, u64 function, u32 site) {
  Launch *l = t->launch;
  put_string(t, file, -1);
  put(l, ":", 1);
  put_number(l, line);
  put(l, ": ", 2);
  put_string(t, function, -1);
  put(l, ": ", 2);
  put_place(l, "block: [", t->ctaid);
  put(l, ", ", 2);
  put_place(l, "thread: [", t->tid);
  put(l, " Assertion `", 12);
  put_string(t, message, -1);
  put(l, "` failed.\n", 10);
  rt_fault(t, ASSERTION, 0, 0, site);
}
