// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// A datagram is the magic (4 bytes), version (1), type (1), session (16), counter (8), two sequence numbers (8 each), a
// time (8) and the first 16 bytes of an HMAC-SHA256 of all that. On a connection of RoleNotices the same bytes stand
// one behind the other. All have one length, so that the answer to a stranger's datagram is never longer than the
// datagram.

// DatagramBytes is the length of each datagram.
const (
	DatagramBytes = datagramMACAt + macBytes

	datagramSessionAt = 6
	datagramMACAt     = datagramSessionAt + SessionBytes + 32
	macBytes          = 16
)

// DatagramType is what a datagram says.
type DatagramType uint8

const (
	// Here is from the phone: it shows where the phone is, and asks for the Position.
	Here DatagramType = iota + 1
	// Position is the server's answer: the newest record that it has received.
	Position
	// LossStart is the paper's notice, from the server: nothing has arrived for the receive interval.
	LossStart
)

// NothingSent is the time in a datagram of a server that has received no record.
const NothingSent = -1

// Datagram is one message of the side channel.
type Datagram struct {
	Type    DatagramType
	Session Session
	// Counter is higher in each datagram of a sender.
	Counter uint64
	// Received and Sent are the sequence numbers of the newest records that the sender of the datagram has received and
	// sent; 0 is none.
	Received, Sent uint64
	// SentAtUs is the send time of the record received, the paper's T_lastsent, by the sender of the record; or
	// NothingSent.
	SentAtUs int64
}

// ErrForged is in the error about a datagram that was not made with the session's key.
var ErrForged = errors.New("not authentic")

// DatagramKeys are the keys of the two directions in one epoch. Another epoch has others, so that a server that was
// started again can count from the beginning.
type DatagramKeys struct{ FromPhone, FromServer [sha256.Size]byte }

// NewDatagramKeys derives them from the session's key.
func NewDatagramKeys(key Key, epoch Epoch) DatagramKeys {
	return DatagramKeys{derive(key, epoch, "from the phone"), derive(key, epoch, "from the server")}
}

func derive(key Key, epoch Epoch, purpose string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(epoch[:])
	mac.Write([]byte(purpose))
	return [sha256.Size]byte(mac.Sum(nil))
}

// AppendDatagram appends a datagram to a buffer.
func AppendDatagram(to []byte, d Datagram, key [sha256.Size]byte) []byte {
	start := len(to)
	to = append(to, magic[:]...)
	to = append(to, Version, byte(d.Type))
	to = append(to, d.Session[:]...)
	to = binary.BigEndian.AppendUint64(to, d.Counter)
	to = binary.BigEndian.AppendUint64(to, d.Received)
	to = binary.BigEndian.AppendUint64(to, d.Sent)
	to = binary.BigEndian.AppendUint64(to, uint64(d.SentAtUs)) //nolint:gosec // its bits
	return append(to, sum(to[start:], key)...)
}

func sum(octets []byte, key [sha256.Size]byte) []byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(octets)
	return mac.Sum(nil)[:macBytes]
}

// DatagramSession returns the session of a datagram, which is not verified yet.
func DatagramSession(octets []byte) (Session, error) {
	if len(octets) != DatagramBytes || [4]byte(octets) != magic || octets[4] != Version {
		return Session{}, fmt.Errorf("%w datagram", ErrMalformed)
	}
	return Session(octets[datagramSessionAt:]), nil
}

// ParseDatagram verifies and reads a datagram.
func ParseDatagram(octets []byte, key [sha256.Size]byte) (Datagram, error) {
	session, err := DatagramSession(octets)
	if err != nil {
		return Datagram{}, err
	}
	if !hmac.Equal(octets[datagramMACAt:], sum(octets[:datagramMACAt], key)) {
		return Datagram{}, fmt.Errorf("datagram: %w", ErrForged)
	}
	p := parser{rest: octets[datagramSessionAt+SessionBytes : datagramMACAt]}
	d := Datagram{
		Type: DatagramType(octets[5]), Session: session,
		Counter: p.number64(), Received: p.number64(), Sent: p.number64(),
		SentAtUs: int64(p.number64()), //nolint:gosec // its bits
	}
	if d.Type < Here || d.Type > LossStart || d.SentAtUs < NothingSent {
		return Datagram{}, fmt.Errorf("%w datagram: type %d, time %d", ErrMalformed, d.Type, d.SentAtUs)
	}
	return d, nil
}
