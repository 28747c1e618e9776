// SPDX-License-Identifier: Apache-2.0

package apk

import (
	"encoding/binary"
	"errors"
	"math"
)

// value is a word of a database: 4 bits of type, and 28 bits that are a small number or the offset of what does not
// fit.
type value uint32

const (
	typeInt    value = 0x10000000
	typeInt32  value = 0x20000000
	typeInt64  value = 0x30000000
	typeBlob8  value = 0x80000000
	typeBlob16 value = 0x90000000
	typeBlob32 value = 0xa0000000
	typeObject value = 0xe0000000
	null       value = 0

	wordBytes = 4
	// A header has a word with two version numbers, both 0, and the value of the root.
	headerBytes = 2 * wordBytes
)

// errLarge is returned if an offset would not fit into 28 bits.
var errLarge = errors.New("the package's metadata are larger than 256 MiB")

// database is written from the leaves to the root. What is there already is not written again: so does `apk mkpkg`, and
// the test compares with what that wrote.
type database struct {
	bytes []byte
	at    map[string]value
}

func newDatabase() *database {
	return &database{bytes: make([]byte, headerBytes), at: map[string]value{}}
}

// add returns the offset of the content, which is a multiple of the alignment.
func (d *database) add(content []byte, alignment value) value {
	if offset, ok := d.at[string(content)]; ok && offset%alignment == 0 {
		return offset
	}
	offset := d.addAnew(content, alignment)
	d.at[string(content)] = offset
	return offset
}

func (d *database) addAnew(content []byte, alignment value) value {
	for len(d.bytes)%int(alignment) != 0 {
		d.bytes = append(d.bytes, 0)
	}
	offset := value(len(d.bytes)) //nolint:gosec // finish refuses a database whose offsets have too many bits
	d.bytes = append(d.bytes, content...)
	return offset
}

func (d *database) integer(number uint64) value {
	switch {
	case number < uint64(typeInt):
		return typeInt | value(number)
	case number <= math.MaxUint32:
		return typeInt32 | d.add(binary.LittleEndian.AppendUint32(nil, uint32(number)), wordBytes)
	default:
		return typeInt64 | d.add(binary.LittleEndian.AppendUint64(nil, number), wordBytes)
	}
}

// encodeBlob puts the length before the content, in as many bytes as it needs.
func encodeBlob(content []byte) (kind value, encoded []byte, alignment value) {
	switch length := len(content); {
	case length <= math.MaxUint8:
		return typeBlob8, append([]byte{byte(length)}, content...), 1
	case length <= math.MaxUint16:
		return typeBlob16, append(binary.LittleEndian.AppendUint16(nil, uint16(length)), content...), 2
	default:
		prefix := binary.LittleEndian.AppendUint32(nil, uint32(length)) //nolint:gosec // finish refuses such a database
		return typeBlob32, append(prefix, content...), wordBytes
	}
}

func (d *database) blob(content []byte) value {
	if len(content) == 0 {
		return null
	}
	kind, encoded, alignment := encodeBlob(content)
	return kind | d.add(encoded, alignment)
}

func (d *database) text(content string) value { return d.blob([]byte(content)) }

// object writes fields 1 to n; those at the end that are null are left out. Arrays of objects are written like this
// too.
func (d *database) object(fields ...value) value {
	for len(fields) > 0 && fields[len(fields)-1] == null {
		fields = fields[:len(fields)-1]
	}
	if len(fields) == 0 {
		return null
	}
	count := uint32(len(fields) + 1) //nolint:gosec // a package has fewer files than that
	encoded := binary.LittleEndian.AppendUint32(nil, count)
	for _, field := range fields {
		encoded = binary.LittleEndian.AppendUint32(encoded, uint32(field))
	}
	return typeObject | d.add(encoded, wordBytes)
}

// finish returns the database with its root.
func (d *database) finish(root value) ([]byte, error) {
	if len(d.bytes) >= int(typeInt) {
		return nil, errLarge
	}
	binary.LittleEndian.PutUint32(d.bytes[wordBytes:], uint32(root))
	return d.bytes, nil
}
