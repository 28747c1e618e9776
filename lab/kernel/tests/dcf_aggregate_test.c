// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test of dcf_aggregate.c in user space: what goes into an A-MPDU, in which order missing MPDUs are sent again, what is
 * given up.
 *
 *	dcf_aggregate_test check
 *	dcf_aggregate_test fuzz STEPS SEED
 *		queues of several streams, random losses: each stream's MPDUs are sent in order within a window of 64, none
 *		twice in a PPDU, each ends once, after 30 attempts at most; the receiver gets all others in order
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcf_aggregate.h"

#define MPDUS		256
#define MPDU_BYTES	1536U
#define UNLIMITED	(~0U)
#define NO_RTS		(~0U)

static int checks, failures;
static bool quiet;

static void expect(bool condition, const char *what)
{
	checks++;
	if (!condition)
		failures++;
	if (!quiet || !condition)
		printf("%s %d - %s\n", condition ? "ok" : "not ok", checks, what);
}

static struct dcf_mpdu mpdus[MPDUS];

static struct dcf_mpdu *mpdu(u32 i, u8 station, u16 sequence_number)
{
	struct dcf_mpdu *m = &mpdus[i];

	*m = (struct dcf_mpdu){ .bytes = MPDU_BYTES, .in_session = true, .sequence_number = sequence_number,
				.receiver = { 2, station }, .transmitter = { 2 } };
	return m;
}

/* A queue of @count MPDUs for station 1 from sequence number @first on. */
static void fill_queue(struct list_head *queue, u32 count, u16 first)
{
	u32 i;

	INIT_LIST_HEAD(queue);
	for (i = 0; i < count; i++)
		list_add_tail(&mpdu(i, 1, (first + i) % 4096)->list, queue);
}

static struct dcf_rate mcs(u8 format, u8 index, u8 width_mhz)
{
	return (struct dcf_rate){ .tries = 4, .format = format, .mcs = index, .streams = 1, .width_mhz = width_mhz };
}

/* The head of the queue and what may be sent with it, as hwsim_dcf_queue.c offers them. */
static void begin(struct dcf_aggregate *a, struct list_head *queue, struct dcf_rate rate, u32 psdu_bytes_max)
{
	const struct dcf_mpdu *head = list_first_entry(queue, struct dcf_mpdu, list);

	memset(a, 0, sizeof(*a));
	INIT_LIST_HEAD(&a->mpdus);
	a->frame.chain[0] = rate;
	a->frame.chain_length = 1;
	a->frame.ack_expected = true;
	a->psdu_bytes_max = psdu_bytes_max;
	list_move_tail(queue->next, &a->mpdus);
	if (head->in_session && !head->alone)
		dcf_aggregate_fill(a, queue);
	else
		dcf_aggregate_single(a);
}

/* The sequence numbers of a list, as text; of station 2 with a quote. */
static const char *numbers(const struct list_head *list)
{
	static char text[MPDUS * 8];
	struct dcf_mpdu *m;
	size_t length = 0;

	text[0] = 0;
	list_for_each_entry(m, list, list)
		length += snprintf(text + length, sizeof(text) - length, "%s%u%s", length ? " " : "",
				   (unsigned int)m->sequence_number, m->receiver[1] == 2 ? "'" : "");
	return text;
}

static void expect_numbers(const struct list_head *list, const char *expected, const char *what)
{
	const char *found = numbers(list);

	expect(!strcmp(found, expected), what);
	if (strcmp(found, expected))
		printf("#   found %s, expected %s\n", found, expected);
}

static void check_limits(void)
{
	const struct dcf_rate slow = mcs(DCF_HT, 0, 20), fast = mcs(DCF_VHT, 9, 80);
	struct list_head queue;
	struct dcf_aggregate a;

	fill_queue(&queue, 100, 0);
	begin(&a, &queue, fast, UNLIMITED);
	expect(a.frame.mpdus == 64 && a.frame.bytes == 64 * (4 + MPDU_BYTES), "64 MPDUs at most, each with a delimiter");
	fill_queue(&queue, 100, 0);
	begin(&a, &queue, mcs(DCF_HT, 7, 20), 65535);
	expect(a.frame.mpdus == 42 && a.frame.bytes == 42 * (4 + MPDU_BYTES), "65,535 bytes: 42 of 1540");
	fill_queue(&queue, 100, 0);
	begin(&a, &queue, slow, dcf_psdu_limit_bytes(&slow, DCF_PPDU_MAX_NS));
	/* 5484 us: 1362 symbols of 26 bits, 4423 bytes */
	expect(a.frame.mpdus == 2, "5.484 ms at 6.5 Mb/s: two, where three would be 4620 bytes");
	fill_queue(&queue, 2, 0);
	begin(&a, &queue, slow, 100);
	expect(a.frame.mpdus == 1, "the first is sent whatever the limit");
	expect_numbers(&queue, "1", "the others wait");
}

