// SPDX-License-Identifier: Apache-2.0
'use strict';
'require view';
'require form';
'require rpc';
'require uci';
'require airbound.agents as agents';

/* What `airbound enroll` prints: 49 octets as base64url. */
const TOKEN = /^[A-Za-z0-9_-]{66}$/;

/* What it prints as one string: airbound1:HOST:PORT:ENROLMENT-PORT:TOKEN, IPv6 addresses in brackets. */
const JOIN = /^airbound1:([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5}):(\d{1,5}):([A-Za-z0-9_-]{66})$/;

/* Emptied at boot, so that the access point would need a new token each time. */
const VOLATILE = /^\/(tmp|var|run|dev|proc|sys)(\/|$)/;

const callDevices = rpc.declare({
	object: 'iwinfo',
	method: 'devices',
	expect: { devices: [] }
});

const callInfo = rpc.declare({
	object: 'iwinfo',
	method: 'info',
	params: [ 'device' ],
	expect: { '': {} }
});

/* The access point interfaces, each with its SSID; empty if the router cannot list them. */
function loadInterfaces() {
	return L.resolveDefault(callDevices(), []).then(names => {
		return Promise.all(names.map(name => {
			return L.resolveDefault(callInfo(name), {}).then(info => {
				return { name: name, ssid: info.ssid || '', mode: info.mode || '' };
			});
		}));
	}).then(interfaces => {
		return interfaces.filter(i => i.mode === '' || i.mode === 'Master');
	});
}

function validateToken(sectionID, value) {
	if (value === '' || TOKEN.test(value.trim()) || JOIN.test(value.trim()))
		return true;

	if (/^airbound/.test(value.trim()))
		return _('the string of "airbound enroll" begins with airbound1: and ends with the token; copy the whole line');

	return _('a token has 66 letters, digits, "-" and "_"; this one has %d characters').format(value.trim().length);
}

function validateDirectory(sectionID, value) {
	if (value === '')
		return true;

	/* Its mode and its owner are set at each start, so it must not be one that others use, such as /etc. */
	if (!/^(\/[^/]+){2,}$/.test(value) || /\/\.\.?(\/|$)/.test(value))
		return _('the absolute path of a directory of its own, such as /etc/airbound');

	return VOLATILE.test(value) ? _('this directory is emptied when the access point starts') : true;
}

function validatePath(sectionID, value) {
	return (value === '' || /^\/[^/]/.test(value)) ? true : _('an absolute path, which begins with /');
}

/* As the agent: the name of a network interface in Linux. */
function validateInterface(sectionID, value) {
	return (value === '' || (value !== '.' && value !== '..' && /^[^/\s]{1,15}$/.test(value)))
		? true : _('the name of a network interface: 1 to 15 characters without "/" and blanks');
}

/* Without a controller the agent ends at once. LuCI asks a check box's validate() for nothing, so parse() refuses. */
const EnableFlag = form.Flag.extend({
	__name__: 'CBI.EnableFlag',

	parse(sectionID) {
		const controllers = this.section.formvalue(sectionID, 'controller');

		const token = this.section.formvalue(sectionID, 'token') || '';

		if (this.formvalue(sectionID) === this.enabled && !L.toArray(controllers).length && !JOIN.test(token.trim()))
			return Promise.reject(new TypeError(_('The agent needs a controller: enter its address.')));

		return this.super('parse', [ sectionID ]);
	}
});

/* A string that has the controller's address as well is kept as what it consists of. */
const TokenValue = form.Value.extend({
	__name__: 'CBI.TokenValue',

	write(sectionID, value) {
		const join = value.trim().match(JOIN);

		if (join === null)
			return this.super('write', [ sectionID, value.trim() ]);

		/* Later than the other fields of the page, which remove what they do not have. */
		return Promise.resolve().then(() => {
			uci.set('airbound', sectionID, 'controller', [ '%s:%s'.format(join[1], join[2]) ]);
			uci.set('airbound', sectionID, 'enroll', [ '%s:%s'.format(join[1], join[3]) ]);

			return this.super('write', [ sectionID, join[4] ]);
		});
	}
});

function tokenDescription(account) {
	const credentials = account.credentials;

	if (credentials !== null && credentials.id)
		return account.hasToken
			? _('This access point is enrolled, and the token has been used. Empty the field to remove it. Enter ' +
				'another one only after the certificate has ended or was revoked.')
			: _('This access point is enrolled and needs none, unless its certificate has ended or was revoked.');

	return _('Enrols the access point when the agent starts for the first time. It works once. Make one where the ' +
		'controller runs, with <code>airbound enroll access-point NAME</code>. The string that begins with ' +
		'<code>airbound1:</code> has the address of the controller as well, and fills in the field above.');
}

function addConnection(section, account) {
	let option = section.taboption('general', EnableFlag, 'enabled', _('Enable'),
		_('Report to the controller. Without it the access point works as if the agent were not installed.'));
	option.rmempty = false;

	option = section.taboption('general', form.DynamicList, 'controller', _('Controllers'),
		_('Address and port of the controller, such as <code>controller.example:50051</code>. With several, each ' +
			'attempt takes one of them at random.'));
	option.datatype = 'or(hostport, ipaddrport(1))';
	option.placeholder = 'controller.example:50051';

	option = section.taboption('general', TokenValue, 'token', _('Token'), tokenDescription(account));
	option.password = true;
	option.validate = validateToken;
}

