// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk in memory, /dev/tdisk0, whose requests take as long as timed_disk_model.c says, and whose power can be cut.
 *
 * There is one if size_mb is not 0 on the kernel's command line (timed_disk.size_mb=128); the other parameters are the
 * fields of struct timed_disk_times. What a request does to the data it does at its end. In /sys/block/tdisk0:
 *
 *	served		requests that have ended since the start
 *	cut_after	the power goes once so many have ended; 0: it does not. What ends then, ends with an error
 *	cut_seed	0: all that was in the cache is lost, and of the write that would have been next nothing is there.
 *			Others: of the cache the seed chooses blocks of 4 KiB that have reached the medium, and of the next
 *			write how many of its sectors have
 *	power		0 or 1; with 1 what is in the medium can be read again
 *
 * A cut is the end of every request in service and of all that come until the power is back: the file system above must
 * be unmounted meanwhile. Memory: twice the size, one copy is what is in the medium.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/siphash.h>
#include <linux/vmalloc.h>

#include "timed_disk_model.h"

#define BLOCK_SECTORS	8	/* that a cut keeps or loses together */
#define REQUEST_KIB_MAX	1024
#define QUEUED_MAX	128

static uint size_mb;
module_param(size_mb, uint, 0444);

static struct timed_disk_times times = { .depth = 1 };
module_param_named(depth, times.depth, uint, 0444);
module_param_named(cache_kib, times.cache_kib, uint, 0444);
module_param_named(read_ns, times.read_ns, ullong, 0444);
module_param_named(write_ns, times.write_ns, ullong, 0444);
module_param_named(flush_ns, times.flush_ns, ullong, 0444);
module_param_named(discard_ns, times.discard_ns, ullong, 0444);
module_param_named(read_kib_ns, times.read_kib_ns, ullong, 0444);
module_param_named(write_kib_ns, times.write_kib_ns, ullong, 0444);
module_param_named(program_kib_ns, times.program_kib_ns, ullong, 0444);
module_param_named(jump_ns, times.jump_ns, ullong, 0444);
module_param_named(open_ns, times.open_ns, ullong, 0444);
module_param_named(unit_kib, times.unit_kib, uint, 0444);
module_param_named(open_units, times.open_units, uint, 0444);
module_param_named(track_kib, times.track_kib, uint, 0444);
module_param_named(turn_ns, times.turn_ns, ullong, 0444);
module_param_named(seek_ns, times.seek_ns, ullong, 0444);
module_param_named(seek_most_ns, times.seek_most_ns, ullong, 0444);

static struct timed_disk {
	spinlock_t lock;		/* of all below */
	struct gendisk *gendisk;
	struct blk_mq_tag_set tags;
	struct hrtimer timer;
	struct list_head in_service;	/* in the order in which they end */
	struct timed_disk_model model;
	u8 *data;			/* what is read */
	u8 *medium;			/* what is left without power */
	unsigned long *cached;		/* a bit for each sector that differs */
	u64 served;
	u64 cut_after;
	u64 cut_seed;
	bool power;
} disk;

struct in_service {
	struct list_head entry;
	u64 end_ns;
};

static void keep(u64 sector, u32 sectors)
{
	memcpy(disk.medium + (sector << SECTOR_SHIFT), disk.data + (sector << SECTOR_SHIFT), sectors << SECTOR_SHIFT);
	bitmap_clear(disk.cached, sector, sectors);
}

static void flush(void)
{
	unsigned long first, last;

	for_each_set_bitrange(first, last, disk.cached, disk.model.times.sectors)
		keep(first, last - first);
}

/* Copies between the request's pages and the disk, at most so many sectors. */
static void transfer(struct request *rq, u32 sectors)
{
	u8 *at = disk.data + (blk_rq_pos(rq) << SECTOR_SHIFT);
	u32 left = sectors << SECTOR_SHIFT;
	struct req_iterator iterator;
	struct bio_vec segment;

	rq_for_each_segment(segment, rq, iterator) {
		u32 bytes = min(segment.bv_len, left);

		if (rq_data_dir(rq) == WRITE)
			memcpy_from_bvec(at, &segment);
		else
			memcpy_to_bvec(&segment, at);
		at += bytes;
		left -= bytes;
		if (!left)
			return;
	}
}

static void write_data(struct request *rq)
{
	transfer(rq, blk_rq_sectors(rq));
	if (disk.model.times.cache_kib && !(rq->cmd_flags & REQ_FUA))
		bitmap_set(disk.cached, blk_rq_pos(rq), blk_rq_sectors(rq));
	else
		keep(blk_rq_pos(rq), blk_rq_sectors(rq));
}

