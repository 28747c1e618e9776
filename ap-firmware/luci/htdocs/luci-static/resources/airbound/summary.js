// SPDX-License-Identifier: Apache-2.0
'use strict';
'require baseclass';

/* Whether it is good now, in words: the first line of the status page. */

/* A report that is older says nothing of now; the agent writes its time every 10 s at the latest. */
const REPORT_AGE_MS_MAX = 15000;

/* Calls and games work well up to these milliseconds above the delay at rest: tests of bufferbloat grade them A. */
const DELAY_MS_GOOD = 30;

/* What the agent says of a kernel without modules for its programs (internal/tcbpf). */
const NEEDS_MODULES = /clsact|add filter/;

/* Names of devices in the sentence. */
const NAMES_MAX = 3;

function countOf(n, one, many) {
	return n === 1 ? one : many.format(n);
}

/* The views whose last report is one of now. */
function current(account) {
	return account.views.filter(view => {
		return view.connected && view.reportAgeMS !== null && view.reportAgeMS < REPORT_AGE_MS_MAX;
	});
}

function devicesOf(views) {
	return [].concat(...views.map(view => view.devices));
}

function mean(devices, value) {
	return devices.reduce((sum, device) => sum + value(device), 0) / devices.length;
}

/* {now, rest} in milliseconds of the devices that upload, or null if no connection of theirs is followed. */
function delayOf(devices) {
	const known = devices.filter(device => device.uploads && device.rttMS !== null && device.leastRttMS !== null);

	if (!known.length)
		return null;

	return { now: mean(known, device => device.rttMS), rest: mean(known, device => device.leastRttMS) };
}

function uploadsOf(devices) {
	const senders = devices.filter(device => device.uploads);

	if (!senders.length)
		return _('none of them uploads');

	const named = senders.slice(0, NAMES_MAX).map(device => {
		return _('%s (%d %% of the air)').format(device.name, Math.round(device.airPercent));
	});

	if (senders.length > NAMES_MAX)
		named.push(_('and %d more').format(senders.length - NAMES_MAX));

	return _('uploading: %s').format(named.join(', '));
}

/* What is limited, or why nothing is; with a next step where there is one. */
function limitsOf(views, devices) {
	const limited = devices.filter(device => device.limitBytes > 0).length;

	if (limited > 0)
		return countOf(limited, _('1 device is limited'), _('%d devices are limited'));

	const refused = views.filter(view => view.windows !== null && view.windows.refusal)[0];

	if (refused)
		return (NEEDS_MODULES.test(refused.windows.refusal)
			? _('nothing can be limited: %s. Next step: "apk add kmod-sched-core kmod-sched-bpf" on the access ' +
				'point, then "service airbound-ap restart"')
			: _('nothing can be limited: %s. Next step: "airbound-ap doctor" on the access point'))
			.format(refused.windows.refusal);

	if (views.length && views.every(view => view.mode === 'observe'))
		return _('nothing is limited: the controller only observes. Next step: "airbound mode control" where the ' +
			'controller runs');

	if (views.some(view => view.windows === null))
		return _('nothing is limited, since the setting "Receive windows" does not permit it');

	const reasons = views.map(view => view.windows.reason).filter(reason => reason);

	if (reasons.length)
		return _('nothing is limited: %s').format(reasons[0]);

	return devices.some(device => device.uploads)
		? _('nothing is limited, and the reason is unknown. Next step: "airbound-ap doctor" on the access point')
		: _('nothing is limited');
}

function delaySentence(delay) {
	if (delay === null)
		return _('The delay is not known while nothing is uploaded.');

	return (delay.now - delay.rest < DELAY_MS_GOOD ? _('The delay is low: %d ms, at rest %d ms.')
		: _('The delay is high: %d ms, at rest %d ms.')).format(Math.round(delay.now), Math.round(delay.rest));
}

return baseclass.extend({
	/* The first line for an account of agents.load(): {level, title, text}. The level is a class of LuCI's messages. */
	of(account) {
		if (account.configured && !account.enabled && !account.running)
			return {
				level: 'notice', title: _('Airbound is switched off.'),
				text: _('All devices send as without it.')
			};

		const views = current(account);

		if (!views.length)
			return {
				level: 'warning', title: _('Airbound is not working now.'),
				text: account.running ? _('The controller has no report of this access point. All devices send as ' +
					'without it. The next step stands below, or is shown by "airbound-ap doctor" on the access point.')
					: _('All devices send as without it. The next step stands below.')
			};

		const devices = devicesOf(views).sort((a, b) => b.airPercent - a.airPercent);
		const stations = views.reduce((sum, view) => sum + (view.stations || 0), 0);
		const delay = delayOf(devices);
		const isHigh = delay !== null && delay.now - delay.rest >= DELAY_MS_GOOD;
		const unable = views.some(view => view.windows === null || view.windows.refusal);

		return {
			level: isHigh || unable ? 'warning' : 'success',
			title: _('Airbound is working.'),
			text: '%s %s'.format(_('%s, %s; %s.').format(countOf(stations, _('1 device'), _('%d devices')),
				uploadsOf(devices), limitsOf(views, devices)), delaySentence(delay))
		};
	},

	/* The devices of now, those with the most of the air first, each with its view. */
	devices(account) {
		return [].concat(...current(account).map(view => view.devices.map(device => ({ view: view, device: device }))))
			.sort((a, b) => b.device.airPercent - a.device.airPercent);
	}
});
