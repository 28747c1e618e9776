// SPDX-License-Identifier: Apache-2.0

// Package procfstest has a fake kernel that interprets the grammar of /proc/net/tcp_retransmit, with its errors and
// limits, and shows its connections as /proc/net/tcp does.
package procfstest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// Connection is one of a fake kernel. The zero value does not wait.
type Connection struct {
	Remote netip.AddrPort
	UID    uint32
	// How often its timer has expired since the last acknowledgment, and how often its timeout is doubled.
	Retransmits, Backoff uint8
	// How many milliseconds ago its first segment was lost.
	LostMS uint32
	// User space owns the socket all the time.
	IsOwned bool

	// What a request has done since the timer expired last.
	asked bool
	// WindowReturned is set by a request that names an outage which the losses are of.
	WindowReturned bool
	// Sent is how often it has retransmitted on request.
	Sent int
}

// Expire has the timer of a connection expire.
func (c *Connection) Expire() {
	c.Retransmits, c.Backoff, c.asked = c.Retransmits+1, c.Backoff+1, false
}

// Kernel is a fake procfs.Kernel.
type Kernel struct {
	Connections []*Connection
	// Every transaction that was tried, in order.
	Transactions []string
	// If set, the operations fail with it.
	ProbeError, RequestError, TablesError error
	// If not nil, the tables' text.
	Text []byte
}

// Limits of the kernel's interface.
const (
	connectionsMax = 256
	outageMSMax    = 3600000
	baseRTO        = 24
)

// Probe implements procfs.Kernel.
func (k *Kernel) Probe() error { return k.ProbeError }

type command struct {
	matches  func(*Connection) bool
	outageMS uint64
}

// Request does what a transaction says, as a whole or not at all: EINVAL if it is malformed, ERANGE if an outage is out
// of range.
func (k *Kernel) Request(transaction []byte) error {
	k.Transactions = append(k.Transactions, string(transaction))
	if k.RequestError != nil {
		return k.RequestError
	}
	body, terminated := strings.CutSuffix(string(transaction), "\n")
	if !terminated {
		return syscall.EINVAL
	}
	var commands []command
	for line := range strings.SplitSeq(body, "\n") {
		made, err := interpret(strings.Split(line, " "))
		if err != nil {
			return err
		}
		commands = append(commands, made)
	}
	left := connectionsMax
	for _, connection := range k.Connections {
		for _, each := range commands {
			if !each.matches(connection) {
				continue
			}
			if left > 0 && connection.request(each.outageMS) {
				left--
			}
			break
		}
	}
	return nil
}

// request reports whether the connection retransmits.
func (c *Connection) request(outageMS uint64) bool {
	if c.Retransmits == 0 || c.asked || c.IsOwned {
		return false
	}
	c.asked, c.Backoff = true, 0
	c.Sent++
	c.WindowReturned = outageMS > 0 && uint64(c.LostMS) <= outageMS
	return true
}

func interpret(words []string) (command, error) {
	var made command
	rest := words[1:]
	switch {
	case words[0] == "all":
		made.matches = func(*Connection) bool { return true }
	case words[0] == "dst" && len(rest) > 0:
		prefix, err := netip.ParsePrefix(rest[0])
		if err != nil || prefix != prefix.Masked() {
			return command{}, syscall.EINVAL
		}
		made.matches = func(c *Connection) bool { return prefix.Contains(c.Remote.Addr()) }
		rest = rest[1:]
	case words[0] == "uid" && len(rest) > 0:
		uid, err := strconv.ParseUint(rest[0], 10, 32)
		if err != nil {
			return command{}, syscall.EINVAL
		}
		made.matches = func(c *Connection) bool { return uint64(c.UID) == uid }
		rest = rest[1:]
	default:
		return command{}, syscall.EINVAL
	}
	switch len(rest) {
	case 0:
		return made, nil
	case 1:
		var err error
		if made.outageMS, err = strconv.ParseUint(rest[0], 10, 64); err != nil {
			return command{}, syscall.EINVAL
		}
		if made.outageMS < 1 || made.outageMS > outageMSMax {
			return command{}, syscall.ERANGE
		}
		return made, nil
	}
	return command{}, syscall.EINVAL
}

// Tables implements procfs.Kernel: one table of all connections, and a listener and a TIME_WAIT.
func (k *Kernel) Tables() ([][]byte, error) {
	if k.TablesError != nil || k.Text != nil {
		return [][]byte{k.Text}, k.TablesError
	}
	var text strings.Builder
	text.WriteString("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout" +
		" inode\n   0: 0100007F:335B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 118112 1" +
		" 0 100 0 0 10 0\n" +
		"   1: 0B00000A:9C3F 0104000A:01BB 06 00000000:00000000 03:00000A5C 00000000     0        0 0 3 0\n")
	for i, connection := range k.Connections {
		rto := baseRTO << connection.Backoff
		kind, remaining := 0, 0
		if connection.Retransmits > 0 {
			kind, remaining = 1, rto/2
			if connection.asked {
				remaining = rto
			}
		}
		fmt.Fprintf(&text, "%4d: 0B00000A:%04X 0104000A:01BB 01 %08X:%08X %02X:%08X %08X %5d %8d %d",
			i+2, 40000+i, 1448, 0, kind, remaining, connection.Retransmits, connection.UID, 0, 4711)
		fmt.Fprintf(&text, " %d %x %d %d %d %d %d\n", 2, 0, rto, 0, 0, 1, 7)
	}
	return [][]byte{[]byte(text.String())}, nil
}
