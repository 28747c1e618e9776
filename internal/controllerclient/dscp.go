// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"net"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reports share the air with the uploads that are to be bounded: in a full cell a report waits for seconds behind data.
// Two socket options put it first, where a queue on the way evaluates them:
//
// - DSCP CS6, network control (RFC 4594, 3.1). mac80211 uses the three upper bits as the 802.11 user priority if WMM is
// on:
//
//	6, voice. The controller sets the same on its side.
//
// - SO_PRIORITY 6, interactive, the highest that needs no privilege, for the machine's own qdisc: pfifo_fast's first
// band.
//
// A report is 1 to 8 kB a second, too little to starve other traffic.
const (
	controlTOS      = 48 << 2
	controlPriority = 6
)

// dialWithDSCP opens a TCP connection for grpc-go, which has its own keepalive; the kernel's is off.
func dialWithDSCP(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: -1, Control: setPriority}
	return dialer.DialContext(ctx, "tcp", address)
}

// setPriority ignores errors: a connection without priority is better than none.
func setPriority(network, _ string, socket syscall.RawConn) error {
	return socket.Control(func(descriptor uintptr) {
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if strings.HasSuffix(network, "6") {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		_ = unix.SetsockoptInt(int(descriptor), level, option, controlTOS)
		// Last, because IP_TOS sets a priority too, and that of CS6 is not one that pfifo_fast would put first.
		_ = unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_PRIORITY, controlPriority)
	})
}