/* A number that only the seed and the place decide. */
static u64 chance(u64 place)
{
	const siphash_key_t key = { { disk.cut_seed, 0 } };

	return siphash_1u64(place, &key);
}

/* The power goes. RQ would have ended next. */
static void cut(struct request *rq)
{
	u64 sector;

	disk.power = false;
	disk.cut_after = 0;
	if (!disk.cut_seed)
		return;
	for (sector = 0; sector < disk.model.times.sectors; sector += BLOCK_SECTORS) {
		bool cached = find_next_bit(disk.cached, sector + BLOCK_SECTORS, sector) < sector + BLOCK_SECTORS;

		if (cached && chance(sector) % 2)
			keep(sector, BLOCK_SECTORS);
	}
	if (rq && req_op(rq) == REQ_OP_WRITE) {
		u32 sectors = chance(disk.model.times.sectors) % (blk_rq_sectors(rq) + 1);

		if (!sectors)
			return;
		transfer(rq, blk_rq_sectors(rq));
		keep(blk_rq_pos(rq), sectors);
	}
}

static blk_status_t finish(struct request *rq)
{
	if (disk.power && disk.cut_after && disk.served >= disk.cut_after)
		cut(rq);
	if (!disk.power)
		return BLK_STS_IOERR;
	disk.served++;
	switch (req_op(rq)) {
	case REQ_OP_WRITE:
		write_data(rq);
		break;
	case REQ_OP_READ:
		transfer(rq, blk_rq_sectors(rq));
		break;
	case REQ_OP_FLUSH:
		flush();
		break;
	default:
		break;
	}
	return BLK_STS_OK;
}

static void arm(void)
{
	struct in_service *next = list_first_entry_or_null(&disk.in_service, struct in_service, entry);

	if (next)
		hrtimer_start(&disk.timer, ns_to_ktime(next->end_ns), HRTIMER_MODE_ABS_HARD);
}

static enum hrtimer_restart timer_expired(struct hrtimer *timer)
{
	struct in_service *next;
	unsigned long flags;
	LIST_HEAD(ended);

	spin_lock_irqsave(&disk.lock, flags);
	while ((next = list_first_entry_or_null(&disk.in_service, struct in_service, entry)) &&
	       (!disk.power || next->end_ns <= ktime_get_ns())) {
		struct request *rq = blk_mq_rq_from_pdu(next);
		blk_status_t status = finish(rq);

		list_del(&next->entry);
		spin_unlock_irqrestore(&disk.lock, flags);
		blk_mq_end_request(rq, status);
		spin_lock_irqsave(&disk.lock, flags);
	}
	arm();
	spin_unlock_irqrestore(&disk.lock, flags);
	return HRTIMER_NORESTART;
}

static bool model_op(struct request *rq, enum timed_disk_op *op)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		*op = TIMED_DISK_READ;
		return true;
	case REQ_OP_WRITE:
		*op = TIMED_DISK_WRITE;
		return true;
	case REQ_OP_FLUSH:
		*op = TIMED_DISK_FLUSH;
		return true;
	case REQ_OP_DISCARD:
		*op = TIMED_DISK_DISCARD;
		return true;
	default:
		return false;
	}
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct request *rq = bd->rq;
	struct in_service *mine = blk_mq_rq_to_pdu(rq), *other;
	struct list_head *before;
	enum timed_disk_op op;
	unsigned long flags;

	if (!model_op(rq, &op))
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(rq);
	spin_lock_irqsave(&disk.lock, flags);
	mine->end_ns = ktime_get_ns();
	if (disk.power)
		mine->end_ns = timed_disk_serve(&disk.model, mine->end_ns, op, blk_rq_pos(rq), blk_rq_sectors(rq),
						rq->cmd_flags & REQ_FUA);
	before = &disk.in_service;
	list_for_each_entry_reverse(other, &disk.in_service, entry) {
		if (other->end_ns <= mine->end_ns) {
			before = &other->entry;
			break;
		}
	}
	list_add(&mine->entry, before);
	arm();
	spin_unlock_irqrestore(&disk.lock, flags);
	return BLK_STS_OK;
}

static const struct blk_mq_ops queue_ops = { .queue_rq = queue_rq };

static const struct block_device_operations device_ops = { .owner = THIS_MODULE };

static ssize_t power_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", disk.power);
}

