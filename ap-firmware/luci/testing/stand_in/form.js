// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for LuCI's form, see cbi.js: a map of one section with options in tabs.
'use strict';
'require baseclass';
'require dom';
'require uci';

const port = text => /^\d{1,5}$/.test(text) && Number(text) <= 65535;
const within = (text, least, most) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most;
const host = text => /^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/.test(text);

const DATATYPES = {
	'or(hostport, ipaddrport(1))': text => {
		const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d+)$/.exec(text);

		return match !== null && port(match[3]) && (match[1] ? match[1].includes(':') : host(match[2]));
	},
	'and(uinteger, range(8,512))': text => within(text, 8, 512),
	'and(uinteger, range(100,60000))': text => within(text, 100, 60000)
};

const SETTABLE = [ 'datatype', 'placeholder', 'password', 'validate', 'rmempty', 'default', 'create' ];

const Value = baseclass.extend({
	__init__(map, section, option, title, description) {
		Object.assign(this, {
			map, section, option, title, description, choices: [], items: [], rmempty: true, default: null,
			datatype: null, placeholder: '', password: false, create: false, enabled: '1', disabled: '0', node: null
		});
	},

	validate() { return true; },

	value(key, title) { this.choices.push([ key, title === undefined ? key : title ]); },

	cfgvalue() { return uci.get(this.map.config, this.section.id, this.option); },

	write(sectionID, value) { uci.set(this.map.config, sectionID, this.option, value); },

	remove() { uci.unset(this.map.config, this.section.id, this.option); },

	/* What is wrong with a text, or ''. */
	errorOf(text) {
		const said = this.validate(this.section.id, text);

		if (said !== true)
			return said;

		if (text === '' || this.datatype === null)
			return '';

		if (!(this.datatype in DATATYPES))
			throw new TypeError(`the stand-in for LuCI has no datatype ${this.datatype}`);

		return DATATYPES[this.datatype](text) ? '' : `not ${this.datatype}`;
	},

	widget(value) {
		this.input = E('input', {
			'type': this.password ? 'password' : 'text', 'placeholder': this.placeholder,
			'id': `widget.cbid.airbound.main.${this.option}`
		});
		this.input.value = value === null ? '' : value;

		return this.input;
	},

	formvalue() { return this.input.value; },

	error() { return this.errorOf(this.input.value); },

	setValue(value) { this.input.value = value; },

	render() {
		const value = this.cfgvalue();

		this.node = E('div', { 'class': 'cbi-value', 'data-name': this.option }, [
			E('label', { 'class': 'cbi-value-title' }, [ this.title ]),
			E('div', { 'class': 'cbi-value-field' }, [
				this.widget(value === null ? this.default : value),
				E('div', { 'class': 'cbi-value-description' }, this.description)
			])
		]);

		return this.node;
	},

	parse() {
		const error = this.error();

		if (error !== '')
			return Promise.reject(new TypeError(`Option "${this.title}" contains an invalid input value. ${error}`));

		const value = this.formvalue();

		if (value === null || value === '' || value.length === 0)
			this.remove();
		else if (JSON.stringify(value) !== JSON.stringify(this.cfgvalue()))
			return Promise.resolve(this.write(this.section.id, value));

		return Promise.resolve();
	},

	getUIElement() { return { setValue: value => this.setValue(value), getValue: () => this.formvalue() }; }
});

const Flag = Value.extend({
	widget(value) {
		this.input = E('input', { 'type': 'checkbox' });
		this.input.checked = value === this.enabled;

		return this.input;
	},

	formvalue() { return this.input.checked ? this.enabled : this.disabled; },

	/* LuCI's check boxes do not ask validate(). */
	error() { return ''; },

	setValue(value) { this.input.checked = value === this.enabled; },

	parse() {
		if (this.rmempty && this.formvalue() === this.default)
			this.remove();
		else
			this.write(this.section.id, this.formvalue());

		return Promise.resolve();
	}
});

const ListValue = Value.extend({
	widget(value) {
		this.input = E('select', {}, this.choices.map(([ key, title ]) => E('option', { 'value': key }, [ title ])));
		this.input.value = value;

		return this.input;
	}
});

