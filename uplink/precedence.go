// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"context"
	"net"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Commands share the air with the uploads they are to tame: in a full cell a report waits for seconds behind data. Two
// marks let it pass, where something on the way honours them:
//
//   - DSCP CS6, network control (RFC 4594, 3.1). mac80211 takes the three upper bits for the 802.11 user priority where WMM
//     is on: 6, voice. The controller marks its side alike.
//   - SO_PRIORITY 6, interactive, the highest that needs no privilege, for the machine's own qdisc: pfifo_fast's first band.
//
// A report is 1 to 8 kB a second, so nobody else starves.
const (
	controlTOS      = 48 << 2
	controlPriority = 6
)

// dialMarked opens a TCP connection for grpc-go, which has its own keepalive; the kernel's is off.
func dialMarked(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: -1, Control: mark}
	return dialer.DialContext(ctx, "tcp", address)
}

// mark sets what the kernel takes: a connection without marks is better than none.
func mark(network, _ string, socket syscall.RawConn) error {
	return socket.Control(func(descriptor uintptr) {
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if strings.HasSuffix(network, "6") {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		_ = unix.SetsockoptInt(int(descriptor), level, option, controlTOS)
		// Last, since IP_TOS sets a priority of its own, and CS6 has none that pfifo_fast would put first.
		_ = unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_PRIORITY, controlPriority)
	})
}
