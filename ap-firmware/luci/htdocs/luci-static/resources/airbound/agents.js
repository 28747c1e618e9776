// SPDX-License-Identifier: Apache-2.0
'use strict';
'require baseclass';
'require fs';
'require rpc';
'require uci';

/* What both pages ask the router about airbound-ap, and what follows from the answers. */

const SCHEMA = 2;
const PROGRAM = '/usr/sbin/airbound-ap';
const SERVICE = 'airbound-ap';

/* The program's code for "the agent is not running". It prints its JSON nevertheless. */
const EXIT_NOT_RUNNING = 3;

/* The agent renews its certificate at two thirds of the certificate's life at the latest. */
const DAYS_OF_WARNING = 3;
const DAY_MS = 24 * 60 * 60 * 1000;

const callServiceList = rpc.declare({
	object: 'service',
	method: 'list',
	params: [ 'name' ],
	expect: { '': {} }
});

const callSystemInfo = rpc.declare({
	object: 'system',
	method: 'info',
	expect: { uptime: 0 }
});

const callRevert = rpc.declare({
	object: 'uci',
	method: 'revert',
	params: [ 'config' ]
});

const callHostHints = rpc.declare({
	object: 'luci-rpc',
	method: 'getHostHints',
	expect: { '': {} }
});

function isObject(value) {
	return value !== null && typeof(value) === 'object' && !Array.isArray(value);
}

function text(value) {
	return typeof(value) === 'string' ? value : '';
}

function number(value) {
	return typeof(value) === 'number' && isFinite(value) ? value : null;
}

/* Milliseconds since 1970, or null. */
function time(value) {
	const ms = Date.parse(text(value));

	return isNaN(ms) ? null : ms;
}

function list(value) {
	return Array.isArray(value) ? value.filter(isObject) : [];
}

function bandOf(frequency) {
	if (frequency === null)
		return '';

	if (frequency < 3000)
		return '2.4 GHz';

	return frequency < 5925 ? '5 GHz' : '6 GHz';
}

/*
 * The age in milliseconds of the last report. An access point does not sleep, so its uptime, in whole seconds, is
 * CLOCK_MONOTONIC, on which the program's times are.
 */
function reportAge(state, uptime) {
	const reported = number(state.last_report_us);

	return uptime && reported ? Math.max(0, uptime * 1000 - reported / 1000) : null;
}

/* A number of microseconds in milliseconds; null if it is 0 or none. */
function milliseconds(value) {
	return number(value) ? value / 1000 : null;
}

/* What a station did in the last seconds. Its name is what the router knows of its address, or the address. */
function parseDevice(value, hints) {
	const mac = text(value.mac);
	const hint = isObject(hints[mac.toUpperCase()]) ? hints[mac.toUpperCase()] : {};
	const addresses = Array.isArray(value.addresses) ? value.addresses.map(text).filter(address => address) : [];

	return {
		mac: mac,
		name: text(hint.name) || addresses[0] || mac || '?',
		address: addresses[0] || '',
		signal: number(value.signal_dbm),
		upPHYKbps: number(value.up_phy_kbps) || 0,
		downPHYKbps: number(value.down_phy_kbps) || 0,
		upKbps: number(value.up_kbps) || 0,
		downKbps: number(value.down_kbps) || 0,
		airPercent: number(value.air_percent) || 0,
		uploads: value.uploads === true,
		rttMS: milliseconds(value.srtt_us),
		leastRttMS: milliseconds(value.min_rtt_us),
		limitBytes: number(value.limit_bytes) || 0
	};
}

/* Means of a time with one mode of the controller; null if there is none. */
function parsePeriod(value) {
	if (!isObject(value))
		return null;

	return {
		mode: text(value.mode),
		endedMS: milliseconds(value.ended_monotonic_us),
		uploadSeconds: number(value.upload_seconds) || 0,
		carriedKbps: number(value.carried_kbps) || 0,
		rttMS: milliseconds(value.rtt_us),
		uploaders: number(value.uploaders) || 0
	};
}

/* The check that was asked for last, and in `last` the result before it; null if there is none. */
function parseCheck(value) {
	if (!isObject(value))
		return null;

	return {
		askedMS: milliseconds(value.asked_monotonic_us),
		turn: number(value.turn) || 0,
		turns: number(value.turns) || 0,
		refusal: text(value.refusal),
		line: text(value.line),
		verdict: text(value.verdict),
		last: parseCheck(value.last)
	};
}

