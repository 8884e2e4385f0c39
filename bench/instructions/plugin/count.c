#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>

/* What is used of QEMU's interface for plugins, version 1. */
typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op, void *ptr, uint64_t imm);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *), void *userdata);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

struct block { uint64_t pc, n, runs; struct block *next; };
static struct block *blocks;
static FILE *out;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  struct block *b = calloc(1, sizeof *b);
  b->pc = qemu_plugin_tb_vaddr(tb);
  b->n = qemu_plugin_tb_n_insns(tb);
  b->next = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&blocks, &b->next, b, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    ;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &b->runs, 1);
}

static void ended(qemu_plugin_id_t id, void *unused) {
  for (struct block *b = blocks; b; b = b->next)
    if (b->runs)
      fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", b->pc, b->n, b->runs);
  fclose(out);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
  if (argc != 1 || !(out = fopen(argv[0] + 4, "w"))) /* out=FILE */
    return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
