// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/core"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// Event is an arrival: a handover that has completed.
type Event struct {
	// At is when, by this machine's clock. The zero time is now.
	At time.Time
	// Kind is the source, for logs.
	Kind string
}

// SideChannel is the way of the server's notices.
type SideChannel int

const (
	// Automatic is UDP, and a third TCP connection if UDP is not answered. It is the default.
	Automatic SideChannel = iota
	// ThirdConnection is a third TCP connection.
	ThirdConnection
	// NoSideChannel is none: the phone goes by the missing acknowledgements alone.
	NoSideChannel
)

// Config is one end of sessions. The zero value has the defaults that each field names; those of the paper are marked.
type Config struct {
	// TLS, unless nil, is for all TCP connections. The server's should ask for the phones' certificates: a session is
	// then bound to the certificate's URI, or to its key if it has none. Without TLS the session's key is sent in plain
	// text: strangers beside the path can do nothing, those on it everything.
	TLS *tls.Config
	// NewestFirst is the order of the records that this end sends.
	NewestFirst bool
	// Irregular says that this end does not promise a record in each RecvInterval (which the paper's senders do). The
	// peer then cannot know silence from a pause, and the phone asks instead.
	Irregular bool
	// ManualConfirm leaves it to the application to call Conn.Confirm for each record.
	ManualConfirm bool

	// Events are arrivals at the phone; nil is none. A closed channel is none as well.
	Events <-chan Event
	// WaitForNotice has the phone wait for a notice in spite of an event: the paper's method alone.
	WaitForNotice bool
	// NoSpare has no second connection: the phone then only replaces lost ones. For comparisons.
	NoSpare bool
	// SideChannel is the way of notices to the phone.
	SideChannel SideChannel

	// RecvInterval is T_recvinterval of the paper, 3 s; Switch is its T_switch, 10 s. NoticeInterval is the time
	// between two notices, 200 ms. Drain is how long an old connection is kept, 60 s.
	RecvInterval, Switch, NoticeInterval, Drain time.Duration
	// SendBytes and ReceiveBytes limit the memory for records of a session: 4 MiB that are not confirmed, 1 MiB that
	// the application has not taken. Each record counts 64 bytes more than its data.
	SendBytes, ReceiveBytes int

	// SessionTimeout is how long a server keeps a session without any connection, 5 minutes.
	SessionTimeout time.Duration
	// SessionsMax limits all sessions of a Listener, 10,000, SessionsPerClientMax those of one client, 16: of one
	// identity with TLS, else of one IPv4 address or IPv6 /64. HandshakesMax limits connections without a session, 256.
	SessionsMax, SessionsPerClientMax, HandshakesMax int
	// HandshakeTimeout ends connections without a session, 20 s at a server and 60 s at a phone.
	HandshakeTimeout time.Duration
	// Origin, unless nil, is called by a server that meets a session, with the session's name and the peer's identity.
	// It returns where the application's records stand, see the package's documentation.
	Origin func(session, identity string) (Origin, error)

	// Switched, unless nil, is called for each switch, one at a time, and must not call the Conn.
	Switched func(SwitchInfo)

	// DialContext opens the phone's connections ("tcp") and its socket for datagrams ("udp"). The default is
	// net.Dialer's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Origin is where a server's application stands with a session's records.
type Origin = core.Origin

// Range is some sequence numbers, both ends included.
type Range = wire.Range

// SwitchInfo is a switch of the phone's to another connection.
type SwitchInfo struct {
	At     time.Time
	Reason string // "notice", "event", "silence", or "lost" for a connection that broke
	// SinceEvent is the time since the last event, -1 without one.
	SinceEvent time.Duration
}

// Stats are a session's counters.
type Stats = core.Stats

func (c *Config) settings() core.Settings {
	s := core.DefaultSettings()
	replace(&s.RecvInterval, c.RecvInterval)
	replace(&s.Switch, c.Switch)
	replace(&s.NoticeInterval, c.NoticeInterval)
	replace(&s.Drain, c.Drain)
	replace(&s.OutboxBytes, c.SendBytes)
	replace(&s.InboxBytes, c.ReceiveBytes)
	s.NewestFirst, s.Periodic = c.NewestFirst, !c.Irregular
	s.AtOnce, s.NoSpare = !c.WaitForNotice, c.NoSpare
	s.NoUDP, s.NoNotices = c.SideChannel != Automatic, c.SideChannel == NoSideChannel
	return s
}

func replace[T comparable](value *T, other T) {
	var zero T
	if other != zero {
		*value = other
	}
}

func orDefault[T comparable](value, otherwise T) T {
	replace(&otherwise, value)
	return otherwise
}

// keepAliveIdle is between wake-ups of a phone for an idle connection. NATs of mobile networks keep TCP for 5 minutes
// and longer.
const keepAliveIdle = 4 * time.Minute

func defaultDial(ctx context.Context, network, address string) (net.Conn, error) {
	const keepAliveInterval, keepAliveCount = 30 * time.Second, 6
	dialer := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	}}
	return dialer.DialContext(ctx, network, address)
}
