// SPDX-License-Identifier: Apache-2.0
'use strict';
'require baseclass';
'require airbound.agents as agents';
'require airbound.format as format';

/* What is wrong with an access point's agent, and what to do: one message for each. */

/* A sentence with markup. Nothing but our own text may be in it: what a network sends goes into text nodes. */
function html(sentence) {
	const node = E('span', {}, sentence.format(L.url('admin/services/airbound/settings')));

	/* LuCI's blue is hard to read on the colours of messages. */
	node.querySelectorAll('a').forEach(link => {
		link.style.color = 'inherit';
		link.style.textDecoration = 'underline';
	});

	return node;
}

function message(level, title, lines) {
	return E('div', { 'class': 'alert-message ' + level }, [
		E('h4', {}, [ title ])
	].concat(lines.map(line => E('p', {}, [].concat(line)))));
}

function newToken() {
	return html(_('Make a new token where the controller runs, with <code>airbound enroll access-point NAME</code>, ' +
		'and enter it in the <a href="%s">settings</a>.'));
}

/* What to do about a failure of enrolment, renewal or verification, by the agent's code for it. */
function advice(code) {
	switch (code) {
	case 'TOKEN_UNKNOWN':
	case 'TOKEN_USED':
	case 'TOKEN_EXPIRED':
	case 'TOKEN_OF_ANOTHER_ROLE':
	case 'TOKEN_UNREADABLE':
	case 'NOT_ENROLLED':
		return [ newToken() ];

	case 'TOKEN_MALFORMED':
		return [ html(_('Copy the whole token, 66 characters, into the <a href="%s">settings</a>.')) ];

	case 'CONTROLLER_UNREACHABLE':
		return [ html(_('Check that this access point has a network, and the addresses in the ' +
			'<a href="%s">settings</a>. The agent tries again by itself.')) ];

	case 'CONTROLLER_NOT_IN_TOKEN':
		return [
			html(_('The token is of another controller. Check the addresses in the <a href="%s">settings</a>.')),
			newToken()
		];

	case 'CONTROLLER_NOT_VERIFIED':
		return [ html(_('Check the addresses in the <a href="%s">settings</a>, and the clock of this access point.')) ];

	case 'CERTIFICATE_REVOKED':
		return [
			_('An operator revoked this access point. To let it in again, remove the directory of the certificate.'),
			newToken()
		];

	case 'DISK_FULL':
		return [ _('Delete what is not needed from the flash memory. The agent tries again by itself.') ];

	case 'DISK_READ_ONLY':
		return [ _('The flash memory can only be read. Restart the access point; if that does not help, it is worn.') ];
	}

	return null;
}

function agentMessages(account) {
	if (account.missing)
		return [ message('danger', _('The agent is not installed'), [
			_('There is no program /usr/sbin/airbound-ap on this access point. Install the package airbound-ap.')
		]) ];

	if (account.denied)
		return [ message('danger', _('No permission'), [
			_('You may not run "airbound-ap status --json" on this access point. Log in as a user with the right ' +
				'luci-app-airbound; after an installation log out and in again.')
		]) ];

	const messages = [];

	if (account.error)
		messages.push(message('danger', _('The status cannot be read'), [
			E('code', {}, [ account.error ]),
			_('The packages airbound-ap and luci-app-airbound may be of different versions: update both.')
		]));

	if (!account.configured)
		messages.push(message('danger', _('No configuration'), [
			_('There is no section "main" in /etc/config/airbound. Install the package airbound-ap again.')
		]));
	else if (!account.enabled)
		messages.push(message('notice', _('The agent is disabled'), [
			html(_('The access point works as without it. Enable it in the <a href="%s">settings</a>.'))
		]));
	else if (!account.hasController)
		messages.push(message('warning', _('No controller'), [
			html(_('Enter the address of the controller in the <a href="%s">settings</a>.'))
		]));
	else if (!account.running)
		messages.push(message('danger', _('The agent is not running'), [
			(account.service.exitCode !== null)
				? _('It is enabled, and ended with exit code %d. The system log has the reason.')
					.format(account.service.exitCode)
				: _('It is enabled, but has not been started, or has ended. The system log has the reason.'),
			html(_('To start it: <code>service airbound-ap restart</code>, or apply the <a href="%s">settings</a>.'))
		]));
	else if (!account.error && !account.views.some(v => v.running))
		messages.push(message('notice', _('No BSS'), [
			_('The agent is running and has found no access point interface. Is the radio enabled?')
		]));

	return messages;
}

function certificateMessages(account, now) {
	const credentials = account.credentials;
	const failure = credentials && credentials.error
		? [ E('code', {}, [ credentials.error ]),
			credentials.errorSince === null ? '' : ' ' + _('(since %s)').format(format.date(credentials.errorSince)) ]
		: [];
	const more = failure.length ? [ failure ] : [];

	switch (agents.certificateNeed(credentials, now)) {
	case 'enrolment-failed':
		return [ message('danger', _('Enrolment failed'), [
			failure
		].concat(advice(credentials.errorCode) || [
			_('If the controller could not be reached, the agent tries again by itself. If the token is wrong, used ' +
				'or expired, it needs another one.'),
			newToken()
		])) ];

	case 'not-enrolled':
		return account.hasToken ? [] : [ message('warning', _('Not enrolled'), [ newToken() ]) ];

	case 'ended':
		return [ message('danger', _('The certificate has ended'), [
			_('It ended on %s, and the controller does not accept it any more. If the clock of this access point is ' +
				'wrong, correct it; the agent then connects by itself.').format(format.date(credentials.notAfter)),
			newToken()
		].concat(more)) ];

	case 'ends-soon':
		return [ message('warning', _('The certificate ends soon'), [
			_('It ends in %s.').format(format.duration(credentials.notAfter - now)),
			_('The agent should have renewed it, which needs a connection to the controller. Without one the access ' +
				'point needs a new token after %s.').format(format.date(credentials.notAfter))
		].concat(more)) ];

	case 'failing':
		return [ message('warning', _('A connection or a renewal fails'), [
			failure
		].concat(advice(credentials.errorCode) || [ _('The agent tries again by itself.') ])) ];
	}

	return [];
}

function bssMessages(view) {
	const messages = [];
	const name = view.interfaceName || '?';

	if (view.notRestored)
		messages.push(message('warning', _('%s: EDCA parameters were left changed').format(name), [
			_('The agent ended without writing the access point\'s own values back. Its next start does it, and so ' +
				'does a restart of the radio.')
		]));

	if (view.restoreError)
		messages.push(message('warning', _('%s: the access point\'s own EDCA parameters could not be written back')
			.format(name), [ E('code', {}, [ view.restoreError ]), _('The agent tries again.') ]));

	return messages;
}

return baseclass.extend({
	/* The messages for an account of agents.load() at a time (milliseconds). */
	messages(account, now) {
		return [].concat(agentMessages(account), certificateMessages(account, now), ...account.views.map(bssMessages));
	}
});
