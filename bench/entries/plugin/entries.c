/* A plugin for QEMU's emulators of user space. It counts how often given addresses are executed, and each direct call
 * and jump of a range of code. Arguments: lo=HEX, hi=HEX (the range), entries=FILE (addresses in hexadecimal, one a
 * line, in order), out=FILE. It writes lines "e ADDRESS RUNS", "c ADDRESS TARGET RUNS" and "j ADDRESS TARGET RUNS"; an
 * address that was translated more than once has several. One thread at a time may run the code: adding is not atomic.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is used of QEMU's interface for plugins, version 1. */
typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *ptr,
                                                uint64_t imm);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *), void *userdata);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

struct counter { char kind; uint64_t pc, target, runs; struct counter *next; };
static struct counter *counters;
static uint64_t lo, hi, *entries;
static size_t n_entries;
static FILE *out;

static void count(struct qemu_plugin_insn *insn, char kind, uint64_t pc, uint64_t target) {
  struct counter *c = calloc(1, sizeof *c);
  c->kind = kind;
  c->pc = pc;
  c->target = target;
  c->next = __atomic_load_n(&counters, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&counters, &c->next, c, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
  qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &c->runs, 1);
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* branch counts a call or a jump to a fixed place. */
static void branch(struct qemu_plugin_insn *insn, uint64_t pc) {
  const unsigned char *code = qemu_plugin_insn_data(insn);
  size_t size = qemu_plugin_insn_size(insn), i = 0;
  int32_t far;
  while (i < size && (code[i] == 0x66 || (code[i] & 0xf0) == 0x40))
    i++;
  if (i + 5 == size && (code[i] == 0xe8 || code[i] == 0xe9)) {
    memcpy(&far, code + i + 1, 4);
    count(insn, code[i] == 0xe8 ? 'c' : 'j', pc, pc + size + (int64_t)far);
  } else if (i + 2 == size && code[i] == 0xeb) {
    count(insn, 'j', pc, pc + size + (int64_t)(signed char)code[i + 1]);
  }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  size_t n = qemu_plugin_tb_n_insns(tb);
  for (size_t i = 0; i < n; i++) {
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
    uint64_t pc = qemu_plugin_insn_vaddr(insn);
    if (pc < lo || pc >= hi)
      continue;
    if (bsearch(&pc, entries, n_entries, sizeof pc, compare))
      count(insn, 'e', pc, 0);
    branch(insn, pc);
  }
}

static void ended(qemu_plugin_id_t id, void *unused) {
  for (struct counter *c = counters; c; c = c->next) {
    if (c->runs && c->kind == 'e')
      fprintf(out, "e %" PRIx64 " %" PRIu64 "\n", c->pc, c->runs);
    else if (c->runs)
      fprintf(out, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", c->kind, c->pc, c->target, c->runs);
  }
  fclose(out);
}

static int read_entries(const char *name) {
  FILE *f = fopen(name, "r");
  size_t room = 0;
  uint64_t pc;
  if (!f)
    return -1;
  while (fscanf(f, "%" SCNx64, &pc) == 1) {
    if (n_entries == room) {
      room = 2 * room + 1024;
      entries = realloc(entries, room * sizeof *entries);
    }
    entries[n_entries++] = pc;
  }
  fclose(f);
  return 0;
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                                               char **argv) {
  for (int i = 0; i < argc; i++) {
    if (!strncmp(argv[i], "lo=", 3))
      lo = strtoull(argv[i] + 3, NULL, 16);
    else if (!strncmp(argv[i], "hi=", 3))
      hi = strtoull(argv[i] + 3, NULL, 16);
    else if (!strncmp(argv[i], "entries=", 8) && read_entries(argv[i] + 8) != 0)
      return -1;
    else if (!strncmp(argv[i], "out=", 4) && !(out = fopen(argv[i] + 4, "w")))
      return -1;
  }
  if (!out)
    return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
