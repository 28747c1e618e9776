// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for LuCI, see cbi.js. This file: classes, elements, the loader of modules, views.
'use strict';

/* Reading what an object does not have is an error. */
function strict(name, object) {
	return new Proxy(object, {
		get(target, key) {
			if (typeof(key) === 'string' && !(key in target) && key !== 'then' && key !== 'toJSON')
				throw new TypeError(`the stand-in for LuCI has no ${name}.${key}`);

			return Reflect.get(target, key);
		}
	});
}

/* LuCI's classes: __init__ constructs, super() calls the parent's method. */
function extend(parent, properties) {
	const child = class extends parent {};

	Object.assign(child.prototype, properties);
	child.prototype.super = function(name, values) { return parent.prototype[name].apply(this, values || []); };
	child.extend = more => extend(child, more);

	return child;
}

class Base {
	constructor(...values) {
		if (this.__init__)
			this.__init__(...values);
	}
}

const baseclass = { extend: properties => extend(Base, properties) };

/* A string is markup, a string in an array is text, as in LuCI. */
function append(node, children) {
	if (Array.isArray(children))
		children.forEach(child => {
			if (child instanceof Node)
				node.appendChild(child);
			else if (child !== null && child !== undefined)
				node.appendChild(document.createTextNode(String(child)));
		});
	else if (children instanceof Node)
		node.appendChild(children);
	else if (children !== null && children !== undefined)
		node.innerHTML = String(children);

	return node;
}

window.E = function(tag, attributes, children) {
	if (!/^[a-z0-9]+$/.test(tag))
		throw new TypeError(`E() of ${tag}`);

	if (attributes !== undefined && (attributes === null || Object.getPrototypeOf(attributes) !== Object.prototype))
		throw new TypeError(`E('${tag}'): the attributes are no object`);

	const node = document.createElement(tag);

	Object.entries(attributes || {}).forEach(([ name, value ]) => {
		if (typeof(value) === 'function')
			node.addEventListener(name, value);
		else if (value !== null && value !== undefined)
			node.setAttribute(name, value);
	});

	return append(node, children);
};

const instances = new WeakMap();

const dom = {
	append,

	content(node, children) {
		node.replaceChildren();

		return append(node, children);
	},

	bindClassInstance(node, instance) { instances.set(node, instance); },

	findClassInstance(node) {
		for (let n = node; n; n = n.parentNode)
			if (instances.has(n))
				return instances.get(n);

		return null;
	}
};

const poll = {
	add(fn, seconds) {
		if (typeof(fn) !== 'function')
			throw new TypeError('poll.add() of something else than a function');

		window.setInterval(fn, (seconds || L.env.pollinterval) * 1000);
	}
};

const View = extend(Base, {
	load() { return null; },

	handleSave() {
		const maps = Array.from(document.querySelectorAll('.cbi-map'), dom.findClassInstance);

		return Promise.all(maps.map(map => map.save()));
	},

	handleReset() { return null; },

	handleSaveApply() { return this.handleSave(); },

	start(place) {
		return Promise.resolve().then(() => this.load()).then(data => this.render(data)).then(node => {
			dom.content(place, [ node ]);

			const click = fn => () => fn.call(this).catch(() => null);
			const button = (kind, title, fn) => fn === null ? [] : [
				E('button', { 'class': `cbi-button cbi-button-${kind}`, 'click': click(fn) }, [ title ])
			];

			append(place, E('div', { 'class': 'cbi-page-actions' }, [
				...button('apply', 'Save & Apply', this.handleSaveApply), ...button('save', 'Save', this.handleSave),
				...button('reset', 'Reset', this.handleReset)
			]));
		}).catch(error => {
			dom.content(place, [ E('pre', { 'class': 'alert-message error' }, [ String(error.stack || error) ]) ]);
		});
	}
});

const modules = {
	baseclass: strict('baseclass', baseclass),
	dom: strict('dom', dom),
	poll: strict('poll', poll),
	view: strict('view', { extend: properties => extend(View, properties) })
};
const loading = {};

window.LuCI = class {
	constructor(env) {
		this.env = strict('L.env', env);
	}

	/* The text of a module is the body of a function of the modules that its first lines name. */
	require(name) {
		if (name in modules)
			return Promise.resolve(modules[name]);

		loading[name] = loading[name] || fetch(`${this.env.resource}/${name.replace(/\./g, '/')}.js`).then(answer => {
			if (!answer.ok)
				throw new Error(`no module ${name}`);

			return answer.text();
		}).then(source => {
			const wanted = Array.from(source.matchAll(/^'require (\S+?)(?: as (\w+))?';$/gm),
				([ , module, as ]) => ({ module, as: as || module }));

			return Promise.all(wanted.map(one => this.require(one.module))).then(found => {
				const factory = new Function('window', 'document', 'L', ...wanted.map(one => one.as),
					`${source}\n//# sourceURL=${name}.js`);
				const made = new (factory(window, document, this, ...found))();

				return made instanceof View ? made : strict(name, made);
			});
		});

		return loading[name];
	}

	url(path) { return `${this.env.scriptname}/${path}`; }

	resolveDefault(value, fallback) { return Promise.resolve(value).catch(() => fallback); }

	toArray(value) {
		if (value === null || value === undefined || value === '')
			return [];

		return Array.isArray(value) ? value : String(value).trim().split(/\s+/);
	}
};

/* For tests, as LuCI has it. */
window.LuCI.prototype.dom = dom;

/* What LuCI's template of a view starts. */
window.standInStart = function(name) {
	window.L = strict('L', window.L);
	window.L.require(`view.${name.replace(/\//g, '.')}`).then(made => made.start(document.getElementById('view')))
		.catch(error => {
			dom.content(document.getElementById('view'), [
				E('pre', { 'class': 'alert-message error' }, [ String(error.stack || error) ])
			]);
		});
};
