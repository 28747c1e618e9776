// SPDX-License-Identifier: Apache-2.0
'use strict';
'require baseclass';
'require airbound.format as format';

/* What a cell carried before the last switch of the controller's mode and since then, in words. */

/* As long must two devices or more have uploaded in a period before its means say something (ap-firmware/status). */
const UPLOAD_SECONDS_MIN = 60;

/* More senders carry more, with longer delays: from this ratio of their numbers on, periods are not compared. */
const UPLOADERS_RATIO_MAX = 1.25;

function isKnown(period) {
	return period !== null && period.uploadSeconds >= UPLOAD_SECONDS_MIN;
}

function modeName(mode) {
	return mode === 'control' ? _('control') : _('observe (nothing is limited)');
}

/* '+12 %', '-80 %'. */
function percent(ratio) {
	const value = Math.round(100 * (ratio - 1));

	return '%s%d %%'.format(value > 0 ? '+' : '', value);
}

function comparison(before, since) {
	const ratio = since.uploaders / before.uploaders;

	if (ratio > UPLOADERS_RATIO_MAX || ratio < 1 / UPLOADERS_RATIO_MAX)
		return _('Not comparable: the number of uploading devices differs.');

	const carried = _('carried: %s').format(percent(since.carriedKbps / before.carriedKbps));

	return before.rttMS === null || since.rttMS === null ? carried
		: _('%s, delay: %s').format(carried, percent(since.rttMS / before.rttMS));
}

return baseclass.extend({
	/* What the controller does with this cell. */
	mode(view) {
		return view.mode === 'control' ? _('control')
			: view.mode === 'observe' ? _('observe: nothing is limited') : _('not known');
	},

	/* A period in words: what was carried, the delay, and what the figures are of. */
	text(period, uptime) {
		if (!isKnown(period))
			return _('Not known yet: two devices or more must upload for a minute.');

		const figures = period.rttMS === null
			? _('%.1f Mb/s').format(period.carriedKbps / 1000)
			: _('%.1f Mb/s, delay %d ms').format(period.carriedKbps / 1000, Math.round(period.rttMS));
		const of = _('%s; %.1f devices uploading, measured for %s').format(modeName(period.mode), period.uploaders,
			format.duration(period.uploadSeconds * 1000));
		const ended = period.endedMS === null || !uptime ? ''
			: _('until %s ago').format(format.duration(Math.max(0, uptime * 1000 - period.endedMS)));

		return [ E('strong', {}, [ figures ]), E('br'), E('small', {}, [ ended ? of + ', ' + ended : of ]) ];
	},

	/* The change from one to the other, or why there is none. */
	change(before, since) {
		return isKnown(before) && isKnown(since) ? comparison(before, since) : '-';
	}
});