function addRadios(section, interfaces) {
	/* LuCI's MultiValue fails without choices. */
	const kind = interfaces.length ? form.MultiValue : form.DynamicList;
	let option = section.taboption('general', kind, 'interface', _('Interfaces'),
		_('The access point interfaces to report on. None means all, found again as they come and go.'));
	option.placeholder = _('all');

	if (interfaces.length)
		option.create = true;

	interfaces.forEach(i => {
		option.value(i.name, i.ssid === '' ? i.name : '%s (%s)'.format(i.name, i.ssid));
	});

	option = section.taboption('general', form.Flag, 'edca', _('EDCA parameters'),
		_('Let the controller set how long the access point\'s own queues for best effort and background wait for ' +
			'the air: a little longer while phones upload. If hostapd\'s configuration is given as well, it may ' +
			'also set what stations are told about theirs. What the controller does not renew ends.'));
	option.default = option.enabled;
	option.rmempty = false;

	option = section.taboption('general', form.Flag, 'window_clamp', _('Receive windows'),
		_('Let the agent follow the TCP connections of stations, and the controller limit what stations without a ' +
			'working agent of their own have in flight: it lowers the receive windows in the packets that they are ' +
			'sent. What the controller does not renew ends. Needs the package <code>kmod-sched-bpf</code>.'));
	option.default = option.enabled;
	option.rmempty = false;

	option = section.taboption('general', form.Flag, 'station_flows', _('Live streams'),
		_('Let the controller have packets to a station sent as video, such as the answers to a live stream of its ' +
			'own. Nothing in the packets changes. What the controller does not renew ends. Needs the package ' +
			'<code>kmod-sched-bpf</code>.'));
	option.default = option.enabled;
	option.rmempty = false;
}

function addAdvanced(section) {
	let option = section.taboption('advanced', form.DynamicList, 'enroll', _('Enrolment addresses'),
		_('Where the controller enrols access points. By default port 50053 of each controller.'));
	option.datatype = 'or(hostport, ipaddrport(1))';
	option.placeholder = 'controller.example:50053';

	option = section.taboption('advanced', form.Value, 'token_file', _('File of the token'),
		_('A file with the token, instead of the token itself.'));
	option.placeholder = '/etc/airbound.token';
	option.validate = validatePath;

	option = section.taboption('advanced', form.Value, 'credentials_dir', _('Directory of the certificate'),
		_('Has the key and the certificate. It must survive a restart of the access point.'));
	option.placeholder = '/etc/airbound';
	option.validate = validateDirectory;

	option = section.taboption('advanced', form.Value, 'bridge', _('Open vSwitch bridge'),
		_('The Open vSwitch bridge that the access point interfaces are ports of, such as <code>br-lan</code>: the ' +
			'controller then knows which OpenFlow switch this access point has. Leave it empty without Open vSwitch.'));
	option.validate = validateInterface;

	option = section.taboption('advanced', form.Value, 'hostapd_config', _('Configuration of hostapd'),
		_('A file with the access point\'s own EDCA parameters, such as <code>/var/run/hostapd-phy0.conf</code>. ' +
			'Without it hostapd\'s defaults are taken for them.'));
	option.validate = validatePath;

	option = section.taboption('advanced', form.Value, 'interval_ms', _('Interval (ms)'),
		_('Time between two reports, 100 to 60000 ms. An arrival or a departure is reported at once.'));
	option.datatype = 'and(uinteger, range(100,60000))';
	option.placeholder = '1000';

	option = section.taboption('advanced', form.ListValue, 'log_level', _('Log level'),
		_('What the agent writes to the system log.'));
	option.value('debug');
	option.value('info');
	option.value('warn');
	option.value('error');
	option.default = 'info';

	option = section.taboption('advanced', form.Value, 'memory_limit_mb', _('Memory limit (MB)'),
		_('The agent frees memory more often as it comes near this size, 8 to 512 MB.'));
	option.datatype = 'and(uinteger, range(8,512))';
	option.placeholder = '12';
}

return view.extend({
	load() {
		return Promise.all([ agents.load(), loadInterfaces() ]);
	},

	render(data) {
		const account = data[0];

		if (!account.configured) {
			this.handleSaveApply = this.handleSave = this.handleReset = null;

			return E('div', {}, [
				E('h2', {}, [ _('Airbound') ]),
				E('div', { 'class': 'alert-message danger' }, [
					E('h4', {}, [ _('No configuration') ]),
					E('p', {}, [
						_('There is no section "main" in /etc/config/airbound. Install the package airbound-ap again.')
					])
				])
			]);
		}

		const map = new form.Map('airbound', _('Airbound'),
			_('How the agent on this access point reaches the Airbound controller. Changes take effect when they are ' +
				'applied; the agent then starts again.'));
		const section = map.section(form.NamedSection, 'main', 'airbound');
		section.tab('general', _('General settings'));
		section.tab('advanced', _('Advanced settings'));
		addConnection(section, account);
		addRadios(section, data[1]);
		addAdvanced(section);

		return map.render();
	}
});
