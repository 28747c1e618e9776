// SPDX-License-Identifier: Apache-2.0

// Package ringtest makes pages as the kernel's trace buffer has them, for tests.
package ringtest

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// HeaderPage is events/header_page of a 64-bit kernel with pages of 4 KiB.
const HeaderPage = `	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
`

const (
	pageBytes  = 4096
	headBytes  = 16
	deltaLimit = 1 << 27
	smallWords = 28
)

// Page is one that is being filled.
type Page struct {
	startNS, atNS uint64
	data          []byte
}

// NewPage begins at a time.
func NewPage(startNS uint64) *Page { return &Page{startNS: startNS, atNS: startNS} }

// Add appends an event, if there is room, with an extension if it is long after the one before it. Times do not fall.
func (p *Page) Add(timeNS uint64, data []byte) bool {
	var entry []byte
	word := func(value uint64) {
		entry = binary.LittleEndian.AppendUint32(entry, uint32(value)) //nolint:gosec // a test's
	}
	delta := timeNS - p.atNS
	if delta >= deltaLimit {
		word(30 | delta%deltaLimit<<5)
		word(delta / deltaLimit)
		delta = 0
	}
	words := uint64(len(data)+3) / 4
	if words > smallWords || words == 0 || len(data)%4 != 0 {
		word(delta << 5)
		word(uint64(len(data)) + 4)
	} else {
		word(words | delta<<5)
	}
	entry = append(entry, data...)
	for len(entry)%4 != 0 {
		entry = append(entry, 0)
	}
	if len(p.data)+len(entry) > pageBytes-headBytes {
		return false
	}
	p.data = append(p.data, entry...)
	p.atNS = timeNS
	return true
}

// Discard appends an event that the kernel has discarded after it had reserved its place.
func (p *Page) Discard(timeNS uint64, bytes int) {
	delta := max(timeNS-p.atNS, 1)
	p.data = binary.LittleEndian.AppendUint32(p.data, uint32(29|delta<<5)) //nolint:gosec // a test's
	p.data = binary.LittleEndian.AppendUint32(p.data, uint32(bytes+4))     //nolint:gosec // a test's
	p.data = append(p.data, make([]byte, bytes)...)
	p.atNS += delta
}

// Stamp appends an absolute time.
func (p *Page) Stamp(timeNS uint64) {
	p.data = binary.LittleEndian.AppendUint32(p.data, uint32(31|timeNS%deltaLimit<<5)) //nolint:gosec // a test's
	p.data = binary.LittleEndian.AppendUint32(p.data, uint32(timeNS%(1<<59)/deltaLimit))
	p.atNS = timeNS
}

// Bytes are the page's. lost events are reported before it; their number is stored if there is room.
func (p *Page) Bytes(lost uint64) []byte {
	commit := uint64(len(p.data))
	page := make([]byte, pageBytes)
	copy(page[headBytes:], p.data)
	if lost > 0 {
		commit |= 1 << 31
		if headBytes+len(p.data)+8 <= pageBytes {
			commit |= 1 << 30
			binary.LittleEndian.PutUint64(page[headBytes+len(p.data):], lost)
		}
	}
	binary.LittleEndian.PutUint64(page, p.startNS)
	binary.LittleEndian.PutUint64(page[8:], commit)
	return page
}

// Field is a field of an event's format, without the four that all have.
type Field struct {
	Name string
	// Type is the declaration before the name: "unsigned int"; "char[16]" is "char NAME[16]".
	Type string
	Size int
}

// Layout is an event's format and the places of its fields.
type Layout struct {
	Text   string
	places map[string]Field
	at     map[string]int
	id     uint16
	bytes  int
}

// NewLayout places the fields as the compiler does.
func NewLayout(name string, id uint16, fields ...Field) Layout {
	const common = 8
	l := Layout{places: map[string]Field{}, at: map[string]int{}, id: id, bytes: common}
	var text strings.Builder
	fmt.Fprintf(&text, "name: %s\nID: %d\nformat:\n", name, id)
	text.WriteString("\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n")
	text.WriteString("\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n")
	text.WriteString("\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n")
	text.WriteString("\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n")
	l.places["common_pid"], l.at["common_pid"] = Field{"common_pid", "int", 4}, 4
	for _, field := range fields {
		kind, array, isArray := strings.Cut(field.Type, "[")
		declaration := kind + " " + field.Name
		align := field.Size
		if isArray {
			declaration += "[" + array
			align = 1
		}
		l.bytes = (l.bytes + align - 1) / align * align
		fmt.Fprintf(&text, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:0;\n", declaration, l.bytes, field.Size)
		l.places[field.Name], l.at[field.Name] = field, l.bytes
		l.bytes += field.Size
	}
	text.WriteString("\nprint fmt: \"%d\", REC->dev\n")
	l.Text = text.String()
	return l
}

// Data is an event with these values: numbers, or text for an array. What the kernel does not have is left out.
func (l Layout) Data(values map[string]any) []byte {
	data := make([]byte, (l.bytes+3)/4*4)
	binary.LittleEndian.PutUint16(data, l.id)
	for name, value := range values {
		field, known := l.places[name]
		if !known {
			continue
		}
		to := data[l.at[name] : l.at[name]+field.Size]
		if text, is := value.(string); is {
			copy(to[:field.Size-1], text)
			continue
		}
		number := make([]byte, 8)
		binary.LittleEndian.PutUint64(number, value.(uint64)) //nolint:forcetypeassert // a test's
		copy(to, number)
	}
	return data
}
