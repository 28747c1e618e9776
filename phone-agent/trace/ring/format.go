// SPDX-License-Identifier: Apache-2.0

// Package ring reads the kernel's trace buffer as it is: pages of binary events, one sequence for each processor, whose
// fields are where the event's `format` says. It is pure: text and bytes come in, events go out. Kernels of little
// endian processors only, as phones have.
package ring

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/proctext"
)

// Field is a field of an event: its place in the event's data, in bytes.
type Field struct {
	Name   string
	Offset int
	Size   int
}

// Format is how an event of this kernel is laid out. It differs from kernel to kernel.
type Format struct {
	// ID is the number by which the event is known in the buffer.
	ID     uint16
	Name   string
	Fields []Field
}

// Field returns the field of this name, whose size is to be one of sizes.
func (f Format) Field(name string, sizes ...int) (Field, error) {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return Field{}, fmt.Errorf("the kernel's event %s has no field %s", f.Name, name)
	}
	field := f.Fields[i]
	if !slices.Contains(sizes, field.Size) {
		return Field{}, fmt.Errorf("the kernel's event %s has a field %s of %d bytes", f.Name, name, field.Size)
	}
	return field, nil
}

// dataBytesMax is more than any page: a field beyond it is in no event.
const dataBytesMax = 1 << 20

// ParseFormat reads events/SYSTEM/EVENT/format.
//
//	name: block_rq_issue
//	ID: 2104
//	format:
//		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
func ParseFormat(text string) (Format, error) {
	var format Format
	var hasID bool
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "name":
			format.Name = strings.TrimSpace(value)
		case "ID":
			id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
			if err != nil {
				return Format{}, fmt.Errorf("read a format: ID: %s is not a number of 16 bits", proctext.Quoted(value))
			}
			format.ID, hasID = uint16(id), true
		case "field":
			field, err := parseField(value)
			if err != nil {
				return Format{}, fmt.Errorf("read a format: %s: %w", proctext.Quoted(line), err)
			}
			format.Fields = append(format.Fields, field)
		}
	}
	if format.Name == "" || !hasID {
		return Format{}, errors.New("read a format: it has no name or no ID")
	}
	return format, nil
}

// parseField reads what follows "field:".
func parseField(text string) (Field, error) {
	declaration, places, _ := strings.Cut(text, ";")
	field := Field{Name: nameIn(declaration), Offset: -1, Size: -1}
	for place := range strings.SplitSeq(places, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(place), ":")
		to := map[string]*int{"offset": &field.Offset, "size": &field.Size}[key]
		if to == nil {
			continue
		}
		number, err := strconv.Atoi(value)
		if err != nil || number < 0 || number > dataBytesMax {
			return Field{}, fmt.Errorf("%s is no %s", proctext.Quoted(value), key)
		}
		*to = number
	}
	if field.Name == "" || field.Offset < 0 || field.Size < 0 {
		return Field{}, errors.New("name, offset or size is missing")
	}
	return field, nil
}

// nameIn is the last word of a declaration, without the length of an array: "char rwbs[10]" has "rwbs".
func nameIn(declaration string) string {
	words := strings.Fields(declaration)
	if len(words) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(words[len(words)-1], "[")
	return name
}

// Layout is how a page of the buffer is laid out.
type Layout struct {
	// PageBytes is the size of a page, of which a read returns one.
	PageBytes int
	// commit is the field with the number of bytes in use, dataOffset where they begin.
	commit     Field
	dataOffset int
}

// timestampBytes is the size of the time at the beginning of a page.
const timestampBytes = 8

// ParseLayout reads events/header_page.
func ParseLayout(text string) (Layout, error) {
	fields := map[string]Field{}
	for line := range strings.Lines(text) {
		value, is := strings.CutPrefix(strings.TrimSpace(line), "field:")
		if !is {
			continue
		}
		field, err := parseField(value)
		if err != nil {
			return Layout{}, fmt.Errorf("read the layout of a page: %s: %w", proctext.Quoted(line), err)
		}
		fields[field.Name] = field
	}
	layout := Layout{commit: fields["commit"], dataOffset: fields["data"].Offset}
	layout.PageBytes = layout.dataOffset + fields["data"].Size
	fits := layout.commit.Offset == timestampBytes && layout.commit.Offset+layout.commit.Size <= layout.dataOffset
	if size := layout.commit.Size; !fits || size != 4 && size != 8 || layout.PageBytes > dataBytesMax {
		return Layout{}, errors.New("read the layout of a page: its fields are not where they are known to be")
	}
	return layout, nil
}

// never is a time that does not come.
const never = math.MaxUint64