/* What an agent does with receive windows; null: its owner does not permit that it does anything. */
function parseWindows(value, leaseLeftMS) {
	if (!isObject(value))
		return null;

	return {
		refusal: text(value.refusal),
		generation: number(value.generation) || 0,
		stations: number(value.stations),
		connections: number(value.connections),
		reason: text(value.reason),
		leaseLeftMS: number(leaseLeftMS) || 0
	};
}

/* What an agent does with packets to stations; null: its owner does not permit that it does anything. */
function parseStationFlows(value, leaseLeftMS) {
	if (!isObject(value))
		return null;

	return {
		refusal: text(value.refusal),
		generation: number(value.generation) || 0,
		flows: number(value.flows),
		stations: number(value.stations),
		packets: number(value.packets_marked_total),
		reason: text(value.reason),
		leaseLeftMS: number(leaseLeftMS) || 0
	};
}

function parseCredentials(value) {
	if (!isObject(value))
		return null;

	return {
		plainText: value.plain_text === true,
		id: text(value.id),
		notAfter: time(value.not_after),
		nextRenewal: time(value.next_renewal),
		error: text(value.last_error),
		errorCode: text(value.last_error_code),
		errorSince: time(value.last_error_since)
	};
}

/* One agent's view: every field may be absent. */
function parseView(view, uptime, hints) {
	const state = isObject(view.state) ? view.state : {};
	const frequency = number(state.frequency_mhz);

	return {
		running: view.running === true,
		pid: number(state.pid),
		version: text(state.version),
		stopped: state.stopped === true,
		controller: text(state.controller),
		connected: view.running === true && state.connected === true,
		interfaceName: text(view.interface) || text(state.interface),
		ssid: text(state.ssid),
		bssid: text(state.bssid),
		frequency: frequency,
		band: text(state.band) || bandOf(frequency),
		links: Array.isArray(state.links) ? state.links.length : 0,
		stations: number(state.stations_reported),
		mode: text(state.mode),
		before: parsePeriod(state.before),
		since: parsePeriod(state.since),
		check: parseCheck(state.check),
		devices: list(state.devices).map(device => parseDevice(device, hints)),
		reportAgeMS: reportAge(state, uptime),
		generation: number(state.edca_generation) || 0,
		queues: list(state.queues),
		announced: list(state.announced),
		own: list(state.own),
		reason: text(state.reason),
		leaseLeftMS: number(view.lease_left_ms) || 0,
		refusal: text(state.refusal),
		restoreError: text(state.restore_error),
		lastRefusal: text(state.last_refusal),
		lastError: text(state.last_error),
		notRestored: isObject(view.not_restored),
		windows: parseWindows(state.windows, view.windows_lease_left_ms),
		stationFlows: parseStationFlows(state.station_flows, view.station_flows_lease_left_ms),
		credentials: parseCredentials(view.credentials)
	};
}

/* The program's output, {views} or {error}. */
function parseOutput(output, uptime, hints) {
	let document = null;

	try {
		document = JSON.parse(output);
	}
	catch (e) {
		return { error: e.message };
	}

	if (!isObject(document))
		return { error: _('not a JSON object') };

	if (document.schema !== SCHEMA)
		return { error: _('its schema is %s, this page reads %d').format(document.schema, SCHEMA) };

	if (!Array.isArray(document.agents) || !document.agents.every(isObject))
		return { error: _('it has no list of agents') };

	return { views: document.agents.map(view => parseView(view, uptime, hints)) };
}

/* What the program printed and how it ended, {views} or {missing} or {denied} or {error}. */
function parseResult(result, uptime, hints) {
	if (result instanceof Error) {
		switch (result.name) {
		case 'NotFoundError':
			return { missing: true };

		case 'PermissionError':
			return { denied: true };
		}

		return { error: result.message };
	}

	if (result.code !== 0 && result.code !== EXIT_NOT_RUNNING)
		return { error: text(result.stderr).trim() || _('exit code %d').format(result.code) };

	return parseOutput(text(result.stdout), uptime, hints);
}

/* What procd has of the service: is an instance running, and how did one end that is not. */
function parseService(reply) {
	const service = isObject(reply) && isObject(reply[SERVICE]) ? reply[SERVICE] : {};
	const instances = isObject(service.instances) ? Object.keys(service.instances).map(name => {
		return service.instances[name];
	}).filter(isObject) : [];
	const ended = instances.filter(instance => instance.running !== true);

	return {
		known: instances.length > 0,
		running: instances.length > ended.length,
		exitCode: ended.length > 0 ? number(ended[0].exit_code) : null
	};
}

