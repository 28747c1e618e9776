// SPDX-License-Identifier: Apache-2.0
'use strict';
'require view';
'require dom';
'require poll';
'require airbound.agents as agents';
'require airbound.checks as checks';
'require airbound.format as format';
'require airbound.periods as periods';
'require airbound.problems as problems';
'require airbound.summary as summary';

function connectionOf(account) {
	const running = account.views.filter(view => view.running);
	const connected = running.filter(view => view.connected);
	const addresses = [];

	running.forEach(view => {
		if (view.controller && addresses.indexOf(view.controller) < 0)
			addresses.push(view.controller);
	});

	if (!running.length)
		return '-';

	const state = connected.length === running.length ? _('connected')
		: connected.length === 0 ? _('not connected, the agent tries again')
			: _('%d of %d BSSs connected').format(connected.length, running.length);

	return [ E('strong', {}, [ state ]), addresses.length ? ': ' + addresses.join(', ') : '' ];
}

function certificateOf(account, now) {
	const credentials = account.credentials;

	if (credentials === null)
		return '-';

	if (credentials.plainText)
		return _('none: connections are not encrypted');

	if (!credentials.id)
		return _('not enrolled');

	const lines = [ credentials.id ];

	if (credentials.notAfter !== null)
		lines.push(E('br'), credentials.notAfter > now
			? _('until %s (in %s)')
				.format(format.date(credentials.notAfter), format.duration(credentials.notAfter - now))
			: _('ended %s').format(format.date(credentials.notAfter)));

	if (credentials.nextRenewal !== null && credentials.nextRenewal > now)
		lines.push(E('br'), _('next renewal %s').format(format.date(credentials.nextRenewal)));

	return lines;
}

function agentOf(account) {
	const first = account.views.filter(view => view.running)[0];

	if (!account.running)
		return account.configured && !account.enabled ? _('disabled') : _('not running');

	if (!first)
		return E('strong', {}, [ _('running') ]);

	return [ E('strong', {}, [ _('running') ]), ', ',
		first.version ? _('version %s').format(first.version) + ', ' : '',
		first.pid === null ? '' : _('process %d').format(first.pid) ];
}

function agentTable(account, now) {
	return E('table', { 'class': 'table', 'id': 'airbound-agent' }, [
		[ _('Agent'), agentOf(account) ],
		[ _('Controller'), connectionOf(account) ],
		[ _('Certificate'), certificateOf(account, now) ]
	].map(row => {
		return E('tr', { 'class': 'tr' }, [
			E('td', { 'class': 'td left', 'width': '33%' }, [ row[0] ]),
			E('td', { 'class': 'td left' }, [].concat(row[1]))
		]);
	}));
}

/* A table whose cells name their column, as LuCI's style for small screens needs it. */
function table(id, titles, rows) {
	const head = E('tr', { 'class': 'tr table-titles' },
		titles.map(title => E('th', { 'class': 'th left' }, [ title ])));
	const body = rows.map(row => E('tr', { 'class': 'tr' },
		row.map((cell, i) => E('td', { 'class': 'td left', 'data-title': titles[i] }, [].concat(cell)))));

	if (!rows.length)
		body.push(E('tr', { 'class': 'tr placeholder' }, [
			E('td', { 'class': 'td' }, [ E('em', {}, [ _('There is none.') ]) ])
		]));

	return E('table', { 'class': 'table', 'id': id }, [ head ].concat(body));
}

function networkOf(view) {
	if (!view.ssid && !view.bssid)
		return '-';

	return [ E('strong', {}, [ view.ssid || _('hidden or unknown') ]), E('br'), E('small', {}, [ view.bssid || '-' ]) ];
}

function channelOf(view) {
	if (view.links > 1)
		return _('%d links (multi-link device)').format(view.links);

	return view.frequency === null ? view.band || '-' : _('%s, %d MHz').format(view.band, view.frequency);
}

function lastErrorOf(view) {
	if (view.lastError)
		return view.lastError;

	return view.lastRefusal ? _('refused a command: %s').format(view.lastRefusal) : '-';
}

function bssRow(view) {
	return [
		view.interfaceName || '?',
		networkOf(view),
		channelOf(view),
		!view.running ? _('no agent') : view.connected ? _('yes') : _('no'),
		view.running && view.stations !== null ? String(view.stations) : '-',
		view.running ? format.age(view.reportAgeMS) : '-',
		lastErrorOf(view)
	];
}

