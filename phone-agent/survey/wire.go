// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Lengths on the wire. Those of records and datagrams are the paper's; all numbers are in network order.
const (
	// RecordBytes is the length of a record on the TCP connection: sequence number (8), send time (8), zeros.
	RecordBytes = 1000
	// UpBytes is the length of a datagram of the phone's: header (6), session (16), sequence number (8), send time (8),
	// zeros, and the first 16 bytes of an HMAC-SHA256 of all that.
	UpBytes = 1000
	// DownBytes is the length of a datagram of the server's: header (6), the session's first 8 bytes, sequence number
	// (4), send time (8), which datagram of the phone's was the last before it (4), how long before in us (4), HMAC
	// (16).
	DownBytes = 50
	// helloBytes: header (6), session (16), key (32). The server answers with answerBytes: header (6), UDP port (2).
	helloBytes, answerBytes = 6 + sessionBytes + keyBytes, 8
	// receiptBytes: series (1), sequence number (8), time of arrival by the server's clock (8).
	receiptBytes = 17

	sessionBytes, keyBytes, macBytes = 16, 32, 16
	version                          = 1
)

var magic = [4]byte{'a', 'b', 'S', 'v'}

// Session names a survey; the phone draws it.
type Session [sessionBytes]byte

// Key makes a survey's datagrams authentic; the phone draws it, and sends it by the TCP connections alone.
type Key [keyBytes]byte

// Role is what a TCP connection is for, or what is wrong with it.
type Role uint8

const (
	// Control has the receipts, from the server to the phone. The phone's end of it ends the survey.
	Control Role = iota + 1
	// Data has the records.
	Data
	// Refused is in an answer: there are too many surveys, or the session has another key or such a connection already.
	Refused

	datagramUp
	datagramDown
)

// Errors of what came from the other end.
var (
	ErrMalformed = errors.New("malformed")
	ErrForged    = errors.New("not authentic")
)

func header(role Role) []byte { return append(magic[:], version, byte(role)) }

func checkHeader(octets []byte, length int, what string) (Role, error) {
	if len(octets) != length || [4]byte(octets) != magic {
		return 0, fmt.Errorf("%w %s", ErrMalformed, what)
	}
	if octets[4] != version {
		return 0, fmt.Errorf("%w %s: version %d, this program has %d", ErrMalformed, what, octets[4], version)
	}
	return Role(octets[5]), nil
}

// Hello begins a TCP connection.
type Hello struct {
	Role    Role
	Session Session
	Key     Key
}

// Append appends the hello to a buffer.
func (h *Hello) Append(to []byte) []byte {
	to = append(to, header(h.Role)...)
	to = append(to, h.Session[:]...)
	return append(to, h.Key[:]...)
}

// ParseHello reads a hello.
func ParseHello(octets []byte) (Hello, error) {
	role, err := checkHeader(octets, helloBytes, "hello")
	if err != nil {
		return Hello{}, err
	}
	if role != Control && role != Data {
		return Hello{}, fmt.Errorf("%w hello: role %d", ErrMalformed, role)
	}
	return Hello{
		Role: role, Session: Session(octets[len(header(0)):]), Key: Key(octets[len(header(0))+sessionBytes:]),
	}, nil
}

// Answer is the server's to a hello: its role, or Refused.
type Answer struct {
	Role    Role
	UDPPort uint16
}

// Append appends the answer to a buffer.
func (a Answer) Append(to []byte) []byte {
	return binary.BigEndian.AppendUint16(append(to, header(a.Role)...), a.UDPPort)
}

// ParseAnswer reads an answer.
func ParseAnswer(octets []byte) (Answer, error) {
	role, err := checkHeader(octets, answerBytes, "answer")
	if err != nil {
		return Answer{}, err
	}
	if role < Control || role > Refused {
		return Answer{}, fmt.Errorf("%w answer: role %d", ErrMalformed, role)
	}
	return Answer{role, binary.BigEndian.Uint16(octets[answerBytes-2:])}, nil
}

// AppendRecord appends a record to a buffer.
func AppendRecord(to []byte, sequence uint64, sentUS int64) []byte {
	record := make([]byte, RecordBytes)
	binary.BigEndian.PutUint64(record, sequence)
	binary.BigEndian.PutUint64(record[8:], uint64(sentUS)) //nolint:gosec // its bits
	return append(to, record...)
}

// Keys are of the two directions of a session.
type Keys struct{ up, down [sha256.Size]byte }

// NewKeys derives them from the session's key.
func NewKeys(key Key) Keys { return Keys{derive(key, "survey, up"), derive(key, "survey, down")} }

func derive(key Key, purpose string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(purpose))
	return [sha256.Size]byte(mac.Sum(nil))
}

func sum(octets []byte, key [sha256.Size]byte) []byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(octets)
	return mac.Sum(nil)[:macBytes]
}

