// SPDX-License-Identifier: Apache-2.0

// Package record is what the study sends: 1000 bytes with number and time, as the paper's survey does; pure.
package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
)

// Bytes is the length of a record: number, due time, and a filling that follows from the number.
const Bytes = 1000

const headerBytes = 12

// ErrContent is of bytes that are no record: another length, or another filling.
var ErrContent = errors.New("not a record of this study")

// Record is one of the phone's.
type Record struct {
	// Number counts from 0.
	Number uint32
	// Due is when the application made the record, since time zero.
	Due time.Duration
}

// Encode returns a record's bytes.
func (r Record) Encode() []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, Bytes), r.Number)
	out = binary.BigEndian.AppendUint64(out, uint64(r.Due)) //nolint:gosec // Decode turns it back
	return append(out, filling(r.Number)...)
}

// Decode reads a record and checks its content.
func Decode(data []byte) (Record, error) {
	if len(data) != Bytes {
		return Record{}, ErrContent
	}
	one := Record{
		Number: binary.BigEndian.Uint32(data),
		Due:    time.Duration(binary.BigEndian.Uint64(data[4:])), //nolint:gosec // as Encode wrote it
	}
	if !bytes.Equal(data[headerBytes:], filling(one.Number)) {
		return Record{}, ErrContent
	}
	return one, nil
}

// filling differs from record to record at every place, so that a mixture of two is found.
func filling(number uint32) []byte {
	out := make([]byte, Bytes-headerBytes)
	for i := range out {
		out[i] = byte(uint32(i)*31 + number*7) //nolint:gosec // the low byte is wanted
	}
	return out
}
