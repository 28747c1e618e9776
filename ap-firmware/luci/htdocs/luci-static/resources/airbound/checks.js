// SPDX-License-Identifier: Apache-2.0
'use strict';
'require baseclass';
'require airbound.format as format';

/* A check: what the controller found out about the cell with Airbound and without, turn by turn. */

function runs(check) {
	return check !== null && !check.refusal && !check.line;
}

function progress(check) {
	return check.turn ? _('turn %d of %d').format(check.turn, check.turns)
		: _('Asked for; the controller has not answered yet.');
}

function refusal(check) {
	return check.turn
		? _('No result, in turn %d of %d: %s').format(check.turn, check.turns, check.refusal)
		: _('None: %s').format(check.refusal);
}

function ago(check, uptime) {
	return check.askedMS === null || !uptime ? []
		: [ E('br'), E('small', {}, [
			_('asked for %s ago').format(format.duration(Math.max(0, uptime * 1000 - check.askedMS)))
		]) ];
}

function result(check) {
	return [ E('strong', {}, [ check.verdict ]), E('br'), E('code', {}, [ check.line ]) ];
}

return baseclass.extend({
	/* Whether it is neither refused nor over. */
	runs: runs,

	/* How far it is, or what came out, and how long ago it was asked for; without a result, the last one before. */
	text(check, uptime) {
		if (check === null)
			return '-';

		if (!runs(check) && !check.refusal)
			return result(check).concat(ago(check, uptime));

		const now = runs(check) ? [ E('strong', {}, [ progress(check) ]) ] : [ refusal(check) ];
		const last = check.last ? [ E('br') ].concat(result(check.last), ago(check.last, uptime)) : [];

		return now.concat(ago(check, uptime), last);
	}
});