func authentic(octets []byte, key [sha256.Size]byte) bool {
	at := len(octets) - macBytes
	return hmac.Equal(octets[at:], sum(octets[:at], key))
}

// Up is a datagram of the phone's.
type Up struct {
	Session  Session
	Sequence uint64
	SentUS   int64
}

// Append appends the datagram to a buffer.
func (u Up) Append(to []byte, keys Keys) []byte {
	octets := append(make([]byte, 0, UpBytes), header(datagramUp)...)
	octets = append(octets, u.Session[:]...)
	octets = binary.BigEndian.AppendUint64(octets, u.Sequence)
	octets = binary.BigEndian.AppendUint64(octets, uint64(u.SentUS)) //nolint:gosec // its bits
	octets = octets[:UpBytes-macBytes]
	return append(append(to, octets...), sum(octets, keys.up)...)
}

// UpSession is the session of a datagram, which is not verified yet.
func UpSession(octets []byte) (Session, error) {
	role, err := checkHeader(octets, UpBytes, "datagram")
	if err != nil {
		return Session{}, err
	}
	if role != datagramUp {
		return Session{}, fmt.Errorf("%w datagram: type %d", ErrMalformed, role)
	}
	return Session(octets[len(header(0)):]), nil
}

// ParseUp verifies and reads a datagram of the phone's.
func ParseUp(octets []byte, keys Keys) (Up, error) {
	session, err := UpSession(octets)
	if err != nil {
		return Up{}, err
	}
	if !authentic(octets, keys.up) {
		return Up{}, fmt.Errorf("datagram: %w", ErrForged)
	}
	rest := octets[len(header(0))+sessionBytes:]
	return Up{
		Session: session, Sequence: binary.BigEndian.Uint64(rest),
		SentUS: int64(binary.BigEndian.Uint64(rest[8:])), //nolint:gosec // its bits
	}, nil
}

// Down is a datagram of the server's.
type Down struct {
	Sequence uint32
	SentUS   int64
	// Echoed is the last datagram of the phone's that had come, 0 for none, and HeldUS how long before this one.
	Echoed, HeldUS uint32
}

const shortSessionBytes = 8

// Append appends the datagram to a buffer.
func (d Down) Append(to []byte, session Session, keys Keys) []byte {
	octets := append(make([]byte, 0, DownBytes), header(datagramDown)...)
	octets = append(octets, session[:shortSessionBytes]...)
	octets = binary.BigEndian.AppendUint32(octets, d.Sequence)
	octets = binary.BigEndian.AppendUint64(octets, uint64(d.SentUS)) //nolint:gosec // its bits
	octets = binary.BigEndian.AppendUint32(octets, d.Echoed)
	octets = binary.BigEndian.AppendUint32(octets, d.HeldUS)
	return append(append(to, octets...), sum(octets, keys.down)...)
}

// ParseDown verifies and reads a datagram of the server's.
func ParseDown(octets []byte, session Session, keys Keys) (Down, error) {
	role, err := checkHeader(octets, DownBytes, "datagram")
	if err != nil {
		return Down{}, err
	}
	rest := octets[len(header(0)):]
	if role != datagramDown {
		return Down{}, fmt.Errorf("%w datagram: type %d", ErrMalformed, role)
	}
	if !hmac.Equal(rest[:shortSessionBytes], session[:shortSessionBytes]) || !authentic(octets, keys.down) {
		return Down{}, fmt.Errorf("datagram: %w", ErrForged)
	}
	rest = rest[shortSessionBytes:]
	return Down{
		Sequence: binary.BigEndian.Uint32(rest),
		SentUS:   int64(binary.BigEndian.Uint64(rest[4:])), //nolint:gosec // its bits
		Echoed:   binary.BigEndian.Uint32(rest[12:]), HeldUS: binary.BigEndian.Uint32(rest[16:]),
	}, nil
}

// Receipt is when a record or a datagram of the phone's has come.
type Receipt struct {
	Series   Series
	Sequence uint64
	AtUS     int64
}

// Append appends the receipt to a buffer.
func (r Receipt) Append(to []byte) []byte {
	to = append(to, byte(r.Series))
	to = binary.BigEndian.AppendUint64(to, r.Sequence)
	return binary.BigEndian.AppendUint64(to, uint64(r.AtUS)) //nolint:gosec // its bits
}

// ParseReceipt reads a receipt.
func ParseReceipt(octets []byte) (Receipt, error) {
	if len(octets) != receiptBytes || Series(octets[0]) != TCPUp && Series(octets[0]) != UDPUp {
		return Receipt{}, fmt.Errorf("%w receipt", ErrMalformed)
	}
	return Receipt{
		Series(octets[0]), binary.BigEndian.Uint64(octets[1:]),
		int64(binary.BigEndian.Uint64(octets[9:])), //nolint:gosec // its bits
	}, nil
}