/* A queue's parameters; of those that equal another queue's nothing, if there is one. */
function parametersOf(queue, other) {
	const differs = name => !other || queue[name] !== other[name];
	const parts = [];

	if (differs('aifsn'))
		parts.push(_('AIFSN %s').format(queue.aifsn));

	if (differs('cw_min') || differs('cw_max'))
		parts.push(_('CW %s to %s').format(queue.cw_min, queue.cw_max));

	if (differs('txop_limit') && queue.txop_limit)
		parts.push(_('TXOP %d µs').format(queue.txop_limit * 32));

	return parts.join(', ');
}

/* The queues in force; those that are not the access point's own with what they replace. */
function queueLines(view) {
	const lines = [];
	const set = view.generation === 0 ? [] : view.queues;
	const named = (queues, category) => {
		return queues.filter(queue => queue.category === category)[0];
	};

	set.forEach(queue => {
		const own = named(view.own, queue.category);
		const replaced = own ? parametersOf(own, queue) : '';

		lines.push(E('div', {}, [
			E('strong', {}, [ '%s: %s'.format(queue.category, parametersOf(queue)) ]),
			replaced ? ' ' + _('(own: %s)').format(replaced) : ''
		]));
	});

	view.own.forEach(queue => {
		if (!named(set, queue.category))
			lines.push(E('div', {}, [ '%s: %s'.format(queue.category, parametersOf(queue)) ]));
	});

	if (view.generation !== 0)
		view.announced.forEach(queue => {
			lines.push(E('div', {}, [
				E('strong', {}, [ _('stations, %s: %s').format(queue.category, parametersOf(queue)) ])
			]));
		});

	return lines;
}

function edcaRow(view) {
	const fromController = view.generation !== 0;
	const why = [];

	if (view.refusal)
		why.push(E('div', {}, [ _('The controller cannot set any: %s').format(view.refusal) ]));

	if (view.reason)
		why.push(E('div', {}, [ view.reason ]));

	if (fromController && view.leaseLeftMS > 0)
		why.push(leaseLine(view.leaseLeftMS));

	return [
		view.interfaceName || '?',
		fromController ? E('strong', {}, [ _('the controller\'s') ]) : _('the access point\'s own'),
		queueLines(view),
		why.length ? why : '-'
	];
}

function leaseLine(leaseLeftMS) {
	return E('div', {}, [ _('The lease lasts for at least %.1f s.').format(leaseLeftMS / 1000) ]);
}

function limitedOf(windows) {
	if (windows.refusal)
		return _('cannot be limited');

	if (windows.generation === 0)
		return _('not limited');

	if (windows.stations === null)
		return E('strong', {}, [ _('limited') ]);

	return E('strong', {}, [ windows.stations === 1 ? _('1 station')
		: _('%d stations').format(windows.stations) ]);
}

/* Why something that the controller may set is as it is, and for how long at least. */
function becauseOf(part) {
	const why = [];

	if (part.refusal)
		why.push(E('div', {}, [ part.refusal ]));
	else if (part.reason)
		why.push(E('div', {}, [ part.reason ]));

	if (part.generation !== 0 && part.leaseLeftMS > 0)
		why.push(leaseLine(part.leaseLeftMS));

	return why.length ? why : '-';
}

function windowsRow(view) {
	const windows = view.windows;

	if (windows === null)
		return [
			view.interfaceName || '?', _('switched off'), '-',
			_('The setting "Receive windows" of this access point does not permit it.')
		];

	return [
		view.interfaceName || '?',
		limitedOf(windows),
		windows.refusal || windows.connections === null ? '-' : String(windows.connections),
		becauseOf(windows)
	];
}

function asVideoOf(flows) {
	if (flows.refusal)
		return _('cannot be changed');

	if (flows.generation === 0)
		return _('none');

	const stations = flows.stations === null ? _('some stations')
		: flows.stations === 1 ? _('1 station') : _('%d stations').format(flows.stations);

	return E('strong', {}, [ flows.flows === null ? stations
		: flows.flows === 1 ? _('1 flow to %s').format(stations)
			: _('%d flows to %s').format(flows.flows, stations) ]);
}

function stationFlowsRow(view) {
	const flows = view.stationFlows;

	if (flows === null)
		return [
			view.interfaceName || '?', _('switched off'), '-',
			_('The setting "Live streams" of this access point does not permit it.')
		];

	return [
		view.interfaceName || '?',
		asVideoOf(flows),
		flows.refusal || flows.packets === null ? '-' : String(flows.packets),
		becauseOf(flows)
	];
}

