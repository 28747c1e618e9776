// SPDX-License-Identifier: Apache-2.0

package survey_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/airbound/airbound/phone-agent/survey"
)

var (
	name = survey.Session{1, 2, 3, 4, 5, 6, 7, 8, 9}
	keys = survey.NewKeys(survey.Key{7})
)

func TestDatagramsHaveTheLengthsOfThePaper(t *testing.T) {
	t.Parallel()
	up := survey.Up{Session: name, Sequence: 1<<40 + 5, SentUS: 1_795_000_000_000_000}
	octets := up.Append(nil, keys)
	if got, err := survey.ParseUp(octets, keys); len(octets) != 1000 || err != nil || got != up {
		t.Errorf("%d octets, %+v, %v", len(octets), got, err)
	}
	down := survey.Down{Sequence: 5, SentUS: 1_795_000_000_000_000, Echoed: 4, HeldUS: 99_000}
	octets = down.Append(nil, name, keys)
	if got, err := survey.ParseDown(octets, name, keys); len(octets) != 50 || err != nil || got != down {
		t.Errorf("%d octets, %+v, %v", len(octets), got, err)
	}
	if record := survey.AppendRecord(nil, 1, 2); len(record) != 1000 {
		t.Errorf("a record has %d octets", len(record))
	}
}

// Whatever octet is changed, and with another's key, a datagram is refused.
func TestDatagramsAreAuthentic(t *testing.T) {
	t.Parallel()
	up := survey.Up{Session: name, Sequence: 5, SentUS: 6}.Append(nil, keys)
	down := survey.Down{Sequence: 5, SentUS: 6}.Append(nil, name, keys)
	for i := range up {
		up[i] ^= 1
		if got, err := survey.ParseUp(up, keys); err == nil {
			t.Errorf("up, octet %d: %+v", i, got)
		}
		up[i] ^= 1
	}
	for i := range down {
		down[i] ^= 1
		if got, err := survey.ParseDown(down, name, keys); err == nil {
			t.Errorf("down, octet %d: %+v", i, got)
		}
		down[i] ^= 1
	}
	others := survey.NewKeys(survey.Key{8})
	if _, err := survey.ParseUp(up, others); !errors.Is(err, survey.ErrForged) {
		t.Error(err)
	}
	if _, err := survey.ParseDown(down, survey.Session{}, keys); !errors.Is(err, survey.ErrForged) {
		t.Error(err)
	}
	// One direction's is not the other's, and nothing is too short or too long.
	if _, err := survey.ParseUp(down, keys); !errors.Is(err, survey.ErrMalformed) {
		t.Error(err)
	}
	if _, err := survey.ParseUp(append(up, 0), keys); !errors.Is(err, survey.ErrMalformed) {
		t.Error(err)
	}
}

// FuzzWire: what is read is written as it was, and everything else is refused.
func FuzzWire(f *testing.F) {
	hello := survey.Hello{Role: survey.Control, Session: name, Key: survey.Key{7}}
	f.Add(hello.Append(nil))
	f.Add(survey.Answer{Role: survey.Data, UDPPort: 7000}.Append(nil))
	f.Add(survey.Up{Session: name, Sequence: 5, SentUS: 6}.Append(nil, keys))
	f.Add(survey.Down{Sequence: 5, SentUS: 6}.Append(nil, name, keys))
	f.Add(survey.Receipt{Series: survey.UDPUp, Sequence: 5, AtUS: 6}.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, octets []byte) {
		same := func(again []byte, err error) {
			if err == nil && !bytes.Equal(again, octets) {
				t.Errorf("% x became % x", octets, again)
			}
		}
		asHello, err := survey.ParseHello(octets)
		same(asHello.Append(nil), err)
		answer, err := survey.ParseAnswer(octets)
		same(answer.Append(nil), err)
		receipt, err := survey.ParseReceipt(octets)
		same(receipt.Append(nil), err)
		down, err := survey.ParseDown(octets, name, keys)
		same(down.Append(nil, name, keys), err)
		if up, err := survey.ParseUp(octets, keys); err == nil && len(up.Append(nil, keys)) != len(octets) {
			t.Errorf("% x became %+v", octets, up)
		}
	})
}
