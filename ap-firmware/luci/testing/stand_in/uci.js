// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for LuCI's uci, see cbi.js: values are read once, changed here, and written by save().
'use strict';
'require baseclass';
'require rpc';

const callGet = rpc.declare({ object: 'uci', method: 'get', params: [ 'config' ] });
const callSet = rpc.declare({ object: 'uci', method: 'set', params: [ 'config', 'section', 'values' ] });
const callDelete = rpc.declare({ object: 'uci', method: 'delete', params: [ 'config', 'section', 'options' ] });

const callChanges = rpc.declare({ object: 'uci', method: 'changes' });
const callApply = rpc.declare({ object: 'uci', method: 'apply', params: [ 'timeout', 'rollback' ] });
const callConfirm = rpc.declare({ object: 'uci', method: 'confirm' });

const loaded = {};
let changed = {};

return baseclass.extend({
	load(config) {
		if (config in loaded)
			return Promise.resolve([ config ]);

		return callGet(config).then(answer => {
			if (typeof(answer) === 'number')
				throw new Error(`uci get ${config}: status ${answer}`);

			loaded[config] = answer.values;

			return [ config ];
		});
	},

	unload(config) { delete loaded[config]; },

	get(config, section, option) {
		const values = loaded[config] ? loaded[config][section] : undefined;

		if (values === undefined)
			return null;

		if (option === undefined)
			return values;

		const newer = changed[`${config}.${section}`] || {};
		const value = option in newer ? newer[option] : values[option];

		return value === undefined ? null : value;
	},

	set(config, section, option, value) {
		const key = `${config}.${section}`;

		changed[key] = changed[key] || {};
		changed[key][option] = value;
	},

	unset(config, section, option) {
		if (this.get(config, section, option) !== null)
			this.set(config, section, option, null);
	},

	save() {
		const calls = Object.entries(changed).flatMap(([ key, values ]) => {
			const [ config, section ] = key.split('.');
			const set = Object.fromEntries(Object.entries(values).filter(([ , value ]) => value !== null));
			const removed = Object.keys(values).filter(option => values[option] === null);

			delete loaded[config];

			return [
				...(Object.keys(set).length ? [ callSet(config, section, set) ] : []),
				...(removed.length ? [ callDelete(config, section, removed) ] : [])
			];
		});

		changed = {};

		return Promise.all(calls);
	},

	changes() { return callChanges().then(answer => answer.changes); },

	/* With a way back, as LuCI: what is not confirmed is undone by rpcd. */
	apply(timeout) {
		return callApply(timeout || 10, true).then(status => status === 0 ? callConfirm() : Promise.reject(status));
	}
});