function section(title, description, node) {
	return E('div', { 'class': 'cbi-section' }, [
		E('h3', {}, [ title ]),
		description === '' ? '' : E('div', { 'class': 'cbi-section-descr' }, [ description ]),
		node
	]);
}

function bssTable(account) {
	const titles = [
		_('Interface'), _('Network'), _('Channel'), _('Connected'), _('Stations reported'), _('Last report'),
		_('Last error')
	];

	return table('airbound-bss', titles, account.views.map(bssRow));
}

function edcaTable(running) {
	const titles = [ _('Interface'), _('In force'), _('Parameters'), _('Because') ];

	return table('airbound-edca', titles, running.map(edcaRow));
}

function windowsTable(running) {
	const titles = [ _('Interface'), _('Limited'), _('Connections followed'), _('Because') ];

	return table('airbound-windows', titles, running.map(windowsRow));
}

function stationFlowsTable(running) {
	const titles = [ _('Interface'), _('Sent as video'), _('Packets so far'), _('Because') ];

	return table('airbound-station-flows', titles, running.map(stationFlowsRow));
}

/* Mb/s, for a column that has the unit in its title. */
function megabits(kbps) {
	return kbps < 50 ? '-' : '%.1f'.format(kbps / 1000);
}

function nameOf(view, device) {
	const more = [ device.address, device.mac, view.interfaceName ]
		.filter(part => part && part !== device.name).join(', ');

	return [ device.uploads ? E('strong', {}, [ device.name ]) : device.name, E('br'), E('small', {}, [ more ]) ];
}

/* What a device may have in flight, or why there is no limit. */
function limitOf(view, device) {
	if (device.limitBytes > 0)
		return E('strong', {}, [ _('%d kB in flight').format(Math.round(device.limitBytes / 1000)) ]);

	if (view.windows === null)
		return _('none: switched off');

	if (view.windows.refusal)
		return _('none: not possible here');

	if (!device.uploads)
		return _('none: it does not upload');

	return view.windows.generation === 0 && view.windows.reason ? _('none: %s').format(view.windows.reason)
		: _('none by the controller: it has an agent of its own, or is exempt');
}

function deviceRow(entry) {
	const device = entry.device;

	return [
		nameOf(entry.view, device),
		'%.1f %%'.format(device.airPercent),
		megabits(device.upKbps),
		megabits(device.downKbps),
		device.signal === null ? '-' : String(device.signal),
		'%s / %s'.format(megabits(device.upPHYKbps), megabits(device.downPHYKbps)),
		device.rttMS === null ? '-' : '%.1f (%.1f)'.format(device.rttMS, device.leastRttMS),
		limitOf(entry.view, device)
	];
}

function deviceTable(account) {
	const titles = [
		_('Device'), _('Part of the air'), _('Up (Mb/s)'), _('Down (Mb/s)'), _('Signal (dBm)'),
		_('PHY rate, up / down (Mb/s)'), _('Delay (least), ms'), _('Limit')
	];

	return table('airbound-devices', titles, summary.devices(account).map(deviceRow));
}

function periodRow(view, uptime) {
	const textOf = period => view.mode ? periods.text(period, uptime) : '-';

	return [
		view.interfaceName || '?',
		E('strong', {}, [ periods.mode(view) ]),
		textOf(view.before),
		textOf(view.since),
		periods.change(view.before, view.since)
	];
}

function periodTable(running, uptime) {
	const titles = [ _('Interface'), _('Mode'), _('Before the last switch'), _('Since then'), _('Change') ];

	return table('airbound-periods', titles, running.map(view => periodRow(view, uptime)));
}

/* Why no check could be asked for last. */
let checkFailure = '';

/* What checks found, and the button that asks for them. */
function checkTable(running, uptime) {
	const titles = [ _('Interface'), _('Check') ];
	const rows = running.map(view => [ view.interfaceName || '?', checks.text(view.check, uptime) ]);
	const failed = E('div', { 'id': 'airbound-check-failed' }, [ checkFailure ]);
	const ask = event => {
		event.target.disabled = true;

		return agents.askForChecks().then(() => '', error => {
			return _('Not asked for: %s').format(error.message || String(error));
		}).then(failure => {
			checkFailure = failure;
			dom.content(failed, [ failure ]);
			event.target.disabled = failure === '';
		});
	};

	return E('div', {}, [
		table('airbound-checks', titles, rows),
		E('p', {}, [
			E('button', {
				'id': 'airbound-check',
				'class': 'btn cbi-button cbi-button-action',
				'disabled': running.some(view => checks.runs(view.check)) ? '' : null,
				'click': ask
			}, [ _('Check for ten minutes') ]),
			failed
		])
	]);
}

