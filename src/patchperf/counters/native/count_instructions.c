/* A TCG plugin for QEMU's user mode that counts the instructions between two marks, over all threads of the process.
 *
 * A mark is a system call whose number no kernel uses (argument mark=NUMBER): outside of the emulator it only fails.
 * Its first argument is 1 where the region begins and 2 where it ends. At each end one line is appended to the file
 * out=PATH: "<process> <instructions> <processes started> <whether there were threads>".
 *
 * While the process has one thread, blocks add to a plain counter inline; before the second one starts, the emulator
 * translates everything anew for parallel execution, and blocks then add atomically.
 *
 * The few functions of the plugin interface that are used are declared here: distributions do not ship its header.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PLUGIN_API
#define PLUGIN_API 1
#endif

#define EXPORTED __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
enum { NO_REGISTERS = 0, ADD_U64 = 0 };

typedef void (*translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_t)(unsigned vcpu, void *data);
typedef void (*syscall_t)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t, uint64_t);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_t, int registers, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed_t, int registers, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, syscall_t);
#if PLUGIN_API == 1
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int operation, void *counter, uint64_t add);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int operation, void *counter, uint64_t add);
#endif

EXPORTED int qemu_plugin_version = PLUGIN_API;

#if defined(__x86_64__)
enum { CLONE = 56, FORK = 57, VFORK = 58 };
#else
#error "the numbers of fork, vfork and clone are only known for x86_64"
#endif
#define CLONE_THREAD 0x10000u
#define PAGE 4096u
#define LONGEST_INSTRUCTION 15u

static uint64_t executed, at_begin, started, started_at_begin;
static int threaded, inside;
static int64_t mark;
static char out[4096];

static void add(unsigned vcpu, void *instructions)
{
    (void)vcpu;
    __atomic_fetch_add(&executed, (uint64_t)(uintptr_t)instructions, __ATOMIC_RELAXED);
}

/* The last instruction of a block, where it may lie across two pages. Such a one begins a block of its own; the emulator
 * notices after it has told us of it as part of the block before, and then takes back what it translated of it. */
static struct qemu_plugin_insn *doubtful(const struct qemu_plugin_tb *block)
{
    size_t told = qemu_plugin_tb_n_insns(block);
    struct qemu_plugin_insn *last = told > 1 ? qemu_plugin_tb_get_insn(block, told - 1) : NULL;
    return last && qemu_plugin_insn_vaddr(last) % PAGE > PAGE - LONGEST_INSTRUCTION ? last : NULL;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    struct qemu_plugin_insn *last = doubtful(block);
    uint64_t instructions = qemu_plugin_tb_n_insns(block) - (last != NULL);
    (void)id;
#if PLUGIN_API == 1
    if (!__atomic_load_n(&threaded, __ATOMIC_ACQUIRE)) {
        qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed, instructions);
        if (last)
            qemu_plugin_register_vcpu_insn_exec_inline(last, ADD_U64, &executed, 1);
        return;
    }
#endif
    qemu_plugin_register_vcpu_tb_exec_cb(block, add, NO_REGISTERS, (void *)(uintptr_t)instructions);
    if (last)
        qemu_plugin_register_vcpu_insn_exec_cb(last, add, NO_REGISTERS, (void *)(uintptr_t)1);
}

static void report(uint64_t instructions)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%ld %llu %llu %d\n", (long)getpid(), (unsigned long long)instructions,
                          (unsigned long long)(started - started_at_begin), threaded);
    int file = open(out, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length)
        (void)ftruncate(file, 0);
    close(file);
}

static void on_syscall(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t first, uint64_t a2, uint64_t a3,
                       uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)vcpu, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number == mark && first == 1) {
        started_at_begin = __atomic_load_n(&started, __ATOMIC_RELAXED);
        at_begin = __atomic_load_n(&executed, __ATOMIC_RELAXED);
        inside = 1;
    } else if (number == mark && first == 2 && inside) {
        inside = 0;
        report(__atomic_load_n(&executed, __ATOMIC_RELAXED) - at_begin);
    } else if (number == CLONE && (first & CLONE_THREAD)) {
        __atomic_store_n(&threaded, 1, __ATOMIC_RELEASE);
    } else if (number == CLONE || number == FORK || number == VFORK) {
        __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    }
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4))
            snprintf(out, sizeof out, "%s", argv[i] + 4);
        else if (!strncmp(argv[i], "mark=", 5))
            mark = strtoll(argv[i] + 5, NULL, 10);
    }
    if (!out[0] || !mark) {
        fprintf(stderr, "count_instructions: needs mark=NUMBER and out=PATH\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    return 0;
}
