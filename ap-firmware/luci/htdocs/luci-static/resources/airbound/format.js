// SPDX-License-Identifier: Apache-2.0
'use strict';
'require baseclass';

/* Times as the pages show them. All are in milliseconds. */

return baseclass.extend({
	/* Since 1970 -> "2026-11-22 23:45:00 UTC". */
	date(ms) {
		return new Date(ms).toISOString().replace('T', ' ').replace(/\..*/, ' UTC');
	},

	/* 61000 -> "0h 1m 1s", as LuCI writes it; from two days on, whole days. */
	duration(ms) {
		const days = Math.floor(ms / (24 * 60 * 60 * 1000));

		if (days >= 2)
			return _('%d days').format(days);

		return '%t'.format(Math.max(0, Math.floor(ms / 1000)));
	},

	/* 61000 -> "0h 1m 1s ago"; null -> "-". The agent writes the time of a report every 10 s. */
	age(ms) {
		if (ms === null)
			return '-';

		return ms < 15000 ? _('less than 15 s ago') : _('%s ago').format(this.duration(ms));
	}
});
