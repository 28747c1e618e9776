// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for LuCI's rpc, see cbi.js: calls of ubus over HTTP.
'use strict';
'require baseclass';

/* Of ubus_msg_status, in LuCI's words. */
const STATUS = {
	0: 'Command OK', 2: 'Invalid argument', 4: 'Resource not found', 5: 'No data received', 6: 'Permission denied'
};

let last = 0;

function call(object, method, values) {
	const params = [ L.env.sessionid, object, method, values ];

	return fetch(L.env.ubuspath, {
		method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: ++last, method: 'call', params })
	}).then(answer => answer.json()).then(message => {
		if (message.error)
			throw new Error(`${object}.${method}: ${message.error.message}`);

		return message.result;
	});
}

return baseclass.extend({
	/* expect: the default, whose type the answer must have; status 0 without data, or an error, is the status alone. */
	declare(options) {
		const unknown = Object.keys(options).filter(o => ![ 'object', 'method', 'params', 'expect' ].includes(o));

		if (unknown.length)
			throw new TypeError(`the stand-in for LuCI has no ${unknown} of rpc.declare()`);

		return (...values) => {
			const named = Object.fromEntries((options.params || []).map((name, i) => [ name, values[i] ])
				.filter(([ , value ]) => value !== undefined && value !== null));

			return call(options.object, options.method, named).then(([ status, data ]) => {
				let answer = data === undefined ? status : data;

				Object.entries(options.expect || {}).forEach(([ key, fallback ]) => {
					if (key !== '')
						answer = answer === null || typeof(answer) !== 'object' ? undefined : answer[key];

					if (Object.prototype.toString.call(answer) !== Object.prototype.toString.call(fallback))
						answer = fallback;
				});

				return answer;
			});
		};
	},

	getStatusText(status) { return STATUS[status] || 'Unknown error code'; }
});
