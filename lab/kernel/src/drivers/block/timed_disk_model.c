// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a storage device takes for a request. The rules of this file are in timed_disk_model.h.
 *
 * Differs from devices in
 *  - allocation units that are written are never garbage that must be collected later: a device does not get slower;
 *  - a disk programs its cache write by write in the order in which they came, each after a seek and half a turn;
 *  - discards have no effect on later writes;
 *  - reads of what is in the cache cost as much as others.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "timed_disk_model.h"
#else
#include <string.h>
#include "timed_disk_model.h"
#define max(a, b)	((a) > (b) ? (a) : (b))
#define div64_u64(a, b)	((a) / (b))

static inline u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit = 1ULL << 62;

	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (u32)root;
}
#endif

#define SECTORS_PER_KIB	2
#define ROOT_SCALE	1024	/* of the root of a part of the disk */

bool timed_disk_init(struct timed_disk_model *model, const struct timed_disk_times *times)
{
	if (times->depth < 1 || times->depth > TIMED_DISK_DEPTH_MAX || !times->sectors)
		return false;
	if (times->unit_kib && (times->open_units < 1 || times->open_units > TIMED_DISK_UNITS_MAX))
		return false;
	if (times->track_kib && (!times->turn_ns || times->seek_most_ns < times->seek_ns || times->unit_kib))
		return false;
	memset(model, 0, sizeof(*model));
	model->times = *times;
	return true;
}

void timed_disk_restart(struct timed_disk_model *model)
{
	struct timed_disk_times times = model->times;

	timed_disk_init(model, &times);
}

static u64 kib_of(u32 sectors)
{
	return (sectors + SECTORS_PER_KIB - 1) / SECTORS_PER_KIB;
}

/* From one place of the disk to another: nothing within a track, then as the root of the distance. */
static u64 seek_ns(const struct timed_disk_times *t, u64 from, u64 to)
{
	u64 distance = from > to ? from - to : to - from;
	u64 part;

	if (distance < (u64)t->track_kib * SECTORS_PER_KIB)
		return 0;
	part = int_sqrt64(div64_u64(distance * ROOT_SCALE * ROOT_SCALE, t->sectors));
	return t->seek_ns + div64_u64((t->seek_most_ns - t->seek_ns) * part, ROOT_SCALE);
}

/* Until the sector is below the head at or after TIME_NS. */
static u64 turn_wait_ns(const struct timed_disk_times *t, u64 time_ns, u64 sector)
{
	u64 track_sectors = (u64)t->track_kib * SECTORS_PER_KIB;
	u64 at, wanted, in_track;

	div64_u64_rem(sector, track_sectors, &in_track);
	wanted = div64_u64(in_track * t->turn_ns, track_sectors);
	div64_u64_rem(time_ns, t->turn_ns, &at);
	return wanted >= at ? wanted - at : t->turn_ns - at + wanted;
}

/* What a write costs beside its data because of where it is, in flash. */
static u64 place_ns(struct timed_disk_model *model, u64 sector, u32 sectors)
{
	const struct timed_disk_times *t = &model->times;
	u64 unit = div64_u64(sector, (u64)t->unit_kib * SECTORS_PER_KIB);
	struct timed_disk_unit *oldest = &model->units[0];
	u64 cost = t->open_ns;
	u32 i;

	for (i = 0; i < t->open_units; i++) {
		struct timed_disk_unit *open = &model->units[i];

		if (open->used && open->unit == unit) {
			cost = open->next_sector == sector ? 0 : t->jump_ns;
			oldest = open;
			break;
		}
		if (open->used < oldest->used)
			oldest = open;
	}
	oldest->unit = unit;
	oldest->next_sector = sector + sectors;
	oldest->used = ++model->writes;
	return cost;
}

/* What programming a write takes that begins at TIME_NS; of a disk's cache: some time later. */
static u64 program_ns(struct timed_disk_model *model, u64 time_ns, u64 sector, u32 sectors, bool later)
{
	const struct timed_disk_times *t = &model->times;
	u64 cost = kib_of(sectors) * t->program_kib_ns;

	if (t->unit_kib) {
		cost += place_ns(model, sector, sectors);
	} else if (t->track_kib) {
		u64 seek = seek_ns(t, model->head_sector, sector);

		if (sector != model->head_sector)
			cost += seek + (later ? t->turn_ns / 2 : turn_wait_ns(t, time_ns + seek, sector));
		model->head_sector = sector + sectors;
	}
	return cost;
}

static u64 flush_cache_ns(struct timed_disk_model *model)
{
	u64 cost = model->owed_ns;

	model->owed_ns = 0;
	model->cached_kib = 0;
	return cost;
}

static u64 read_end_ns(struct timed_disk_model *model, u64 start_ns, u64 sector, u32 sectors)
{
	const struct timed_disk_times *t = &model->times;
	u64 ready_ns = start_ns + t->read_ns;

	if (t->track_kib) {
		ready_ns = max(ready_ns, model->medium_free_ns);
		if (sector != model->head_sector) {
			ready_ns += seek_ns(t, model->head_sector, sector);
			ready_ns += turn_wait_ns(t, ready_ns, sector);
		}
		model->head_sector = sector + sectors;
	}
	ready_ns = max(ready_ns, model->bus_free_ns);
	model->bus_free_ns = ready_ns + kib_of(sectors) * t->read_kib_ns;
	if (t->track_kib)
		model->medium_free_ns = model->bus_free_ns;
	return model->bus_free_ns;
}

static u64 write_end_ns(struct timed_disk_model *model, u64 start_ns, u64 sector, u32 sectors, bool forced)
{
	const struct timed_disk_times *t = &model->times;
	u64 end_ns = max(start_ns + t->write_ns, model->bus_free_ns) + kib_of(sectors) * t->write_kib_ns;
	bool cached = t->cache_kib && !forced;

	model->bus_free_ns = end_ns;
	if (cached && model->cached_kib + kib_of(sectors) > t->cache_kib)
		end_ns += flush_cache_ns(model);
	if (cached) {
		model->cached_kib += kib_of(sectors);
		model->owed_ns += program_ns(model, end_ns, sector, sectors, true);
		return end_ns;
	}
	if (t->track_kib)
		end_ns = max(end_ns, model->medium_free_ns);
	end_ns += program_ns(model, end_ns, sector, sectors, false);
	if (t->track_kib)
		model->medium_free_ns = end_ns;
	return end_ns;
}

u64 timed_disk_serve(struct timed_disk_model *model, u64 now_ns, enum timed_disk_op op, u64 sector, u32 sectors,
		     bool forced)
{
	const struct timed_disk_times *t = &model->times;
	u64 *slot = &model->slot_free_ns[0];
	u64 start_ns = now_ns;
	u32 i;

	for (i = 0; i < t->depth; i++) {
		if (model->slot_free_ns[i] < *slot)
			slot = &model->slot_free_ns[i];
		/* A flush follows all that was sent before it. */
		if (op == TIMED_DISK_FLUSH)
			start_ns = max(start_ns, model->slot_free_ns[i]);
	}
	start_ns = max(start_ns, *slot);
	switch (op) {
	case TIMED_DISK_READ:
		*slot = read_end_ns(model, start_ns, sector, sectors);
		break;
	case TIMED_DISK_WRITE:
		*slot = write_end_ns(model, start_ns, sector, sectors, forced);
		break;
	case TIMED_DISK_FLUSH:
		*slot = start_ns + t->flush_ns + flush_cache_ns(model);
		break;
	case TIMED_DISK_DISCARD:
		*slot = start_ns + t->discard_ns;
		break;
	}
	return *slot;
}
