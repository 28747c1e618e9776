// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"

	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/proctext"
)

// Types, sizes and offsets of linux/netlink.h, linux/inet_diag.h and linux/tcp.h. Numbers are in the machine's byte
// order, but for ports and addresses.
const (
	headerBytes    = 16
	attributeBytes = 4
	alignment      = 4

	typeError = 2
	typeDone  = 3
	typeDiag  = 20 // SOCK_DIAG_BY_FAMILY

	messageBytes   = 72 // struct inet_diag_msg
	attributeInfo  = 2  // INET_DIAG_INFO, struct tcp_info
	attributeTOS   = 5  // INET_DIAG_TOS, of IPv4
	attributeClass = 6  // INET_DIAG_TCLASS, of IPv6
	familyINET     = 2
	familyINET6    = 10
	attributeTypes = 0x3fff // NLA_TYPE_MASK

	// infoBytesMin is struct tcp_info of Linux 4.6, which has the smallest RTT. Later fields are read if there.
	infoBytesMin = 152
	// infoBytesTimeouts is the one of Linux 6.7, which counts timeouts.
	infoBytesTimeouts = 244

	rttUnset = math.MaxUint32
)

var order = binary.NativeEndian

// states are the kernel's numbers of those that a snapshot has; the others are no connections any more, or not yet.
var states = map[byte]string{
	1: "established", 2: "syn_sent", 3: "syn_recv", 4: "fin_wait1", 5: "fin_wait2", 8: "close_wait", 9: "last_ack",
	11: "closing",
}

// statesMask asks for them.
func statesMask() uint32 {
	var mask uint32
	for number := range states {
		mask |= 1 << number
	}
	return mask
}

// Parse adds the connections of a datagram of the kernel's answer to a snapshot, and returns whether it was the last
// one. A message that is malformed is refused and counted, and the others are kept. An error is the kernel's, or means
// that messages cannot be told apart any more; an error that wraps monitor.ErrMalformed is the latter.
func Parse(snapshot *monitor.Snapshot, datagram []byte, timeUS uint64) (bool, error) {
	for len(datagram) > 0 {
		if len(datagram) < headerBytes {
			return false, fmt.Errorf("%w: a netlink header of %d bytes", monitor.ErrMalformed, len(datagram))
		}
		length := int(order.Uint32(datagram))
		if length < headerBytes || length > len(datagram) {
			return false, fmt.Errorf(
				"%w: a netlink message of %d bytes in %d", monitor.ErrMalformed, length, len(datagram),
			)
		}
		message := datagram[headerBytes:length]
		switch order.Uint16(datagram[4:]) {
		case typeDone:
			return true, errorOf(message)
		case typeError:
			if err := errorOf(message); err != nil {
				return false, err
			}
		case typeDiag:
			take(snapshot, message, timeUS)
		}
		datagram = datagram[min(aligned(length), len(datagram)):]
	}
	return false, nil
}

func aligned(length int) int { return (length + alignment - 1) &^ (alignment - 1) }

// Errno is an error number that the kernel answered.
type Errno int //nolint:errname // as syscall.Errno

func (e Errno) Error() string { return fmt.Sprintf("the kernel answers error %d", int(e)) }

func errorOf(message []byte) error {
	const errorBytes = 4
	if len(message) < errorBytes {
		return nil
	}
	if number := int32(order.Uint32(message)); number != 0 { //nolint:gosec // as the kernel means it
		return Errno(-number)
	}
	return nil
}

func take(snapshot *monitor.Snapshot, message []byte, timeUS uint64) {
	connection, found, err := parseMessage(message)
	number := len(snapshot.Connections) + int(snapshot.RefusedTotal) + 1 //nolint:gosec // no such many
	switch {
	case err != nil:
		snapshot.Refuse(number, err.Error())
	case found:
		connection.TimeUS = timeUS
		snapshot.Connections = append(snapshot.Connections, connection)
	}
}