/* The one certificate that all agents of this access point share; null if none has written about it. */
function credentialsOf(views) {
	const known = views.filter(view => view.credentials !== null);
	const current = known.filter(view => view.running);

	return known.length > 0 ? (current[0] || known[0]).credentials : null;
}

/* What section main says; null if there is none. */
function readSection() {
	if (!uci.get('airbound', 'main'))
		return null;

	const option = name => uci.get('airbound', 'main', name);

	return {
		enabled: option('enabled') === '1',
		hasController: L.toArray(option('controller')).length > 0,
		hasToken: Boolean(option('token') || option('token_file'))
	};
}

return baseclass.extend({
	/*
	 * Asks the router; never fails. The answer:
	 *   configured  there is a section main in /etc/config/airbound
	 *   enabled, hasController, hasToken  what it says
	 *   running     an agent is running
	 *   service     {known, running, exitCode}: procd's instance
	 *   uptime      of the router, in seconds; 0: not known
	 *   views       one for each BSS that an agent is or was there for
	 *   credentials the certificate
	 *   missing, denied, error  why there are no views
	 */
	load() {
		/* Another page or program may have changed the file. */
		uci.unload('airbound');

		return Promise.all([
			/* Read at once: the next refresh may unload the file before a slow router has given the other answers. */
			L.resolveDefault(uci.load('airbound').then(readSection), null),
			L.resolveDefault(callServiceList(SERVICE), {}),
			L.resolveDefault(callSystemInfo(), 0),
			fs.exec(PROGRAM, [ 'status', '--json' ]).catch(error => error),
			L.resolveDefault(callHostHints(), {})
		]).then(answers => {
			const section = answers[0];
			const parsed = parseResult(answers[3], answers[2], isObject(answers[4]) ? answers[4] : {});
			const views = parsed.views || [];
			const service = parseService(answers[1]);

			return {
				configured: section !== null,
				enabled: section !== null && section.enabled,
				hasController: section !== null && section.hasController,
				hasToken: section !== null && section.hasToken,
				service: service,
				running: service.running || views.some(view => view.running),
				uptime: number(answers[2]) || 0,
				views: views,
				credentials: credentialsOf(views),
				missing: parsed.missing === true,
				denied: parsed.denied === true,
				error: parsed.error || ''
			};
		});
	},

	/*
	 * Starts the agent, or stops it for good: then all devices send as without it. What else waits to be applied by
	 * this user is not applied with it: the promise is rejected. It is rejected as well if applying fails; then the
	 * configuration is as before.
	 */
	switchTo(enabled) {
		return uci.changes().then(waiting => {
			if (Object.keys(waiting).length)
				throw new Error(_('other changes wait to be applied; apply or revert them first'));

			uci.set('airbound', 'main', 'enabled', enabled ? '1' : '0');

			return uci.save().then(() => uci.apply()).catch(error => {
				/* Else the change would wait, look as if it were made, and be applied with the user's next one. */
				return L.resolveDefault(callRevert('airbound'), null).then(() => {
					throw typeof(error) === 'number' ? new Error(rpc.getStatusText(error)) : error;
				});
			});
		});
	},

	/* Asks the controller for a check of each BSS. The promise is rejected, with the reason, if none could be asked. */
	askForChecks() {
		return fs.exec(PROGRAM, [ 'check' ]).then(result => {
			if (result.code !== 0)
				throw new Error(text(result.stdout).trim() || text(result.stderr).trim() ||
					_('exit code %d').format(result.code));
		});
	},

	/* What a certificate needs at a time (milliseconds): one of the codes below; '' if it is good. */
	certificateNeed(credentials, nowMS) {
		if (credentials === null || credentials.plainText)
			return '';

		if (!credentials.id)
			return credentials.error ? 'enrolment-failed' : 'not-enrolled';

		if (credentials.notAfter !== null && credentials.notAfter <= nowMS)
			return 'ended';

		const left = credentials.notAfter === null ? Infinity : credentials.notAfter - nowMS;
		const overdue = credentials.nextRenewal === null || credentials.nextRenewal < nowMS;

		if (left < DAYS_OF_WARNING * DAY_MS && (overdue || credentials.error))
			return 'ends-soon';

		return credentials.error ? 'failing' : '';
	}
});
