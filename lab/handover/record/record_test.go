// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/airbound/airbound/lab/handover/record"
)

func TestDecodesWhatWasEncoded(t *testing.T) {
	for _, one := range []record.Record{
		{}, {Number: 1, Due: 100 * time.Millisecond}, {Number: math.MaxUint32, Due: math.MaxInt64},
	} {
		data := one.Encode()
		if len(data) != record.Bytes {
			t.Errorf("%d bytes", len(data))
		}
		if found, err := record.Decode(data); err != nil || found != one {
			t.Errorf("%+v became %+v, %v", one, found, err)
		}
	}
}

func TestFindsEveryWrongByteOfTheFilling(t *testing.T) {
	data := record.Record{Number: 7, Due: time.Second}.Encode()
	for i := 12; i < len(data); i++ {
		data[i] ^= 0x40
		if _, err := record.Decode(data); !errors.Is(err, record.ErrContent) {
			t.Fatalf("byte %d: %v", i, err)
		}
		data[i] ^= 0x40
	}
}

func TestFindsAMixtureOfTwo(t *testing.T) {
	first, second := record.Record{Number: 8}.Encode(), record.Record{Number: 9}.Encode()
	for cut := 13; cut < record.Bytes; cut++ {
		mixed := append(append([]byte{}, first[:cut]...), second[cut:]...)
		if _, err := record.Decode(mixed); !errors.Is(err, record.ErrContent) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func TestRefusesAnotherLength(t *testing.T) {
	data := record.Record{}.Encode()
	for _, wrong := range [][]byte{nil, data[:record.Bytes-1], append(data, 0)} {
		if _, err := record.Decode(wrong); !errors.Is(err, record.ErrContent) {
			t.Errorf("%d bytes: %v", len(wrong), err)
		}
	}
}
