// SPDX-License-Identifier: Apache-2.0

package blockio

// place is where on a disk something is to be done. Flushes and commands without a sector have sector 0.
type place struct {
	disk   uint32
	letter byte
	sector uint64
}

// entry is a value in a table.
type entry[Value any] struct {
	place
	value Value
	// older and younger are its neighbours by age, same is the next younger one at the same place.
	older, younger, same *entry[Value]
}

// table finds values by their place, of several at one place the oldest first. It has a limit: the oldest has to go.
type table[Value any] struct {
	limit            int
	size             int
	at               map[place]*entry[Value]
	oldest, youngest *entry[Value]
	// unused entries, by younger.
	unused *entry[Value]
}

func newTable[Value any](limit int) *table[Value] {
	return &table[Value]{limit: limit, at: map[place]*entry[Value]{}}
}

// add has room only if the table is not full.
func (t *table[Value]) full() bool { return t.size >= t.limit }

func (t *table[Value]) add(where place, value Value) *entry[Value] {
	e := t.unused
	if e == nil {
		e = &entry[Value]{}
	} else {
		t.unused = e.younger
	}
	*e = entry[Value]{place: where, value: value, older: t.youngest}
	if t.youngest == nil {
		t.oldest = e
	} else {
		t.youngest.younger = e
	}
	t.youngest = e
	t.size++
	t.put(e)
	return e
}

// first is the oldest at a place, nil if there is none.
func (t *table[Value]) first(where place) *entry[Value] { return t.at[where] }

func (t *table[Value]) remove(e *entry[Value]) {
	t.take(e)
	if e.older == nil {
		t.oldest = e.younger
	} else {
		e.older.younger = e.younger
	}
	if e.younger == nil {
		t.youngest = e.older
	} else {
		e.younger.older = e.older
	}
	t.size--
	*e = entry[Value]{younger: t.unused}
	t.unused = e
}

// move gives an entry another place. It keeps its age, but becomes the last one there.
func (t *table[Value]) move(e *entry[Value], sector uint64) {
	t.take(e)
	e.sector = sector
	t.put(e)
}

func (t *table[Value]) put(e *entry[Value]) {
	last := t.at[e.place]
	if last == nil {
		t.at[e.place] = e
		return
	}
	for last.same != nil {
		last = last.same
	}
	last.same = e
}

func (t *table[Value]) take(e *entry[Value]) {
	first := t.at[e.place]
	switch {
	case first != e:
		for first.same != e {
			first = first.same
		}
		first.same = e.same
	case e.same == nil:
		delete(t.at, e.place)
	default:
		t.at[e.place] = e.same
	}
	e.same = nil
}
