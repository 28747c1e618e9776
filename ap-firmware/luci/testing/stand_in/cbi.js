// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for those parts of LuCI that the pages use, for machines that have no LuCI. It is strict: what it does not
// have is an error, so that a page cannot come to need more without this being noticed. This file: text.
'use strict';

window._ = function(sentence) {
	if (typeof(sentence) !== 'string' || sentence === '')
		throw new TypeError('_() of something else than a sentence');

	return sentence;
};

/* Days, hours, minutes and seconds, the first two only if there are any. */
function standInDuration(seconds) {
	const days = Math.floor(seconds / 86400);
	const hours = Math.floor(seconds / 3600) % 24;
	const rest = `${hours}h ${Math.floor(seconds / 60) % 60}m ${seconds % 60}s`;

	return days > 0 ? `${days}d ${rest}` : rest;
}

String.prototype.format = function(...values) {
	let next = 0;
	const filled = String(this).replace(/%(?:%|(\.\d+)?([a-zA-Z]))/g, (match, precision, kind) => {
		if (match === '%%')
			return '%';

		if (next >= values.length)
			throw new TypeError(`format: no value for ${match} in "${this}"`);

		const value = values[next++];

		switch (kind) {
		case 's':
			return String(value);

		case 'd':
			return String(Math.trunc(Number(value)));

		case 'f':
			return Number(value).toFixed(precision ? Number(precision.slice(1)) : 6);

		case 't':
			return standInDuration(Number(value));
		}

		throw new TypeError(`format: the stand-in has no ${match}`);
	});

	if (next < values.length)
		throw new TypeError(`format: ${values.length} values for "${this}"`);

	return filled;
};