static ssize_t power_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t len)
{
	struct in_service *next;
	unsigned long flags;
	bool on;
	int error = kstrtobool(buf, &on);

	if (error)
		return error;
	spin_lock_irqsave(&disk.lock, flags);
	if (disk.power && !on) {
		next = list_first_entry_or_null(&disk.in_service, struct in_service, entry);
		cut(next ? blk_mq_rq_from_pdu(next) : NULL);
		hrtimer_start(&disk.timer, 0, HRTIMER_MODE_ABS_HARD);
	} else if (!disk.power && on) {
		if (!list_empty(&disk.in_service)) {
			spin_unlock_irqrestore(&disk.lock, flags);
			return -EBUSY;
		}
		memcpy(disk.data, disk.medium, disk.model.times.sectors << SECTOR_SHIFT);
		bitmap_zero(disk.cached, disk.model.times.sectors);
		timed_disk_restart(&disk.model);
		disk.power = true;
	}
	spin_unlock_irqrestore(&disk.lock, flags);
	return len;
}
static DEVICE_ATTR_RW(power);

static ssize_t served_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", disk.served);
}
static DEVICE_ATTR_RO(served);

static ssize_t store_number(const char *buf, size_t len, u64 *number)
{
	unsigned long flags;
	u64 value;
	int error = kstrtou64(buf, 0, &value);

	if (error)
		return error;
	spin_lock_irqsave(&disk.lock, flags);
	*number = value;
	spin_unlock_irqrestore(&disk.lock, flags);
	return len;
}

static ssize_t cut_after_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", disk.cut_after);
}

static ssize_t cut_after_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t len)
{
	return store_number(buf, len, &disk.cut_after);
}
static DEVICE_ATTR_RW(cut_after);

static ssize_t cut_seed_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", disk.cut_seed);
}

static ssize_t cut_seed_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t len)
{
	return store_number(buf, len, &disk.cut_seed);
}
static DEVICE_ATTR_RW(cut_seed);

static struct attribute *disk_attrs[] = {
	&dev_attr_power.attr, &dev_attr_served.attr, &dev_attr_cut_after.attr, &dev_attr_cut_seed.attr, NULL,
};
ATTRIBUTE_GROUPS(disk);

static int __init allocate(void)
{
	u64 bytes = (u64)size_mb << 20;

	disk.data = vzalloc(bytes);
	disk.medium = vzalloc(bytes);
	disk.cached = vzalloc(BITS_TO_LONGS(times.sectors) * sizeof(long));
	return disk.data && disk.medium && disk.cached ? 0 : -ENOMEM;
}

static int __init make_gendisk(void)
{
	struct queue_limits limits = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = BLOCK_SECTORS << SECTOR_SHIFT,
		.max_hw_sectors = REQUEST_KIB_MAX << 1,
		.max_hw_discard_sectors = UINT_MAX,
		.discard_granularity = BLOCK_SECTORS << SECTOR_SHIFT,
	};
	int error;

	if (times.cache_kib)
		limits.features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	if (times.track_kib)
		limits.features |= BLK_FEAT_ROTATIONAL;
	disk.tags.ops = &queue_ops;
	disk.tags.nr_hw_queues = 1;
	disk.tags.queue_depth = QUEUED_MAX;
	disk.tags.cmd_size = sizeof(struct in_service);
	error = blk_mq_alloc_tag_set(&disk.tags);
	if (error)
		return error;
	disk.gendisk = blk_mq_alloc_disk(&disk.tags, &limits, NULL);
	if (IS_ERR(disk.gendisk)) {
		blk_mq_free_tag_set(&disk.tags);
		return PTR_ERR(disk.gendisk);
	}
	disk.gendisk->fops = &device_ops;
	strscpy(disk.gendisk->disk_name, "tdisk0", DISK_NAME_LEN);
	set_capacity(disk.gendisk, times.sectors);
	return device_add_disk(NULL, disk.gendisk, disk_groups);
}

static int __init timed_disk_start(void)
{
	int error;

	if (!size_mb)
		return 0;
	times.sectors = (u64)size_mb << (20 - SECTOR_SHIFT);
	if (!timed_disk_init(&disk.model, &times)) {
		pr_err("the parameters make no device: depth 1 to %d, open_units 1 to %d with unit_kib, no track_kib with it\n",
		       TIMED_DISK_DEPTH_MAX, TIMED_DISK_UNITS_MAX);
		return -EINVAL;
	}
	spin_lock_init(&disk.lock);
	INIT_LIST_HEAD(&disk.in_service);
	hrtimer_init(&disk.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	disk.timer.function = timer_expired;
	disk.power = true;
	error = allocate();
	if (!error)
		error = make_gendisk();
	if (error)
		pr_err("no disk of %u MB: error %d\n", size_mb, error);
	return error;
}
module_init(timed_disk_start);

MODULE_DESCRIPTION("A disk in memory whose requests take time");
MODULE_LICENSE("GPL");