static void check_window(void)
{
	struct list_head queue;
	struct dcf_aggregate a;
	u32 i;

	INIT_LIST_HEAD(&queue);
	list_add_tail(&mpdu(0, 1, 4090)->list, &queue);
	for (i = 1; i < 20; i++)
		list_add_tail(&mpdu(i, 1, (4090 + 50 + i) % 4096)->list, &queue);
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect_numbers(&a.mpdus, "4090 45 46 47 48 49 50 51 52 53 54 55 56 57",
		       "none is 64 or more behind the first, which the receiver's window begins with; after 4095 comes 0");
	expect(queue.next != &queue && list_first_entry(&queue, struct dcf_mpdu, list)->sequence_number == 58,
	       "the first that is waits");
}

static void check_streams(void)
{
	struct list_head queue;
	struct dcf_aggregate a;

	INIT_LIST_HEAD(&queue);
	list_add_tail(&mpdu(0, 1, 7)->list, &queue);
	list_add_tail(&mpdu(1, 2, 100)->list, &queue);
	list_add_tail(&mpdu(2, 1, 8)->list, &queue);
	list_add_tail(&mpdu(3, 1, 30)->list, &queue);
	list_add_tail(&mpdu(4, 1, 9)->list, &queue);
	list_add_tail(&mpdu(5, 1, 10)->list, &queue);
	list_add_tail(&mpdu(6, 1, 11)->list, &queue);
	mpdus[3].tid = 5;
	mpdus[4].in_session = false;
	mpdus[5].alone = true;
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect_numbers(&a.mpdus, "7 8", "an A-MPDU has one receiver and traffic identifier, and no frame outside the session");
	expect_numbers(&queue, "100' 30 9 10 11",
		       "one that tries a rate out goes alone, and what comes after it does not overtake it");
}

static void check_joining(void)
{
	const struct dcf_rate rate = mcs(DCF_HT, 7, 20);
	struct list_head queue;
	struct dcf_aggregate a;
	struct dcf_frame frame;

	fill_queue(&queue, 2, 0);
	begin(&a, &queue, rate, 4 * (4 + MPDU_BYTES));
	expect(dcf_aggregate_extend(&a, &queue, mpdu(10, 1, 2)) && a.frame.mpdus == 3, "what comes later is added");
	list_add_tail(&mpdus[10].list, &a.mpdus);
	expect(!dcf_aggregate_extend(&a, &queue, mpdu(11, 2, 3)) && a.frame.mpdus == 3, "if it is of the same stream");
	mpdu(11, 1, 3)->transmitter[1] = 9;
	expect(!dcf_aggregate_extend(&a, &queue, &mpdus[11]), "from the same interface");
	expect(!dcf_aggregate_extend(&a, &queue, mpdu(11, 1, 64)), "and within the window");
	list_add_tail(&mpdu(12, 1, 3)->list, &queue);
	expect(!dcf_aggregate_extend(&a, &queue, mpdu(11, 1, 4)), "and none of its stream waits before it");
	list_del(&mpdus[12].list);
	expect(dcf_aggregate_extend(&a, &queue, mpdu(11, 1, 3)) && !dcf_aggregate_extend(&a, &queue, mpdu(12, 1, 4)),
	       "and there is room");

	fill_queue(&queue, 1, 0);
	begin(&a, &queue, rate, UNLIMITED);
	frame = dcf_aggregate_on_air(&a, NO_RTS);
	expect(!frame.mpdus && frame.bytes == MPDU_BYTES && !frame.chain[0].rts, "one MPDU is no A-MPDU on air");
	expect(dcf_aggregate_on_air(&a, MPDU_BYTES - 1).chain[0].rts &&
	       !dcf_aggregate_on_air(&a, MPDU_BYTES).chain[0].rts,
	       "a PSDU that is longer than the threshold begins with RTS");
	a.frame.ack_expected = false;
	expect(!dcf_aggregate_on_air(&a, 0).chain[0].rts, "if somebody answers");
	a.frame.ack_expected = true;
	expect(dcf_aggregate_extend(&a, &queue, mpdu(10, 1, 1)), "one MPDU may become an A-MPDU");
	fill_queue(&queue, 1, 0);
	begin(&a, &queue, mcs(DCF_VHT, 7, 20), UNLIMITED);
	frame = dcf_aggregate_on_air(&a, NO_RTS);
	expect(!frame.mpdus && frame.bytes == 4 + MPDU_BYTES, "of VHT it keeps its delimiter");

	fill_queue(&queue, 1, 0);
	mpdus[0].alone = true;
	begin(&a, &queue, rate, UNLIMITED);
	expect(a.frame.bytes == MPDU_BYTES && !dcf_aggregate_extend(&a, &queue, mpdu(10, 1, 2)),
	       "what tries a rate out is not joined");
}

