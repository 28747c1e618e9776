/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a storage device takes for a request; arithmetic only: no kernel, no clock, no data. The same file is compiled
 * into the driver timed_disk and into a user-space test (lab/kernel/tests/timed_disk_test.c).
 *
 * A device has slots for requests in service and one bus for their data. A write is programmed into the medium at once,
 * or, if the device has a cache, with the next flush; what does not fit into the cache is programmed meanwhile.
 * Programming costs time for each KiB, and
 *  - in flash, more if the write does not go on where the one before in its allocation unit ended, and more still if the
 *    unit is none of those that the device has open (it merges blocks then);
 *  - on a disk, a seek that grows with the root of the distance, and the wait until the sector comes round.
 * Reads of flash cost the same wherever they are.
 *
 * Time is an argument and never decreases. There are no random numbers: the same calls have the same outcome.
 *
 * Sources: the JEDEC and SD Association's terms (allocation unit, cache, FUA); Kim, Agrawal and Ungureanu, Revisiting
 * Storage for Smartphones, FAST 2012 (sequential and random writes differ by a factor of 3 to 1500); Ruemmler and
 * Wilkes, An Introduction to Disk Drive Modeling, IEEE Computer 27(3), 1994 (seeks and rotation).
 */
#ifndef AIRBOUND_TIMED_DISK_MODEL_H
#define AIRBOUND_TIMED_DISK_MODEL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define TIMED_DISK_DEPTH_MAX	32
#define TIMED_DISK_UNITS_MAX	16

enum timed_disk_op {
	TIMED_DISK_READ,
	TIMED_DISK_WRITE,
	TIMED_DISK_FLUSH,
	TIMED_DISK_DISCARD,
};

struct timed_disk_times {
	u32 depth;		/* requests in service at a time, 1 to TIMED_DISK_DEPTH_MAX */
	u32 cache_kib;		/* volatile; 0: every write is programmed before it ends */
	u64 read_ns;		/* of a request, before its data */
	u64 write_ns;
	u64 flush_ns;		/* beside what is programmed */
	u64 discard_ns;
	u64 read_kib_ns;	/* of each KiB on the bus */
	u64 write_kib_ns;
	u64 program_kib_ns;	/* of each KiB into the medium */
	/* flash */
	u64 jump_ns;		/* a write that does not go on in its unit */
	u64 open_ns;		/* a write to a unit that is not open */
	u32 unit_kib;		/* 0: no flash */
	u32 open_units;		/* at most TIMED_DISK_UNITS_MAX */
	/* a disk */
	u32 track_kib;		/* 0: no disk */
	u64 turn_ns;
	u64 seek_ns;		/* to the next track */
	u64 seek_most_ns;	/* over the whole disk */
	u64 sectors;		/* of the whole device, of 512 bytes */
};

struct timed_disk_unit {
	u64 unit;
	u64 next_sector;
	u64 used;		/* when it was written last, as a count of writes; 0: never */
};

struct timed_disk_model {
	struct timed_disk_times times;
	u64 slot_free_ns[TIMED_DISK_DEPTH_MAX];
	u64 bus_free_ns;
	u64 medium_free_ns;	/* a disk has one arm */
	u64 cached_kib;
	u64 owed_ns;		/* what programming the cache will take */
	u64 writes;
	u64 head_sector;	/* where the arm is, or the last write ended */
	struct timed_disk_unit units[TIMED_DISK_UNITS_MAX];
};

/* False if the times make no device. */
bool timed_disk_init(struct timed_disk_model *model, const struct timed_disk_times *times);

/* Returns when the request ends. FORCED: the write is in the medium then (FUA). */
u64 timed_disk_serve(struct timed_disk_model *model, u64 now_ns, enum timed_disk_op op, u64 sector, u32 sectors,
		     bool forced);

/* The device has lost power: nothing is in service, and the cache is empty. */
void timed_disk_restart(struct timed_disk_model *model);

#endif