/* Items, and an input that becomes one with Enter unless it is wrong. */
const DynamicList = Value.extend({
	widget(value) {
		this.list = E('div', { 'class': 'cbi-dynlist' });
		this.input = E('input', { 'type': 'text', 'placeholder': this.placeholder, 'keydown': event => {
			if (event.key !== 'Enter' || this.input.value === '')
				return;

			this.input.classList.toggle('cbi-input-invalid', this.error() !== '');

			if (this.error() !== '')
				return;

			this.setValue(this.items.concat([ this.input.value ]));
			this.input.value = '';
		} });
		this.list.appendChild(E('div', { 'class': 'add-item' }, [ this.input ]));
		this.setValue(L.toArray(value));

		return this.list;
	},

	setValue(items) {
		this.items = items;
		this.list.querySelectorAll('.item').forEach(node => node.remove());
		items.forEach(item => this.list.insertBefore(E('div', { 'class': 'item' }, [ item ]), this.list.lastChild));
	},

	formvalue() { return this.items; }
});

const MultiValue = Value.extend({
	widget(value) {
		if (!this.choices.length)
			throw new TypeError('LuCI\'s MultiValue fails without choices');

		this.input = E('select', { 'multiple': '' },
			this.choices.map(([ key, title ]) => E('option', { 'value': key }, [ title ])));
		this.setValue(L.toArray(value));

		return this.input;
	},

	/* A value that is none of the choices becomes one, if the page allows that. */
	setValue(keys) {
		const known = Array.from(this.input.options, o => o.value);

		if (this.create)
			keys.filter(key => !known.includes(key)).forEach(key =>
				this.input.appendChild(E('option', { 'value': key }, [ key ])));

		Array.from(this.input.options).forEach(o => { o.selected = keys.includes(o.value); });
	},

	formvalue() { return Array.from(this.input.selectedOptions, o => o.value); },

	error() { return ''; }
});

/* Only what LuCI has may be set, and of that only what this stand-in knows. */
function guarded(option) {
	return new Proxy(option, {
		set(target, key, value) {
			if (!SETTABLE.includes(key))
				throw new TypeError(`the stand-in for LuCI has no property ${key} of an option`);

			target[key] = value;

			return true;
		}
	});
}

const NamedSection = baseclass.extend({
	__init__(map, id) { Object.assign(this, { map, id, tabs: [], children: [] }); },

	tab(name, title) { this.tabs.push({ name, title, children: [] }); },

	taboption(tab, cls, name, title, description) {
		const option = new cls(this.map, this, name, title, description);

		this.tabs.find(t => t.name === tab).children.push(option);
		this.children.push(option);

		return guarded(option);
	},

	formvalue(id, name) { return this.children.find(option => option.option === name).formvalue(); },

	render() {
		return E('div', { 'class': 'cbi-section' }, this.tabs.map(tab => E('div', {
			'data-tab': tab.name, 'data-tab-title': tab.title
		}, tab.children.map(option => option.render()))));
	}
});

const Map = baseclass.extend({
	__init__(config, title, description) {
		Object.assign(this, { config, title, description, sections: [], node: null });
	},

	section(cls, id, type) {
		if (type !== this.config)
			throw new TypeError(`section ${id} of type ${type}`);

		this.sections.push(new cls(this, id));

		return this.sections[this.sections.length - 1];
	},

	lookupOption(name) {
		return [ this.sections[0].children.find(option => option.option === name), this.sections[0].id ];
	},

	render() {
		return uci.load(this.config).then(() => {
			this.node = E('div', { 'class': 'cbi-map' }, [
				E('h2', {}, [ this.title ]), E('div', { 'class': 'cbi-map-descr' }, this.description),
				...this.sections.map(section => section.render())
			]);
			dom.bindClassInstance(this.node, this);

			return this.node;
		});
	},

	save() {
		return this.sections.reduce((before, section) => before.then(() =>
			Promise.all(section.children.map(option => option.parse()))), Promise.resolve())
			.then(() => uci.save()).catch(error => {
				document.body.appendChild(E('div', { 'class': 'modal' }, [ error.message ]));

				throw error;
			});
	}
});

return baseclass.extend({ Map, NamedSection, Value, Flag, ListValue, DynamicList, MultiValue });