/* Why the switch failed last; the page is drawn anew every few seconds. */
let switchFailure = '';

/* The switch of the whole: what is not on is as if the agent were not installed. */
function switchOf(account) {
	if (!account.configured || account.missing)
		return '';

	const failed = E('div', { 'id': 'airbound-switch-failed' }, [ switchFailure ]);
	const turn = event => {
		event.target.disabled = true;

		return agents.switchTo(!account.enabled).then(() => '', error => {
			return _('Not changed: %s').format(error.message || String(error));
		}).then(failure => {
			switchFailure = failure;
			dom.content(failed, [ failure ]);
			event.target.disabled = failure === '';
		});
	};

	return E('p', {}, [
		E('button', {
			'id': 'airbound-switch',
			'class': 'btn cbi-button cbi-button-%s'.format(account.enabled ? 'negative' : 'positive'),
			'click': turn
		}, [ account.enabled ? _('Switch off') : _('Switch on') ]),
		' ',
		account.enabled ? _('Then all devices send as without it, until it is switched on again.') : '',
		failed
	]);
}

function summaryOf(account) {
	const now = summary.of(account);

	return E('div', { 'id': 'airbound-summary', 'class': 'alert-message ' + now.level }, [
		E('p', {}, [ E('strong', {}, [ now.title ]), ' ' + now.text ]),
		switchOf(account)
	]);
}

function contents(account, now) {
	const running = account.views.filter(view => view.running);
	const nodes = [ summaryOf(account) ].concat(problems.messages(account, now));

	if (running.length) {
		nodes.push(section(_('Before and after'),
			_('What was carried, in both directions, and the delay of the devices that upload: means over the last ' +
				'hour in which two devices or more uploaded, before the controller was last switched between ' +
				'observe and control, and since then. "airbound mode observe --for 10m" where the controller ' +
				'runs makes such a switch.'),
			periodTable(running, account.uptime)));
		nodes.push(section(_('Is it worth it here?'),
			_('For ten minutes the controller observes and controls in turn, 50 s each, and compares. Have two ' +
				'devices or more upload all the time: a speed test again and again, or a backup. The mode is as ' +
				'before afterwards.'),
			checkTable(running, account.uptime)));
		nodes.push(section(_('Devices'),
			_('Who takes the air, in the last seconds; those in bold upload. The delay is that of their TCP ' +
				'connections, to the other side and back, with the least of them in brackets.'),
			deviceTable(account)));
	}

	nodes.push(section(_('Access point agent'), '', agentTable(account, now)));
	nodes.push(section(_('BSSs'), '', bssTable(account)));

	if (!running.length)
		return nodes;

	nodes.push(section(_('EDCA parameters in force'),
		_('How long the access point\'s own queues wait for the air (IEEE 802.11, EDCA). The controller sets ' +
			'those for best effort and background while phones upload; what it does not renew ends.'),
		edcaTable(running)));
	nodes.push(section(_('Receive windows'),
		_('What stations without a working agent of their own may have in flight. The controller limits it by the ' +
			'receive windows in the packets that they are sent; what it does not renew ends.'),
		windowsTable(running)));
	nodes.push(section(_('Live streams'),
		_('Packets to stations that are sent as video, such as the answers to a live stream of theirs. The ' +
			'controller chooses them; what it does not renew ends.'),
		stationFlowsTable(running)));

	return nodes;
}

return view.extend({
	handleSaveApply: null,
	handleSave: null,
	handleReset: null,

	load() {
		return agents.load();
	},

	render(account) {
		const body = E('div', { 'id': 'airbound-status' }, contents(account, Date.now()));

		poll.add(() => {
			return agents.load().then(newer => {
				dom.content(body, contents(newer, Date.now()));
			});
		});

		return E('div', {}, [
			E('h2', {}, [ _('Airbound') ]),
			E('div', { 'class': 'cbi-map-descr' }, [
				_('What the agent on this access point reports to the Airbound controller, and what the controller ' +
					'has set here.')
			]),
			body
		]);
	}
});
