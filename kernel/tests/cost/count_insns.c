// SPDX-License-Identifier: GPL-2.0
/* A plugin for qemu's TCG that counts the instructions which a guest with one
 * processor executes in its kernel, separately for a TCP sender and the rest.
 *
 *	-plugin count_insns.so,out=FILE,hooks=FILE
 *
 * It counts between two marks in user space. A mark is a nop that compilers do
 * not generate: nopw (MARK | phase)(%rax,%rax); a phase of 0 ends the count.
 *
 * Both ends of the connections are in one kernel. The owner of an instruction
 * is derived from the functions that run near it. The execution of the kernel
 * is divided into spans: a system call until the next one or the next task,
 * within it a softirq from one of its actions to the next, and within that a
 * received packet. A span belongs to the sender if it ran a function that only
 * a sender of data calls, unless it also ran a function of kind "other"; so
 * does the receive action around the sender's packets. All other spans belong
 * to the rest.
 *
 * Lines of hooks: KIND FIRST END, addresses of a function's first byte and of
 * the byte after its last one; KIND is "span" (starts another span of a task),
 * "softirq", "vector" (starts another span of a softirq), "packet", "sender" or
 * "other" (the owner).
 *
 * Lines of out for each phase:
 *	phase PHASE
 *	kernel ADDRESS INSTRUCTIONS SENDER OTHER	executions of a block
 *	end
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The used part of qemu-plugin.h, version 1, which Debian does not package. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*vcpu_udata_cb)(unsigned int vcpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
		void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
		vcpu_udata_cb cb, enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		vcpu_udata_cb cb, enum qemu_plugin_cb_flags flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info,
			       int argc, char **argv);

#define MARK		0xa1b00000u
#define MARK_MASK	0xffff0000u
#define KERNEL_BIT	(1ull << 63)
#define RET		0xc3

enum { SENDER, OTHER, OWNERS };
enum { TASK, SOFTIRQ, PACKET, DEPTHS };
enum kind { NONE, SPAN, VECTOR, IN_SOFTIRQ, IN_PACKET, FOR_SENDER, FOR_OTHER };

struct hook {
	enum kind	kind;
	uint64_t	first;
	uint64_t	end;
};

struct block {
	struct block	*next;
	uint64_t	address;
	uint64_t	instructions;
	enum kind	enters;		/* the function that it is the first block of */
	int		leaves;		/* depth that a ret at its end leaves */
	uint64_t	times[OWNERS];
	uint64_t	pending[DEPTHS];	/* in the open span of a depth */
};

struct span {
	struct block	**blocks;
	size_t		count;
	size_t		capacity;
	bool		sender;
	bool		other;
};

static struct hook hooks[64];
static size_t hook_count;
static struct block *blocks;
static struct span open_spans[DEPTHS];
static int depth;
static int leaving;	/* the previous block ended the span of this depth */
static unsigned long phase;
static FILE *out;

static void *fail(const char *what)
{
	fprintf(stderr, "count_insns: %s\n", what);
	exit(1);
}

static void close_span(int at)
{
	struct span *span = &open_spans[at];
	int owner = span->sender && !span->other ? SENDER : OTHER;
	size_t i;

	for (i = 0; i < span->count; i++) {
		span->blocks[i]->times[owner] += span->blocks[i]->pending[at];
		span->blocks[i]->pending[at] = 0;
	}
	span->count = 0;
	span->sender = false;
	span->other = false;
}

static void add_to_span(struct block *block)
{
	struct span *span = &open_spans[depth];

	if (!block->pending[depth]++) {
		if (span->count == span->capacity) {
			span->capacity = 2 * span->capacity + 1024;
			span->blocks = realloc(span->blocks,
					       span->capacity * sizeof(*span->blocks)) ?:
				       fail("no memory");
		}
		span->blocks[span->count++] = block;
	}
}

static void leave(void)
{
	bool sender = open_spans[leaving].sender;

	while (depth >= leaving)
		close_span(depth--);
	/* The softirq that received a packet has the packet's owner. */
	if (leaving == PACKET && sender && depth == SOFTIRQ)
		open_spans[SOFTIRQ].sender = true;
	else if (leaving == PACKET && depth == SOFTIRQ)
		open_spans[SOFTIRQ].other = true;
	leaving = 0;
}

static void enter(enum kind kind)
{
	switch (kind) {
	case SPAN:
		if (depth == TASK)
			close_span(TASK);
		break;
	case VECTOR:
		if (depth == SOFTIRQ)
			close_span(SOFTIRQ);
		break;
	case IN_SOFTIRQ:
		depth = SOFTIRQ;
		break;
	case IN_PACKET:
		if (depth == SOFTIRQ)
			depth = PACKET;
		break;
	case FOR_SENDER:
		open_spans[depth].sender = true;
		break;
	case FOR_OTHER:
		open_spans[depth].other = true;
		break;
	case NONE:
		break;
	}
}

