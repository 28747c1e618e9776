// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

func frames() []wire.Frame {
	return []wire.Frame{
		wire.Hello{
			Session: wire.Session{1}, Key: wire.Key{2}, Role: wire.RoleNotices, Periodic: true, NewestFirst: true,
			Connection: 3, StartedUnixUs: -4, First: 5,
		},
		wire.Welcome{Epoch: wire.Epoch{1}, Periodic: true, UDPPort: 2, StartedUnixUs: 3, First: 4, Next: 5},
		wire.Refused{Refusal: wire.RefusedLimit, Text: "too many"},
		wire.Switch{Count: 1, First: 2},
		wire.Data{Sequence: 1, SentAtUs: 2, Payload: []byte("x")},
		wire.Data{Sequence: 1, Payload: make([]byte, wire.PayloadBytesMax)},
		wire.Ack{
			Received: 9, ReceivedCount: 9, Confirmed: 2, Ranges: []wire.Range{{First: 4, Last: 5}, {First: 7, Last: 7}},
		},
		wire.Ack{Received: 1, Confirmed: 1, Full: true},
		wire.End{Next: 1},
		wire.Bye{},
	}
}

func TestEachFrameIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var all []byte
	for _, frame := range frames() {
		all = wire.Append(all, frame)
	}
	reader := bytes.NewReader(all)
	for i, want := range frames() {
		got, err := wire.Read(reader)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("frame %d is %+v, %v; want %+v", i, got, err, want)
		}
	}
	if _, err := wire.Read(reader); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
}

func TestFramesThatAreNone(t *testing.T) {
	t.Parallel()
	hello := wire.Append(nil, frames()[0])
	for name, octets := range map[string][]byte{
		"unknown type":        {9, 0, 0, 0},
		"type 0":              {0, 0, 0, 0},
		"16 MiB":              {5, 255, 255, 255},
		"65 KiB of hello":     {1, 1, 0, 0},
		"nothing in a data":   {5, 0, 0, 0},
		"sequence 0":          wire.Append(nil, wire.End{}),
		"a record too long":   wire.Append(nil, wire.Data{Sequence: 1, Payload: make([]byte, wire.PayloadBytesMax+1)}),
		"negative time":       wire.Append(nil, wire.Data{Sequence: 1, SentAtUs: -1}),
		"another magic":       append([]byte{1, 0, 0, byte(len(hello) - 4), 'G', 'E', 'T', ' '}, hello[8:]...),
		"confirmed too early": wire.Append(nil, wire.Ack{Received: 1, Confirmed: 2}),
		"range below": wire.Append(nil, wire.Ack{
			Received: 9, ReceivedCount: 9, Confirmed: 5, Ranges: []wire.Range{{First: 5, Last: 6}},
		}),
		"range backwards": wire.Append(nil, wire.Ack{
			Received: 9, ReceivedCount: 9, Confirmed: 1, Ranges: []wire.Range{{First: 5, Last: 4}},
		}),
		"unknown flags":   {6, 0, 0, 25, 128, 24: 0, 28: 0},
		"unknown refusal": wire.Append(nil, wire.Refused{Refusal: 77}),
		"long bye":        {8, 0, 0, 1, 0},
	} {
		if frame, err := wire.Read(bytes.NewReader(octets)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, frame, err)
		}
	}
}

func TestAnotherVersionIsNamed(t *testing.T) {
	t.Parallel()
	hello := wire.Append(nil, frames()[0])
	hello[8]++
	if _, err := wire.Read(bytes.NewReader(hello)); !errors.Is(err, wire.ErrVersion) {
		t.Error(err)
	}
}

// FuzzRead checks that what is read is written the same, and that nothing else is taken.
func FuzzRead(f *testing.F) {
	for _, frame := range frames() {
		const shortBytes = 1 << 10 // Mutations of long ones take long and find the same.
		if octets := wire.Append(nil, frame); len(octets) < shortBytes {
			f.Add(octets)
		}
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		reader := bytes.NewReader(octets)
		frame, err := wire.Read(reader)
		if err != nil {
			return
		}
		read := octets[:len(octets)-reader.Len()]
		if again := wire.Append(nil, frame); !bytes.Equal(again, read) {
			t.Errorf("%+v is written as %x, was %x", frame, again, read)
		}
	})
}

func keys() wire.DatagramKeys { return wire.NewDatagramKeys(wire.Key{1}, wire.Epoch{2}) }

func datagrams() []wire.Datagram {
	return []wire.Datagram{
		{Type: wire.Here, Session: wire.Session{7}, Counter: 1, Sent: 3, SentAtUs: wire.NothingSent},
		{Type: wire.LossStart, Session: wire.Session{7}, Counter: 2, Received: 2, Sent: 3, SentAtUs: 4},
	}
}

func TestDatagramsAreAuthentic(t *testing.T) {
	t.Parallel()
	for _, want := range datagrams() {
		octets := wire.AppendDatagram(nil, want, keys().FromPhone)
		if len(octets) != wire.DatagramBytes {
			t.Errorf("%d bytes", len(octets))
		}
		if got, err := wire.ParseDatagram(octets, keys().FromPhone); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		for name, key := range map[string][32]byte{
			"the other direction's": keys().FromServer,
			"another epoch's":       wire.NewDatagramKeys(wire.Key{1}, wire.Epoch{3}).FromPhone,
			"another session's":     wire.NewDatagramKeys(wire.Key{9}, wire.Epoch{2}).FromPhone,
		} {
			if _, err := wire.ParseDatagram(octets, key); !errors.Is(err, wire.ErrForged) {
				t.Errorf("with %s key: %v", name, err)
			}
		}
		for i := range octets {
			changed := bytes.Clone(octets)
			changed[i] ^= 1
			if _, err := wire.ParseDatagram(changed, keys().FromPhone); err == nil {
				t.Errorf("byte %d may be changed", i)
			}
		}
		if _, err := wire.ParseDatagram(octets[:len(octets)-1], keys().FromPhone); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("too short: %v", err)
		}
	}
}

// FuzzDatagram has authentic datagrams as well: with sign the HMAC is put right.
func FuzzDatagram(f *testing.F) {
	for _, d := range datagrams() {
		f.Add(true, wire.AppendDatagram(nil, d, keys().FromPhone))
	}
	f.Fuzz(func(t *testing.T, sign bool, octets []byte) {
		if _, err := wire.DatagramSession(octets); err != nil {
			return
		}
		d, err := wire.ParseDatagram(octets, keys().FromPhone)
		if err == nil && !bytes.Equal(wire.AppendDatagram(nil, d, keys().FromPhone), octets) {
			t.Errorf("%+v from %x", d, octets)
		}
		if sign && len(octets) == wire.DatagramBytes {
			signed := wire.Sign(octets, keys().FromPhone)
			d, err := wire.ParseDatagram(signed, keys().FromPhone)
			if err == nil && !bytes.Equal(wire.AppendDatagram(nil, d, keys().FromPhone), signed) {
				t.Errorf("%+v from %x", d, signed)
			}
		}
	})
}
