/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/net/tcp_monitor: the header names the columns, one connection per line; pure. */
#include <stdlib.h>
#include <string.h>

#include "traffic.h"

/* The start of column `index` (from 0) in a line, or NULL if the line has fewer. */
static const char *column(const char *line, const char *end, int index)
{
	for (; line && line < end; line = memchr(line, ' ', (size_t)(end - line)), line = line ? line + 1 : NULL)
		if (!index--)
			return line;
	return NULL;
}

static int column_named(const char *header, const char *end, const char *name)
{
	size_t bytes = strlen(name);
	const char *at;

	for (int index = 0; (at = column(header, end, index)); index++)
		if ((size_t)(end - at) >= bytes && !memcmp(at, name, bytes) && (at + bytes == end || at[bytes] == ' '))
			return index;
	return -1;
}

bool monitor_bounds(const char *text, const char *local, struct bounds *bounds)
{
	const char *end = strchr(text, '\n');
	size_t local_bytes = strlen(local);
	int local_at, min_at, max_at;

	if (!end)
		return false;
	local_at = column_named(text, end, "local");
	min_at = column_named(text, end, "bound_min_segs");
	max_at = column_named(text, end, "bound_max_segs");
	if (local_at < 0 || min_at < 0 || max_at < 0)
		return false;
	/* A last line without a newline is truncated: not used. */
	for (const char *line = end + 1; (end = strchr(line, '\n')); line = end + 1) {
		const char *address = column(line, end, local_at), *min = column(line, end, min_at);
		const char *max = column(line, end, max_at);

		if (!address || !min || !max || strncmp(address, local, local_bytes) || address[local_bytes] != ' ')
			continue;
		bounds->min_segs = strtoull(min, NULL, 10);
		bounds->max_segs = strtoull(max, NULL, 10);
		return true;
	}
	return false;
}
