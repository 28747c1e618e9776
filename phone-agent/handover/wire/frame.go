// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol of package handover: frames on TCP connections and datagrams beside them. It takes and
// returns bytes; it opens nothing and asks no clock.
//
// A frame is a type (1 byte), the length of its body (3 bytes) and the body. A connection begins with Hello from the
// phone, which the server answers with Welcome or Refused. All numbers are big-endian. Times are microseconds since
// the sender's session began, on a clock of the sender that never goes back; each machine compares only its own.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Version is that of the protocol; the two sides must have the same.
const Version = 1

const (
	// PayloadBytesMax is the largest record.
	PayloadBytesMax = 64 << 10
	// SessionBytes is the length of a session's identifier.
	SessionBytes = 16
	// EpochBytes is the length of a server's.
	EpochBytes = 16
	// KeyBytes is the length of a session's key.
	KeyBytes = 32
	// RangesMax is the number of ranges in an Ack.
	RangesMax = 32
	// textBytesMax is the longest explanation in a Refused.
	textBytesMax = 200

	headerBytes  = 4
	dataBytes    = 16 // before a record's payload
	ackBytes     = 25 // before the ranges
	rangeBytes   = 16
	bodyBytesMax = dataBytes + PayloadBytesMax
)

var magic = [4]byte{'A', 'B', 'H', 'O'}

// ErrMalformed is in each error about bytes that are no frame or datagram of this protocol.
var ErrMalformed = errors.New("malformed")

// ErrVersion is in the error about a Hello of another version.
var ErrVersion = errors.New("another version of the protocol")

// Session identifies a session. The phone draws it.
type Session [SessionBytes]byte

// Epoch identifies the life of a session at a server: it is another after the server's process was started again.
type Epoch [EpochBytes]byte

// Key is a session's secret. The phone draws it.
type Key [KeyBytes]byte

// Frame is one of Hello, Welcome, Refused, Switch, Data, Ack, End and Bye.
type Frame interface {
	kind() kind
	appendBody(to []byte) []byte
}

type kind uint8

const (
	kindHello kind = iota + 1
	kindWelcome
	kindRefused
	kindSwitch
	kindData
	kindAck
	kindEnd
	kindBye
)

// Role is what a connection is for.
type Role uint8

// Roles of connections: RoleRecords carries records, RoleNotices datagrams' contents where there is no UDP.
const (
	RoleRecords Role = iota
	RoleNotices
)

// Hello is the first frame of a connection.
type Hello struct {
	Session Session
	Key     Key
	Role    Role
	// Periodic promises a record at least once in the server's receive interval.
	Periodic bool
	// NewestFirst is the order of the records that the phone sends.
	NewestFirst bool
	// Connection is higher for each connection of the session.
	Connection uint64
	// StartedUnixUs is the beginning of the session by the phone's time of day, in microseconds; for display only.
	StartedUnixUs int64
	// First is the lowest sequence number that the server's application has not confirmed.
	First uint64
}

// Welcome is the server's answer.
type Welcome struct {
	Epoch Epoch
	// Periodic and NewestFirst are as in Hello, for the records that the server sends.
	Periodic, NewestFirst bool
	// UDPPort is where datagrams are received; 0 is nowhere.
	UDPPort uint16
	// StartedUnixUs is as in Hello, by the server's time of day.
	StartedUnixUs int64
	// First is the lowest sequence number that the phone has not confirmed, Next the one that the server's application
	// has not.
	First, Next uint64
}

// Refusal is why a server refuses a connection.
type Refusal uint8

// Refusals.
const (
	RefusedVersion  Refusal = iota + 1
	RefusedKey              // another key than the session's, or another identity
	RefusedOld              // the number of an earlier connection
	RefusedLimit            // too many sessions or connections
	RefusedClosing          // the server is ending
	refusalsCounted = iota + 1
)

// Refused is the server's other answer, the last frame of its connection.
type Refused struct {
	Refusal Refusal
	Text    string
}

// Switch makes its connection the current one. The highest count is in force. First is the lowest sequence number that
// the phone can still send; the server's application has confirmed all below, perhaps in an earlier life.
type Switch struct{ Count, First uint64 }

