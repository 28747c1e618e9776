/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: one item per line, `key=value` fields separated by blanks, `#` begins a comment.
 *
 *	clock t0_ns=N seconds=N interval_ms=N
 *	recv  name=NAME [netns=NAME] protocol=tcp|udp address=IPV4:PORT [congestion=NAME]
 *	send  name=NAME [netns=NAME] protocol=tcp|udp address=IPV4:PORT start_ms=N stop_ms=N
 *	      [congestion=NAME] [rate_kbps=N] [payload_bytes=N] [on_ms=N off_ms=N] [uid=N] [priority=N]
 *	watch name=NAME [netns=NAME] interval_ms=N
 *
 * `send` without rate_kbps sends all that its socket accepts. A receiver's congestion control decides how ECN marks are
 * echoed: DCTCP's sender needs DCTCP at the other end. `uid` is the owner of a sender's socket, as if an application of
 * that user had made it; `priority` is SO_PRIORITY (256 to 263 is a frame's user priority in a WLAN). `watch` prints /proc/net/tcp_cwnd_bounds whenever it has changed.
 * An unknown key, a key twice, a number out of range: an error that names the line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "traffic.h"

#define DAY_MS (86400ULL * 1000)

enum key {
	KEY_NAME, KEY_NETNS, KEY_PROTOCOL, KEY_ADDRESS, KEY_CONGESTION, KEY_START_MS, KEY_STOP_MS, KEY_RATE_KBPS,
	KEY_PAYLOAD_BYTES, KEY_ON_MS, KEY_OFF_MS, KEY_UID, KEY_PRIORITY, KEY_INTERVAL_MS, KEY_T0_NS, KEY_SECONDS, KEYS
};

static const char *const key_names[KEYS] = {
	"name", "netns", "protocol", "address", "congestion", "start_ms", "stop_ms", "rate_kbps",
	"payload_bytes", "on_ms", "off_ms", "uid", "priority", "interval_ms", "t0_ns", "seconds",
};

#define BIT(key) (1u << (key))

static const struct line_kind {
	const char *word;
	unsigned int required, optional;
} line_kinds[] = {
	[ITEM_RECV] = { "recv", BIT(KEY_NAME) | BIT(KEY_PROTOCOL) | BIT(KEY_ADDRESS), BIT(KEY_NETNS) | BIT(KEY_CONGESTION) },
	[ITEM_SEND] = { "send", BIT(KEY_NAME) | BIT(KEY_PROTOCOL) | BIT(KEY_ADDRESS) | BIT(KEY_START_MS) | BIT(KEY_STOP_MS),
			BIT(KEY_NETNS) | BIT(KEY_CONGESTION) | BIT(KEY_RATE_KBPS) | BIT(KEY_PAYLOAD_BYTES) | BIT(KEY_ON_MS) |
			BIT(KEY_OFF_MS) | BIT(KEY_UID) | BIT(KEY_PRIORITY) },
	[ITEM_WATCH] = { "watch", BIT(KEY_NAME) | BIT(KEY_INTERVAL_MS), BIT(KEY_NETNS) },
	{ "clock", BIT(KEY_T0_NS) | BIT(KEY_SECONDS) | BIT(KEY_INTERVAL_MS), 0 },
};

#define LINE_CLOCK (ITEM_WATCH + 1)
#define LINE_KINDS (LINE_CLOCK + 1)

struct reader {
	struct plan *plan;
	unsigned int line_number;
	char *error;
	size_t error_bytes;
};

__attribute__((format(printf, 2, 3)))
static int complain(struct reader *reader, const char *format, ...)
{
	char what[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	snprintf(reader->error, reader->error_bytes, "line %u: %s", reader->line_number, what);
	return -1;
}

static int number(struct reader *reader, const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9' || *out < min || *out > max)
		return complain(reader, "%s=%s is not a number from %llu to %llu", key, value, (unsigned long long)min,
				(unsigned long long)max);
	return 0;
}

static int word(struct reader *reader, const char *key, const char *value, char *out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (!*value || strlen(value) >= NAME_BYTES || value[strspn(value, letters)])
		return complain(reader, "%s=%s is not a name of 1 to %d letters, digits, _ or -", key, value, NAME_BYTES - 1);
	strcpy(out, value);
	return 0;
}

static int address(struct reader *reader, char *value, struct sockaddr_in *out)
{
	char *colon = strchr(value, ':');
	uint64_t port;

	if (!colon)
		return complain(reader, "address=%s has no port", value);
	*colon = 0;
	out->sin_family = AF_INET;
	if (inet_pton(AF_INET, value, &out->sin_addr) != 1)
		return complain(reader, "address=%s is not an IPv4 address", value);
	if (number(reader, "port", colon + 1, 1, 65535, &port))
		return -1;
	out->sin_port = htons((uint16_t)port);
	return 0;
}

static int protocol(struct reader *reader, const char *value, enum protocol *out)
{
	if (!strcmp(value, "tcp"))
		*out = PROTOCOL_TCP;
	else if (!strcmp(value, "udp"))
		*out = PROTOCOL_UDP;
	else
		return complain(reader, "protocol=%s is neither tcp nor udp", value);
	return 0;
}

static int set(struct reader *reader, struct plan_item *item, enum key key, char *value)
{
	const char *name = key_names[key];
	struct plan *plan = reader->plan;

	switch (key) {
	case KEY_NAME: return word(reader, name, value, item->name);
	case KEY_NETNS: return word(reader, name, value, item->netns);
	case KEY_CONGESTION: return word(reader, name, value, item->congestion);
	case KEY_PROTOCOL: return protocol(reader, value, &item->protocol);
	case KEY_ADDRESS: return address(reader, value, &item->address);
	case KEY_START_MS: return number(reader, name, value, 0, DAY_MS, &item->start_ms);
	case KEY_STOP_MS: return number(reader, name, value, 0, DAY_MS, &item->stop_ms);
	case KEY_RATE_KBPS: return number(reader, name, value, 1, 10 * 1000 * 1000, &item->rate_kbps);
	case KEY_PAYLOAD_BYTES: return number(reader, name, value, 1, 65507, &item->payload_bytes);
	case KEY_ON_MS: return number(reader, name, value, 1, DAY_MS, &item->on_ms);
	case KEY_OFF_MS: return number(reader, name, value, 1, DAY_MS, &item->off_ms);
	case KEY_UID: return number(reader, name, value, 1, UINT32_MAX - 1, &item->uid);
	case KEY_PRIORITY: return number(reader, name, value, 1, INT32_MAX, &item->priority);
	case KEY_INTERVAL_MS: return number(reader, name, value, 1, DAY_MS, &item->interval_ms);
	case KEY_T0_NS: return number(reader, name, value, 0, UINT64_MAX / 2, &plan->t0_ns);
	case KEY_SECONDS: return number(reader, name, value, 1, 86400, &plan->seconds);
	case KEYS: break;
	}
	return complain(reader, "unknown key");
}

static int field(struct reader *reader, const struct line_kind *kind, struct plan_item *item, char *text,
		 unsigned int *seen)
{
	char *equals = strchr(text, '=');
	enum key key;

	if (!equals)
		return complain(reader, "'%s' is not key=value", text);
	*equals = 0;
	for (key = 0; key < KEYS && strcmp(text, key_names[key]); key++)
		;
	if (key == KEYS || !((kind->required | kind->optional) & BIT(key)))
		return complain(reader, "'%s' is not a key of a %s line", text, kind->word);
	if (*seen & BIT(key))
		return complain(reader, "'%s' is given twice", text);
	*seen |= BIT(key);
	return set(reader, item, key, equals + 1);
}

static int check(struct reader *reader, const struct line_kind *kind, const struct plan_item *item, unsigned int seen)
{
	for (enum key key = 0; key < KEYS; key++)
		if (kind->required & ~seen & BIT(key))
			return complain(reader, "a %s line needs %s=", kind->word, key_names[key]);
	if (item->protocol == PROTOCOL_UDP && item->congestion[0])
		return complain(reader, "congestion is for protocol=tcp");
	if (kind != &line_kinds[ITEM_SEND])
		return 0;
	if (item->stop_ms <= item->start_ms)
		return complain(reader, "stop_ms must be after start_ms");
	if (!item->on_ms != !item->off_ms)
		return complain(reader, "on_ms and off_ms belong together");
	if (item->protocol == PROTOCOL_TCP && item->payload_bytes)
		return complain(reader, "payload_bytes is for protocol=udp");
	return 0;
}

static int line(struct reader *reader, char *text, bool *clock_seen)
{
	struct plan_item item = { .payload_bytes = 0 };
	unsigned int seen = 0, kind;
	char *rest, *token = strtok_r(text, " \t\n", &rest);

	if (!token || token[0] == '#')
		return 0;
	for (kind = 0; kind < LINE_KINDS && strcmp(token, line_kinds[kind].word); kind++)
		;
	if (kind == LINE_KINDS)
		return complain(reader, "'%s' is none of clock, recv, send, watch", token);
	while ((token = strtok_r(NULL, " \t\n", &rest)) && token[0] != '#')
		if (field(reader, &line_kinds[kind], &item, token, &seen))
			return -1;
	if (check(reader, &line_kinds[kind], &item, seen))
		return -1;
	if (kind == LINE_CLOCK) {
		if (*clock_seen)
			return complain(reader, "a second clock line");
		*clock_seen = true;
		reader->plan->interval_ms = item.interval_ms;
		return 0;
	}
	if (reader->plan->items == PLAN_ITEMS_MAX)
		return complain(reader, "more than %d items", PLAN_ITEMS_MAX);
	item.kind = (enum item_kind)kind;
	if (!item.payload_bytes)
		item.payload_bytes = 1470;
	reader->plan->item[reader->plan->items++] = item;
	return 0;
}

int plan_parse(FILE *from, struct plan *plan, char *error, size_t error_bytes)
{
	struct reader reader = { .plan = plan, .error = error, .error_bytes = error_bytes };
	bool clock_seen = false;
	char text[512];

	memset(plan, 0, sizeof(*plan));
	while (fgets(text, sizeof(text), from)) {
		reader.line_number++;
		if (!strchr(text, '\n') && !feof(from))
			return complain(&reader, "longer than %zu bytes", sizeof(text) - 2);
		if (line(&reader, text, &clock_seen))
			return -1;
	}
	if (ferror(from))
		return complain(&reader, "cannot be read: %s", strerror(errno));
	if (!clock_seen)
		return complain(&reader, "the plan has no clock line");
	return 0;
}