static void block_runs(unsigned int vcpu, void *data)
{
	struct block *block = data;

	if (vcpu)
		fail("more than one processor");
	if (leaving)
		leave();
	enter(block->enters);
	if (phase)
		add_to_span(block);
	if (block->leaves && block->leaves <= depth)
		leaving = block->leaves;
}

static void write_counts(void)
{
	struct block *block;
	int at;

	for (at = 0; at < DEPTHS; at++)
		close_span(at);
	fprintf(out, "phase %lu\n", phase);
	for (block = blocks; block; block = block->next) {
		if (!block->times[SENDER] && !block->times[OTHER])
			continue;
		fprintf(out, "kernel %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			block->address, block->instructions,
			block->times[SENDER], block->times[OTHER]);
		block->times[SENDER] = 0;
		block->times[OTHER] = 0;
	}
	fprintf(out, "end\n");
	if (fflush(out))
		fail("cannot write the counts");
}

static void mark_runs(unsigned int vcpu, void *data)
{
	unsigned long next = (uintptr_t)data;

	(void)vcpu;
	if (phase && next)
		fail("a phase starts before the last one ended");
	if (phase)
		write_counts();
	phase = next;
}

/* The phase of a mark, -1 for any other instruction. */
static long phase_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nopw[] = { 0x0f, 0x1f, 0x84, 0x00 };
	const uint8_t *data = qemu_plugin_insn_data(insn);
	uint32_t mark;

	if (qemu_plugin_insn_size(insn) != sizeof(nopw) + sizeof(mark) ||
	    memcmp(data, nopw, sizeof(nopw)))
		return -1;
	memcpy(&mark, data + sizeof(nopw), sizeof(mark));
	return (mark & MARK_MASK) == MARK ? (long)(mark & ~MARK_MASK) : -1;
}

static bool ends_in_ret(const struct qemu_plugin_tb *tb)
{
	const struct qemu_plugin_insn *last;

	last = qemu_plugin_tb_get_insn(tb, qemu_plugin_tb_n_insns(tb) - 1);
	return *(const uint8_t *)qemu_plugin_insn_data(last) == RET;
}

static void hook_block(struct block *block, bool ret)
{
	const struct hook *hook;

	for (hook = hooks; hook < hooks + hook_count; hook++) {
		if (block->address == hook->first)
			block->enters = hook->kind;
		if (!ret || block->address < hook->first || block->address >= hook->end)
			continue;
		if (hook->kind == IN_SOFTIRQ)
			block->leaves = SOFTIRQ;
		if (hook->kind == IN_PACKET)
			block->leaves = PACKET;
	}
}

static void block_is_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	struct block *block;

	(void)id;
	for (i = 0; i < n && !(address & KERNEL_BIT); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		long marked = phase_of(insn);

		if (marked >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark_runs,
					QEMU_PLUGIN_CB_NO_REGS,
					(void *)(uintptr_t)marked);
	}
	if (!(address & KERNEL_BIT))
		return;
	block = calloc(1, sizeof(*block)) ?: fail("no memory");
	block->address = address;
	block->instructions = n;
	block->next = blocks;
	blocks = block;
	hook_block(block, ends_in_ret(tb));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_runs,
					     QEMU_PLUGIN_CB_NO_REGS, block);
}

static void read_hooks(const char *path)
{
	static const char *const names[] = {
		"", "span", "vector", "softirq", "packet", "sender", "other",
	};
	FILE *in = fopen(path, "r") ?: fail("cannot read the hooks");
	char name[16];
	struct hook *hook;

	for (;; hook_count++) {
		if (hook_count == sizeof(hooks) / sizeof(*hooks))
			fail("too many hooks");
		hook = &hooks[hook_count];
		if (fscanf(in, "%15s %" SCNx64 " %" SCNx64, name, &hook->first,
			   &hook->end) != 3)
			break;
		for (hook->kind = SPAN; strcmp(name, names[hook->kind]); hook->kind++)
			if (hook->kind == FOR_OTHER)
				fail("unknown kind of hook");
	}
	if (!feof(in) || !hook_count)
		fail("invalid hooks");
	fclose(in);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv)
{
	(void)info;
	if (argc != 2 || strncmp(argv[0], "out=", 4) || strncmp(argv[1], "hooks=", 6))
		fail("the arguments must be out=FILE,hooks=FILE");
	out = fopen(argv[0] + 4, "w") ?: fail("cannot write the output file");
	read_hooks(argv[1] + 6);
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_is_translated);
	return 0;
}