// Data is a record.
type Data struct {
	Sequence uint64
	SentAtUs int64
	Payload  []byte
}

// Range is some sequence numbers, both ends included.
type Range struct{ First, Last uint64 }

// Ack is what has arrived.
type Ack struct {
	// Received is the lowest sequence number that has not arrived at the receiver's machine, ReceivedCount the number
	// of those that have, from 1 on.
	Received, ReceivedCount uint64
	// Confirmed is the lowest sequence number that the receiver's application has not confirmed; Ranges are those above
	// it that it has.
	Confirmed uint64
	Ranges    []Range
	// Full is set while the receiver reads nothing since its application takes nothing.
	Full bool
}

// End is the end of the records: Next is the sequence number after the last.
type End struct{ Next uint64 }

// Bye ends the session. Nothing is sent after it.
type Bye struct{}

func (Hello) kind() kind   { return kindHello }
func (Welcome) kind() kind { return kindWelcome }
func (Refused) kind() kind { return kindRefused }
func (Switch) kind() kind  { return kindSwitch }
func (Data) kind() kind    { return kindData }
func (Ack) kind() kind     { return kindAck }
func (End) kind() kind     { return kindEnd }
func (Bye) kind() kind     { return kindBye }

// Append appends a frame to a buffer.
func Append(to []byte, frame Frame) []byte {
	start := len(to)
	to = append(to, byte(frame.kind()), 0, 0, 0)
	to = frame.appendBody(to)
	length := len(to) - start - headerBytes
	to[start+1], to[start+2], to[start+3] = byte(length>>16), byte(length>>8), byte(length) //nolint:gosec // its bits
	return to
}