static void check_losses(void)
{
	struct list_head queue;
	struct dcf_aggregate a;
	u32 i;

	INIT_LIST_HEAD(&queue);
	list_add_tail(&mpdu(0, 1, 0)->list, &queue);
	for (i = 1; i < 6; i++)
		list_add_tail(&mpdu(i, 1, i)->list, &queue);
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	/* these came meanwhile */
	list_add_tail(&mpdu(10, 2, 50)->list, &queue);
	list_add_tail(&mpdu(11, 1, 6)->list, &queue);
	list_add_tail(&mpdu(12, 2, 51)->list, &queue);
	expect(dcf_aggregate_end(&a, 0x29, 1, 30, &queue) == 3 && a.sent == 6 && a.acked == 3, "three of six are heard");
	expect_numbers(&a.mpdus, "0 3 5", "which end");
	expect_numbers(&queue, "50' 1 2 4 6 51'", "the missing ones go before what waits of their stream, in order");
	expect(mpdus[0].heard && !mpdus[1].heard && mpdus[1].tries == 1, "and have been tried once");

	fill_queue(&queue, 2, 0);
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect(dcf_aggregate_end(&a, 2, 1, 30, &queue) == 1, "if nothing of their stream waits");
	expect_numbers(&queue, "0", "they wait alone");
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect(!dcf_aggregate_end(&a, 0, 28, 30, &queue) && mpdus[0].tries == 29, "the attempts of a chain count each");
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect(dcf_aggregate_end(&a, 0, 1, 30, &queue) == 1 && a.acked == 0, "after 30 an MPDU is given up");
	expect_numbers(&a.mpdus, "0", "and ends, without having been heard");
	expect(!mpdus[0].heard && queue.next == &queue, "which its status says");
	fill_queue(&queue, 1, 0);
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect(dcf_aggregate_end(&a, 1, 30, 30, &queue) == 1 && mpdus[0].heard, "not if the last attempt was heard");

	fill_queue(&queue, 1, 0);
	mpdus[0].alone = true;
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	dcf_aggregate_end(&a, 0, 1, 30, &queue);
	expect(!mpdus[0].alone, "one that tried a rate out is sent with others after that");
	fill_queue(&queue, 1, 0);
	mpdus[0].in_session = false;
	begin(&a, &queue, mcs(DCF_VHT, 9, 80), UNLIMITED);
	expect(dcf_aggregate_end(&a, 0, 1, 30, &queue) == 1, "outside a session the end of the chain is the end");
}

#define STREAMS		3

/* A queue as hwsim_dcf_queue.c has it, and a receiver for each stream. */
struct fuzz {
	u64 random;
	struct list_head queue, free;
	u16 next_number[STREAMS];	/* of the next MPDU to come */
	u16 window_start[STREAMS];	/* the first that the receiver neither has nor was told to skip */
	bool received[STREAMS][4096];
	u64 came, ended, given_up;
	u32 waiting;
};

static u32 fuzz_below(struct fuzz *z, u32 bound)
{
	z->random = z->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((z->random >> 33) % bound);
}

static struct dcf_mpdu *fuzz_new(struct fuzz *z)
{
	u32 stream = fuzz_below(z, STREAMS);
	struct dcf_mpdu *m;

	if (z->free.next == &z->free || (u16)((z->next_number[stream] - z->window_start[stream]) & 4095) > 1000)
		return NULL;
	m = list_first_entry(&z->free, struct dcf_mpdu, list);
	list_del(&m->list);
	*m = (struct dcf_mpdu){ .bytes = 40 + fuzz_below(z, 1500), .in_session = true, .tid = stream,
				.alone = fuzz_below(z, 20) == 0, .sequence_number = z->next_number[stream] };
	z->next_number[stream] = (z->next_number[stream] + 1) % 4096;
	z->came++;
	z->waiting++;
	return m;
}

/* What the receiver has of a stream up to the first gap is no part of its window any more. */
static void fuzz_move_window(struct fuzz *z, u8 tid)
{
	while (z->received[tid][z->window_start[tid]]) {
		z->received[tid][z->window_start[tid]] = false;
		z->window_start[tid] = (z->window_start[tid] + 1) % 4096;
	}
}

