// SPDX-License-Identifier: GPL-2.0-only
/*
 * The storage model in user space.
 *
 *	timed_disk_test check		rules of the model, one line each; exit 1 if one is violated
 *	timed_disk_test serve NAME=VALUE... < requests
 *		serves requests, a line each: WHEN_NS read|write|force|flush|discard SECTOR SECTORS. Prints when each ends,
 *		in ns. A name is a field of struct timed_disk_times
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timed_disk_model.h"

#define FIELD(name) { #name, offsetof(struct timed_disk_times, name), \
		      sizeof(((struct timed_disk_times *)0)->name) }

static const struct field {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(depth), FIELD(cache_kib), FIELD(read_ns), FIELD(write_ns), FIELD(flush_ns), FIELD(discard_ns),
	FIELD(read_kib_ns), FIELD(write_kib_ns), FIELD(program_kib_ns), FIELD(jump_ns), FIELD(open_ns),
	FIELD(unit_kib), FIELD(open_units), FIELD(track_kib), FIELD(turn_ns), FIELD(seek_ns), FIELD(seek_most_ns),
	FIELD(sectors), { NULL, 0, 0 },
};

static int failures;
static int checks;

static void expect(bool ok, const char *what)
{
	checks++;
	printf("%s %d - %s\n", ok ? "ok" : "not ok", checks, what);
	failures += !ok;
}

static void expect_ns(u64 found, u64 wanted, const char *what)
{
	expect(found == wanted, what);
	if (found != wanted)
		printf("# %llu, not %llu\n", (unsigned long long)found, (unsigned long long)wanted);
}

static struct timed_disk_times card(void)
{
	struct timed_disk_times times = {
		.depth = 1, .read_ns = 1000, .write_ns = 2000, .flush_ns = 7000, .discard_ns = 500, .read_kib_ns = 10,
		.write_kib_ns = 20, .program_kib_ns = 100, .jump_ns = 5000, .open_ns = 50000, .unit_kib = 4096,
		.open_units = 2, .sectors = 1 << 20,
	};

	return times;
}

static struct timed_disk_times rotating(void)
{
	struct timed_disk_times times = {
		.depth = 1, .read_kib_ns = 10, .write_kib_ns = 10, .program_kib_ns = 10, .track_kib = 500,
		.turn_ns = 1000000, .seek_ns = 100000, .seek_most_ns = 1100000, .sectors = 1 << 20,
	};

	return times;
}

static void check_init(void)
{
	struct timed_disk_times times = card();
	struct timed_disk_model model;

	expect(timed_disk_init(&model, &times), "times of a card make a device");
	times.depth = 0;
	expect(!timed_disk_init(&model, &times), "no device without a slot");
	times.depth = TIMED_DISK_DEPTH_MAX + 1;
	expect(!timed_disk_init(&model, &times), "no device of too many slots");
	times = card();
	times.open_units = 0;
	expect(!timed_disk_init(&model, &times), "no flash without an open unit");
	times = card();
	times.track_kib = 500;
	expect(!timed_disk_init(&model, &times), "no flash that turns");
	times = rotating();
	times.seek_most_ns = 1;
	expect(!timed_disk_init(&model, &times), "no arm that is faster over the whole disk than to the next track");
}

static void check_flash(void)
{
	struct timed_disk_times times = card();
	struct timed_disk_model model;
	u64 end;

	timed_disk_init(&model, &times);
	expect_ns(timed_disk_serve(&model, 0, TIMED_DISK_READ, 77, 8, false), 1040, "a read: its time, then its data");
	expect_ns(timed_disk_serve(&model, 100, TIMED_DISK_READ, 900000, 8, false), 2080, "the next one waits for the slot");
	end = timed_disk_serve(&model, 10000, TIMED_DISK_WRITE, 0, 8, false);
	expect_ns(end, 10000 + 2000 + 80 + 400 + 50000, "the first write opens a unit");
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_WRITE, 8, 8, false), end + 2480, "one that goes on costs its data");
	end += 2480;
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_WRITE, 0, 8, false), end + 7480, "one that does not, a jump");
	end += 7480;
	end = timed_disk_serve(&model, end, TIMED_DISK_WRITE, 10 * 8192, 8, false);
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_WRITE, 8, 8, false), end + 2480, "two units stay open");
	end += 2480;
	end = timed_disk_serve(&model, end, TIMED_DISK_WRITE, 20 * 8192, 8, false);
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_WRITE, 10 * 8192 + 8, 8, false), end + 52480,
		  "the one that was not written for longest is closed");
	end += 52480;
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_FLUSH, 0, 0, false), end + 7000, "nothing is cached: a flush is short");
	expect_ns(timed_disk_serve(&model, end + 9000, TIMED_DISK_DISCARD, 0, 8, false), end + 9500, "a discard");
}

static void check_cache(void)
{
	struct timed_disk_times times = card();
	struct timed_disk_model model;
	u64 end;

	times.cache_kib = 16;
	timed_disk_init(&model, &times);
	end = timed_disk_serve(&model, 0, TIMED_DISK_WRITE, 0, 8, false);
	expect_ns(end, 2080, "a cached write costs its transfer");
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_FLUSH, 0, 0, false), end + 7000 + 50400, "the flush programs it");
	end += 57400;
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_FLUSH, 0, 0, false), end + 7000, "once");
	end += 7000;
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_WRITE, 8, 8, true), end + 2480, "a forced write is programmed");
	end += 2480;
	end = timed_disk_serve(&model, end, TIMED_DISK_WRITE, 16, 24, false);
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_WRITE, 40, 16, false), end + 2160 + 1200,
		  "what does not fit has the cache programmed");
	timed_disk_restart(&model);
	expect_ns(timed_disk_serve(&model, end, TIMED_DISK_FLUSH, 0, 0, false), end + 7000, "a cache without power is empty");
}

static void check_depth(void)
{
	struct timed_disk_times times = card();
	struct timed_disk_model model;

	times.depth = 2;
	timed_disk_init(&model, &times);
	expect_ns(timed_disk_serve(&model, 0, TIMED_DISK_READ, 0, 8, false), 1040, "of two slots the first");
	expect_ns(timed_disk_serve(&model, 0, TIMED_DISK_READ, 8, 8, false), 1080, "beside it, but for the bus");
	expect_ns(timed_disk_serve(&model, 0, TIMED_DISK_READ, 16, 8, false), 2080, "the third waits for a slot");
	expect_ns(timed_disk_serve(&model, 0, TIMED_DISK_FLUSH, 0, 0, false), 9080, "a flush follows all");
}

static void check_disk(void)
{
	struct timed_disk_times times = rotating();
	struct timed_disk_model model;

	timed_disk_init(&model, &times);
	expect_ns(timed_disk_serve(&model, 0, TIMED_DISK_READ, 500, 8, false), 500000 + 40, "half a turn to half a track");
	expect_ns(timed_disk_serve(&model, 500040, TIMED_DISK_READ, 508, 8, false), 500080, "what follows is at the head");
	expect_ns(timed_disk_serve(&model, 600000, TIMED_DISK_WRITE, 500, 8, false), 1500000 + 40,
		  "the same again: the rest of the turn, and to it");
	/* The root of (524288 - 508) / 1048576 is 0.707: 723/1024 */
	expect_ns(timed_disk_serve(&model, 1500040, TIMED_DISK_READ, 524000, 8, false), 3000000 + 40,
		  "a seek over half of the disk, and the wait for the sector");
}

