// SPDX-License-Identifier: Apache-2.0
//
// LuCI's modules are no ECMAScript modules: LuCI loads the text, finds the lines 'require X', and calls it as the body
// of a function with these as parameters. The rules are those of eslint's recommendation, and LuCI's style: tabs, single
// quotes, semicolons, no spaces but those that LuCI has.

import js from '@eslint/js';
import globals from 'globals';

const luci = { L: 'readonly', E: 'readonly', _: 'readonly' };
const required = [
	'agents', 'baseclass', 'checks', 'dom', 'form', 'format', 'fs', 'periods', 'poll', 'problems', 'rpc', 'summary', 'uci',
	'view'
];

const rules = {
	'array-bracket-spacing': [ 'error', 'always' ],
	'brace-style': [ 'error', 'stroustrup', { 'allowSingleLine': true } ],
	'comma-dangle': [ 'error', 'never' ],
	'consistent-return': 'error',
	'eqeqeq': 'error',
	'indent': [ 'error', 'tab', {
		'SwitchCase': 0, 'flatTernaryExpressions': false, 'offsetTernaryExpressions': false, 'ignoredNodes': [
			'ConditionalExpression', 'CallExpression > BinaryExpression', 'ConditionalExpression *'
		]
	} ],
	'max-len': [ 'error', { 'code': 120, 'tabWidth': 4 } ],
	'no-implicit-globals': 'off',
	'no-inner-declarations': 'error',
	'no-shadow': 'error',
	'no-trailing-spaces': 'error',
	'no-unused-vars': [ 'error', { 'args': 'after-used', 'argsIgnorePattern': '^sectionID$' } ],
	'no-use-before-define': [ 'error', { 'functions': false } ],
	'no-var': 'error',
	'object-shorthand': [ 'error', 'methods' ],
	'prefer-const': 'error',
	'quotes': [ 'error', 'single', { 'avoidEscape': false } ],
	'semi': [ 'error', 'always' ],
	'strict': [ 'error', 'global' ]
};

export default [
	js.configs.recommended,
	{
		files: [ 'ap-firmware/luci/htdocs/**/*.js' ],
		languageOptions: {
			// What browsers have that OpenWrt 24.10's LuCI itself needs.
			ecmaVersion: 2020,
			sourceType: 'script',
			parserOptions: { ecmaFeatures: { globalReturn: true } },
			globals: { ...globals.browser, ...luci, ...Object.fromEntries(required.map(name => [ name, 'readonly' ])) }
		},
		linterOptions: { reportUnusedDisableDirectives: 'error' },
		rules
	},
	{
		// The stand-in for LuCI is for today's Chromium, and may add to what a browser has.
		files: [ 'ap-firmware/luci/testing/stand_in/*.js' ],
		languageOptions: {
			ecmaVersion: 2022,
			sourceType: 'script',
			parserOptions: { ecmaFeatures: { globalReturn: true } },
			globals: { ...globals.browser, ...luci, ...Object.fromEntries(required.map(name => [ name, 'readonly' ])) }
		},
		linterOptions: { reportUnusedDisableDirectives: 'error' },
		rules: { ...rules, 'no-redeclare': 'off', 'no-shadow': 'off', 'consistent-return': 'off' }
	}
];