static void fuzz_end(struct fuzz *z, struct dcf_aggregate *a, u64 heard)
{
	struct dcf_mpdu *m, *next;

	z->waiting -= dcf_aggregate_end(a, heard, 1 + fuzz_below(z, 4), DCF_MPDU_TRIES_MAX, &z->queue);
	list_for_each_entry_safe(m, next, &a->mpdus, list) {
		expect(!z->received[m->tid][m->sequence_number], "no MPDU ends twice");
		expect(m->heard || m->tries >= DCF_MPDU_TRIES_MAX, "given up is what has been tried 30 times");
		z->given_up += !m->heard;
		z->received[m->tid][m->sequence_number] = true;	/* or skipped, by a BlockAckReq */
		fuzz_move_window(z, m->tid);
		z->ended++;
		list_move_tail(&m->list, &z->free);
	}
}

static void fuzz_ppdu(struct fuzz *z)
{
	struct dcf_aggregate a;
	struct dcf_mpdu *m;
	u32 loss = fuzz_below(z, 101), expected_bytes = 0, first, before, behind, sent = 0;
	u64 heard = 0;

	if (z->queue.next == &z->queue)
		return;
	begin(&a, &z->queue, mcs(fuzz_below(z, 2) ? DCF_HT : DCF_VHT, 7, 20), 4000 + fuzz_below(z, 60000));
	while (fuzz_below(z, 3)) {
		m = fuzz_new(z);
		if (!m)
			break;
		list_add_tail(&m->list, dcf_aggregate_extend(&a, &z->queue, m) ? &a.mpdus : &z->queue);
	}
	m = list_first_entry(&a.mpdus, struct dcf_mpdu, list);
	first = m->sequence_number;
	expect(first == z->window_start[m->tid], "the first of an A-MPDU is where the receiver's window begins");
	before = 0;
	list_for_each_entry(m, &a.mpdus, list) {
		behind = (m->sequence_number - first) & 4095;
		expect(behind < DCF_MPDUS_MAX && (!sent || behind > before), "in order, within the window");
		expect(m->tid == list_first_entry(&a.mpdus, struct dcf_mpdu, list)->tid, "of one stream");
		expect(!a.frame.mpdus || a.frame.mpdu_bytes[sent] == m->bytes, "the frame has the lengths of its MPDUs");
		before = behind;
		expected_bytes = ((expected_bytes + 3) & ~3U) + DCF_DELIMITER_BYTES + m->bytes;
		expect(!m->alone || !a.frame.mpdus, "a frame that tries a rate out is in no A-MPDU");
		if (fuzz_below(z, 100) >= loss)
			heard |= 1ULL << sent;
		sent++;
	}
	if (a.frame.chain[0].format == DCF_VHT)
		expected_bytes = (expected_bytes + 3) & ~3U;
	if (!a.frame.mpdus && a.frame.chain[0].format != DCF_VHT)
		expected_bytes -= DCF_DELIMITER_BYTES;
	expect(sent == (a.frame.mpdus ? a.frame.mpdus : 1U) && a.frame.bytes == expected_bytes, "and their sum");
	expect(sent == 1 || a.frame.bytes <= a.psdu_bytes_max, "which is within the limit");
	fuzz_end(z, &a, heard);
}

static int fuzz(u64 steps, u64 seed)
{
	static struct fuzz z;
	struct dcf_mpdu *m;
	u32 i, waiting;

	quiet = true;
	z.random = seed;
	INIT_LIST_HEAD(&z.queue);
	INIT_LIST_HEAD(&z.free);
	for (i = 0; i < MPDUS; i++)
		list_add_tail(&mpdus[i].list, &z.free);
	while (steps--) {
		m = fuzz_below(&z, 4) ? fuzz_new(&z) : NULL;
		if (m)
			list_add_tail(&m->list, &z.queue);
		if (!fuzz_below(&z, 10))
			fuzz_ppdu(&z);
		waiting = 0;
		list_for_each_entry(m, &z.queue, list)
			waiting++;
		expect(waiting == z.waiting && z.came == z.ended + waiting, "no MPDU is lost");
	}
	for (i = 0; i < 100000 && z.queue.next != &z.queue; i++)
		fuzz_ppdu(&z);
	expect(z.queue.next == &z.queue, "each ends");
	printf("%d checks, %llu MPDUs, %llu given up, %d failures\n", checks, (unsigned long long)z.ended,
	       (unsigned long long)z.given_up, failures);
	return failures != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "fuzz"))
		return fuzz(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	if (argc != 2 || strcmp(argv[1], "check")) {
		fprintf(stderr, "usage: %s check | fuzz STEPS SEED\n", argv[0]);
		return 2;
	}
	check_limits();
	check_window();
	check_streams();
	check_joining();
	check_losses();
	printf("1..%d\n", checks);
	return failures != 0;
}
