// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for LuCI's fs, see cbi.js.
'use strict';
'require baseclass';
'require rpc';

const NAMES = { 4: 'NotFoundError', 6: 'PermissionError' };

const callExec = rpc.declare({ object: 'file', method: 'exec', params: [ 'command', 'params' ] });

return baseclass.extend({
	exec(command, params) {
		return callExec(command, params).then(answer => {
			if (typeof(answer) !== 'number')
				return answer;

			const error = new Error(`ubus status ${answer}`);
			error.name = NAMES[answer] || 'Error';

			throw error;
		});
	}
});