// parseMessage returns false for what has no TCP state of its own.
func parseMessage(message []byte) (monitor.Connection, bool, error) {
	var connection monitor.Connection
	if len(message) < messageBytes {
		return connection, false, fmt.Errorf("%d bytes are no inet_diag_msg", len(message))
	}
	state, known := states[message[1]]
	if !known {
		return connection, false, fmt.Errorf("state %d was not asked for", message[1])
	}
	connection.State = state
	var err error
	const sourcePort, destinationPort, source, destination = 4, 6, 8, 24
	if connection.Local, err = endpoint(message[0], message[source:], message[sourcePort:]); err != nil {
		return connection, false, err
	}
	if connection.Remote, err = endpoint(message[0], message[destination:], message[destinationPort:]); err != nil {
		return connection, false, err
	}
	const rqueue, wqueue, uid = 56, 60, 64
	connection.RcvqBytes = uint64(order.Uint32(message[rqueue:]))
	connection.UnackedBytes = uint64(order.Uint32(message[wqueue:]))
	connection.UID = order.Uint32(message[uid:])
	info, err := attribute(message[messageBytes:], attributeInfo)
	if err != nil {
		return connection, false, err
	}
	if info == nil {
		// A request that is no socket yet; and what TIME_WAIT is kept in, which no process has any more.
		if state == "syn_recv" || state == "fin_wait2" {
			return connection, false, nil
		}
		return connection, false, errors.New("no tcp_info")
	}
	if err := parseInfo(&connection, info); err != nil {
		return connection, true, err
	}
	connection.DSCP, err = parseDSCP(message[messageBytes:], connection.Remote.Addr())
	return connection, true, err
}

func endpoint(family byte, address, port []byte) (netip.AddrPort, error) {
	const ipv4Bytes, ipv6Bytes = 4, 16
	var parsed netip.Addr
	switch family {
	case familyINET:
		parsed, _ = netip.AddrFromSlice(address[:ipv4Bytes])
	case familyINET6:
		parsed, _ = netip.AddrFromSlice(address[:ipv6Bytes])
	default:
		return netip.AddrPort{}, fmt.Errorf("family %d is neither IPv4 nor IPv6", family)
	}
	return netip.AddrPortFrom(parsed.Unmap(), binary.BigEndian.Uint16(port)), nil
}

// attribute returns the payload of the first attribute of a type; nil if there is none.
func attribute(attributes []byte, wanted uint16) ([]byte, error) {
	for len(attributes) >= attributeBytes {
		length := int(order.Uint16(attributes))
		if length < attributeBytes || length > len(attributes) {
			return nil, fmt.Errorf("an attribute of %d bytes in %d", length, len(attributes))
		}
		if order.Uint16(attributes[2:])&attributeTypes == wanted {
			return attributes[attributeBytes:length], nil
		}
		attributes = attributes[min(aligned(length), len(attributes)):]
	}
	return nil, nil
}

// parseDSCP reads what a socket of either family marks packets of the destination's family with; 0 if the kernel does
// not say.
func parseDSCP(attributes []byte, destination netip.Addr) (uint8, error) {
	wanted := uint16(attributeTOS)
	if destination.Is6() {
		wanted = attributeClass
	}
	octet, err := attribute(attributes, wanted)
	if err != nil || len(octet) == 0 {
		return 0, err
	}
	const bitsOfECN = 2
	return octet[0] >> bitsOfECN, nil
}

// parseInfo reads struct tcp_info. A later kernel appends to it.
func parseInfo(connection *monitor.Connection, info []byte) error {
	if len(info) < infoBytesMin {
		return fmt.Errorf("a tcp_info of %d bytes; the kernel is older than 4.6", len(info))
	}
	const (
		caState, mss, srtt, ssthresh, cwnd = 1, 16, 68, 76, 80
		acked, notSent, minRTT, timeouts   = 120, 144, 148, 240
	)
	if int(info[caState]) >= len(proctext.CAStates) {
		return fmt.Errorf("congestion control state %d", info[caState])
	}
	connection.CAState = proctext.CAStates[info[caState]]
	connection.MSSBytes = order.Uint32(info[mss:])
	connection.SRTTUS = order.Uint32(info[srtt:])
	connection.SsthreshSegs = order.Uint32(info[ssthresh:])
	connection.CwndSegs = order.Uint32(info[cwnd:])
	connection.AckedBytes = order.Uint64(info[acked:])
	// What was written and not acknowledged includes what was not sent.
	connection.UnsentBytes = min(uint64(order.Uint32(info[notSent:])), connection.UnackedBytes)
	connection.UnackedBytes -= connection.UnsentBytes
	if rtt := order.Uint32(info[minRTT:]); rtt != rttUnset {
		connection.MinRTTUS = rtt
	}
	if len(info) >= infoBytesTimeouts {
		connection.Events.Timeout = uint64(order.Uint16(info[timeouts:]))
	}
	return nil
}