// Read reads a frame. An error of the reader is returned as it is; io.EOF only between two frames.
func Read(from io.Reader) (Frame, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	length := int(header[1])<<16 | int(header[2])<<8 | int(header[3])
	if length > longestBody(kind(header[0])) {
		return nil, fmt.Errorf("%w frame: type %d with %d bytes", ErrMalformed, header[0], length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(from, body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return parse(kind(header[0]), body)
}

// longestBody keeps a stranger's first four bytes from having 16 MiB allocated.
func longestBody(k kind) int {
	switch k {
	case kindData:
		return bodyBytesMax
	case kindAck:
		return ackBytes + RangesMax*rangeBytes
	default:
		return textBytesMax + 1
	}
}

func parse(k kind, body []byte) (Frame, error) {
	p := parser{rest: body}
	var frame Frame
	switch k {
	case kindHello:
		frame = p.hello()
	case kindWelcome:
		frame = p.welcome()
	case kindRefused:
		frame = p.refused()
	case kindSwitch:
		frame = Switch{Count: p.number64(), First: p.sequence()}
	case kindData:
		data := Data{Sequence: p.sequence(), SentAtUs: p.time()}
		data.Payload, p.rest = p.rest, nil
		if len(data.Payload) > PayloadBytesMax {
			p.fail("a record of more than 64 KiB")
		}
		frame = data
	case kindAck:
		frame = p.ack()
	case kindEnd:
		frame = End{Next: p.sequence()}
	case kindBye:
		frame = Bye{}
	default:
		p.fail("unknown type")
	}
	if p.problem == "" && len(p.rest) > 0 {
		p.fail("too long")
	}
	if p.version {
		return nil, fmt.Errorf("hello: %w", ErrVersion)
	}
	if p.problem != "" {
		return nil, fmt.Errorf("%w frame: type %d: %s", ErrMalformed, k, p.problem)
	}
	return frame, nil
}

func (h Hello) appendBody(to []byte) []byte {
	to = append(to, magic[:]...)
	to = append(to, Version, byte(h.Role), bit(h.Periodic, 0)|bit(h.NewestFirst, 1))
	to = append(to, h.Session[:]...)
	to = append(to, h.Key[:]...)
	to = binary.BigEndian.AppendUint64(to, h.Connection)
	to = binary.BigEndian.AppendUint64(to, uint64(h.StartedUnixUs)) //nolint:gosec // its bits
	return binary.BigEndian.AppendUint64(to, h.First)
}

func (p *parser) hello() Hello {
	if [4]byte(p.take(4)) != magic {
		p.fail("no hello of this protocol")
		return Hello{}
	}
	if p.take(1)[0] != Version {
		p.version = true
		p.fail("another version")
		return Hello{}
	}
	role := Role(p.take(1)[0])
	if role > RoleNotices {
		p.fail("unknown role")
	}
	flags := p.flags(3)
	return Hello{
		Role: role, Periodic: flags&1 != 0, NewestFirst: flags&2 != 0,
		Session: Session(p.take(SessionBytes)), Key: Key(p.take(KeyBytes)), Connection: p.number64(),
		StartedUnixUs: int64(p.number64()), First: p.sequence(), //nolint:gosec // its bits
	}
}

func (w Welcome) appendBody(to []byte) []byte {
	to = append(to, w.Epoch[:]...)
	to = append(to, bit(w.Periodic, 0)|bit(w.NewestFirst, 1))
	to = binary.BigEndian.AppendUint16(to, w.UDPPort)
	to = binary.BigEndian.AppendUint64(to, uint64(w.StartedUnixUs)) //nolint:gosec // its bits
	to = binary.BigEndian.AppendUint64(to, w.First)
	return binary.BigEndian.AppendUint64(to, w.Next)
}

func (p *parser) welcome() Welcome {
	epoch, flags := Epoch(p.take(EpochBytes)), p.flags(3)
	return Welcome{
		Epoch: epoch, Periodic: flags&1 != 0, NewestFirst: flags&2 != 0, UDPPort: p.number16(),
		StartedUnixUs: int64(p.number64()), First: p.sequence(), Next: p.sequence(), //nolint:gosec // its bits
	}
}

func (r Refused) appendBody(to []byte) []byte {
	return append(append(to, byte(r.Refusal)), r.Text[:min(len(r.Text), textBytesMax)]...)
}

func (p *parser) refused() Refused {
	refusal := Refusal(p.take(1)[0])
	if refusal == 0 || refusal >= refusalsCounted {
		p.fail("unknown refusal")
	}
	text := string(p.rest)
	p.rest = nil
	return Refused{refusal, text}
}

func (s Switch) appendBody(to []byte) []byte {
	to = binary.BigEndian.AppendUint64(to, s.Count)
	return binary.BigEndian.AppendUint64(to, s.First)
}

func (d Data) appendBody(to []byte) []byte {
	to = binary.BigEndian.AppendUint64(to, d.Sequence)
	to = binary.BigEndian.AppendUint64(to, uint64(d.SentAtUs)) //nolint:gosec // not negative
	return append(to, d.Payload...)
}

func (a Ack) appendBody(to []byte) []byte {
	to = append(to, bit(a.Full, 0))
	to = binary.BigEndian.AppendUint64(to, a.Received)
	to = binary.BigEndian.AppendUint64(to, a.ReceivedCount)
	to = binary.BigEndian.AppendUint64(to, a.Confirmed)
	for _, r := range a.Ranges[:min(len(a.Ranges), RangesMax)] {
		to = binary.BigEndian.AppendUint64(to, r.First)
		to = binary.BigEndian.AppendUint64(to, r.Last)
	}
	return to
}

func (p *parser) ack() Ack {
	ack := Ack{
		Full: p.flags(1)&1 != 0, Received: p.sequence(), ReceivedCount: p.number64(), Confirmed: p.sequence(),
	}
	if ack.Confirmed > ack.Received || ack.ReceivedCount < ack.Received-1 {
		p.fail("more is confirmed than was received")
	}
	above := ack.Confirmed
	for len(p.rest) > 0 && p.problem == "" {
		r := Range{p.number64(), p.number64()}
		if r.First <= above || r.Last < r.First {
			p.fail("ranges that do not rise")
		}
		above = r.Last
		ack.Ranges = append(ack.Ranges, r)
	}
	return ack
}

func (e End) appendBody(to []byte) []byte { return binary.BigEndian.AppendUint64(to, e.Next) }

func (Bye) appendBody(to []byte) []byte { return to }

func bit(set bool, position int) byte {
	if set {
		return 1 << position
	}
	return 0
}