static int check(void)
{
	check_init();
	check_flash();
	check_cache();
	check_depth();
	check_disk();
	printf("1..%d\n", checks);
	return failures ? 1 : 0;
}

static bool set_field(struct timed_disk_times *times, const char *text)
{
	const char *value = strchr(text, '=');
	const struct field *field;

	for (field = fields; value && field->name; field++) {
		u64 number = strtoull(value + 1, NULL, 10);

		if (strncmp(text, field->name, value - text) || field->name[value - text])
			continue;
		memcpy((char *)times + field->offset, &number, field->size);	/* little-endian */
		return true;
	}
	return false;
}

static int serve(int argc, char **argv)
{
	struct timed_disk_times times = { .depth = 1, .sectors = 1 << 20 };
	struct timed_disk_model model;
	unsigned long long when_ns, sector;
	unsigned int sectors;
	char kind[8];
	int i;

	for (i = 0; i < argc; i++)
		if (!set_field(&times, argv[i]))
			return 2;
	if (!timed_disk_init(&model, &times))
		return 2;
	while (scanf("%llu %7s %llu %u", &when_ns, kind, &sector, &sectors) == 4) {
		enum timed_disk_op op = !strcmp(kind, "read") ? TIMED_DISK_READ :
			!strcmp(kind, "flush") ? TIMED_DISK_FLUSH :
			!strcmp(kind, "discard") ? TIMED_DISK_DISCARD : TIMED_DISK_WRITE;

		u64 end_ns = timed_disk_serve(&model, when_ns, op, sector, sectors, !strcmp(kind, "force"));

		printf("%llu\n", (unsigned long long)end_ns);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "check"))
		return check();
	if (argc >= 2 && !strcmp(argv[1], "serve"))
		return serve(argc - 2, argv + 2);
	fprintf(stderr, "usage: timed_disk_test check | serve NAME=VALUE...\n");
	return 2;
}
