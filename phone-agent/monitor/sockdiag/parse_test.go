// SPDX-License-Identifier: Apache-2.0

package sockdiag_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/monitor/sockdiag"
)

var order = binary.NativeEndian

// message makes a netlink message.
func message(kind uint16, payload []byte) []byte {
	made := make([]byte, 16, 16+len(payload))
	order.PutUint32(made, uint32(16+len(payload)))
	order.PutUint16(made[4:], kind)
	made = append(made, payload...)
	for len(made)%4 != 0 {
		made = append(made, 0)
	}
	return made
}

func attribute(kind uint16, payload []byte) []byte {
	made := order.AppendUint16(nil, uint16(4+len(payload)))
	made = append(order.AppendUint16(made, kind), payload...)
	for len(made)%4 != 0 {
		made = append(made, 0)
	}
	return made
}

// socket makes a struct inet_diag_msg.
func socket(state byte, local, remote string) []byte {
	made := make([]byte, 72)
	from, to := netip.MustParseAddrPort(local), netip.MustParseAddrPort(remote)
	made[0], made[1] = 10, state
	if from.Addr().Is4() {
		made[0] = 2
	}
	binary.BigEndian.PutUint16(made[4:], from.Port())
	binary.BigEndian.PutUint16(made[6:], to.Port())
	copy(made[8:], from.Addr().AsSlice())
	copy(made[24:], to.Addr().AsSlice())
	order.PutUint32(made[56:], 17)
	order.PutUint32(made[60:], 9000)
	order.PutUint32(made[64:], 10073)
	return made
}

// info makes a struct tcp_info of so many bytes.
func info(bytes int) []byte {
	made := make([]byte, bytes)
	made[1] = 3
	for at, value := range map[int]uint32{16: 1448, 68: 28123, 76: 0x7fffffff, 80: 42, 144: 4000, 148: 4312} {
		if at+4 <= bytes {
			order.PutUint32(made[at:], value)
		}
	}
	if bytes >= 128 {
		order.PutUint64(made[120:], 1<<40)
	}
	if bytes >= 244 {
		order.PutUint16(made[240:], 7)
	}
	return made
}

func expected(local, remote string) monitor.Connection {
	return monitor.Connection{
		TimeUS: 5, State: "established", Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort(remote),
		UID: 10073, CAState: "recovery", CwndSegs: 42, SsthreshSegs: monitor.SsthreshUnset, SRTTUS: 28123,
		MinRTTUS: 4312, MSSBytes: 1448, UnsentBytes: 4000, UnackedBytes: 5000, RcvqBytes: 17, AckedBytes: 1 << 40,
	}
}

func TestAConnectionIsRead(t *testing.T) {
	t.Parallel()
	late := expected("10.0.0.11:40000", "10.0.4.1:5001")
	late.Events.Timeout = 7
	noRTT := info(232)
	order.PutUint32(noRTT[148:], 0xffffffff)
	none := expected("10.0.0.11:40000", "10.0.4.1:5001")
	none.MinRTTUS = 0
	for name, test := range map[string]struct {
		socket []byte
		info   []byte
		want   monitor.Connection
	}{
		"IPv4, Linux 4.6": {
			socket(1, "10.0.0.11:40000", "10.0.4.1:5001"), info(152), expected("10.0.0.11:40000", "10.0.4.1:5001"),
		},
		"IPv4, Linux 6.7": {socket(1, "10.0.0.11:40000", "10.0.4.1:5001"), info(248), late},
		"IPv6": {
			socket(1, "[2001:db8::b]:1", "[2001:db8::1]:65535"), info(232),
			expected("[2001:db8::b]:1", "[2001:db8::1]:65535"),
		},
		"IPv4 in IPv6": {
			socket(1, "[::ffff:10.0.0.11]:1", "[::ffff:10.0.4.1]:2"), info(232), expected("10.0.0.11:1", "10.0.4.1:2"),
		},
		"no RTT yet": {socket(1, "10.0.0.11:40000", "10.0.4.1:5001"), noRTT, none},
	} {
		var snapshot monitor.Snapshot
		payload := slices.Concat(test.socket, attribute(4, []byte("cubic\x00")), attribute(2, test.info))
		datagram := slices.Concat(message(20, payload), message(3, make([]byte, 4)))
		last, err := sockdiag.Parse(&snapshot, datagram, 5)
		if !last || err != nil || snapshot.RefusedTotal != 0 ||
			!reflect.DeepEqual(snapshot.Connections, []monitor.Connection{test.want}) {
			t.Errorf("%s: %v, %v, %+v", name, last, err, snapshot)
		}
	}
}

func TestWhatIsNotReadIsRefusedAndTheRestKept(t *testing.T) {
	t.Parallel()
	good := message(20, append(socket(1, "10.0.0.11:40000", "10.0.4.1:5001"), attribute(2, info(232))...))
	short := attribute(2, info(232))
	order.PutUint16(short, 3)
	long := attribute(2, info(232))
	order.PutUint16(long, 300)
	odd := socket(1, "10.0.0.11:40000", "10.0.4.1:5001")
	odd[0] = 1
	strange := info(232)
	strange[1] = 5
	address := func(attributes []byte) []byte {
		return append(socket(1, "10.0.0.11:40000", "10.0.4.1:5001"), attributes...)
	}
	for want, payload := range map[string][]byte{
		"71 bytes are no inet_diag_msg":                     make([]byte, 71),
		"state 6 was not asked for":                         socket(6, "10.0.0.11:40000", "10.0.4.1:5001"),
		"family 1 is neither IPv4 nor IPv6":                 odd,
		"no tcp_info":                                       address(attribute(4, []byte("cubic\x00"))),
		"an attribute of 3 bytes in 236":                    address(short),
		"an attribute of 300 bytes in 236":                  address(long),
		"a tcp_info of 148 bytes; the kernel is older than": address(attribute(2, info(148))),
		"congestion control state 5":                        address(attribute(2, strange)),
	} {
		var snapshot monitor.Snapshot
		last, err := sockdiag.Parse(&snapshot, slices.Concat(message(20, payload), good), 5)
		if last || err != nil || len(snapshot.Connections) != 1 || snapshot.RefusedTotal != 1 ||
			!strings.HasPrefix(snapshot.Refused[0].Reason, want) {
			t.Errorf("%s: %v, %v, %+v", want, last, err, snapshot)
		}
	}
}

// A socket of IPv6 has a mark for either family.
func TestTheDSCPIsThatOfTheDestinationsFamily(t *testing.T) {
	t.Parallel()
	tos, class := attribute(5, []byte{34<<2 | 2}), attribute(6, []byte{46<<2 | 1})
	for name, test := range map[string]struct {
		remote     string
		attributes []byte
		want       uint8
	}{
		"IPv4":                     {"10.0.4.1:5001", slices.Concat(tos, class), 34},
		"IPv4 in IPv6":             {"[::ffff:10.0.4.1]:5001", slices.Concat(tos, class), 34},
		"IPv6":                     {"[2001:db8::1]:5001", slices.Concat(tos, class), 46},
		"IPv6 without one":         {"[2001:db8::1]:5001", tos, 0},
		"IPv4 without one":         {"10.0.4.1:5001", nil, 0},
		"an attribute of no octet": {"10.0.4.1:5001", attribute(5, nil), 0},
	} {
		var snapshot monitor.Snapshot
		payload := slices.Concat(socket(1, test.remote, test.remote), attribute(2, info(232)), test.attributes)
		_, err := sockdiag.Parse(&snapshot, message(20, payload), 5)
		if err != nil || len(snapshot.Connections) != 1 || snapshot.Connections[0].DSCP != test.want {
			t.Errorf("%s: %v, %+v", name, err, snapshot)
		}
	}
}

// A request that has not become a connection is none, nor is what is left of one in TIME_WAIT; both are no defects.
func TestARequestIsNoConnection(t *testing.T) {
	t.Parallel()
	for _, state := range []byte{3, 5} {
		var snapshot monitor.Snapshot
		_, err := sockdiag.Parse(&snapshot, message(20, socket(state, "10.0.0.11:40000", "10.0.4.1:5001")), 5)
		if err != nil || len(snapshot.Connections) != 0 || snapshot.RefusedTotal != 0 {
			t.Errorf("state %d: %v, %+v", state, err, snapshot)
		}
	}
}

func TestTheKernelsErrors(t *testing.T) {
	t.Parallel()
	minusTwo := []byte{0xfe, 0xff, 0xff, 0xff}
	if order.Uint16([]byte{1, 0}) != 1 {
		slices.Reverse(minusTwo)
	}
	for name, test := range map[string]struct {
		datagram []byte
		errno    sockdiag.Errno
		broken   bool
	}{
		"an error":             {message(2, minusTwo), 2, false},
		"an error at the end":  {message(3, minusTwo), 2, false},
		"no header":            {make([]byte, 15), 0, true},
		"longer than it is":    {message(20, make([]byte, 72))[:40], 0, true},
		"shorter than any":     {make([]byte, 16), 0, true},
		"an end without a sum": {message(3, nil), 0, false},
	} {
		var snapshot monitor.Snapshot
		_, err := sockdiag.Parse(&snapshot, test.datagram, 5)
		number, _ := errors.AsType[sockdiag.Errno](err)
		if number != test.errno || errors.Is(err, monitor.ErrMalformed) != test.broken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParse: nothing in a datagram makes the parser fail otherwise than by an error, and each connection is complete.
func FuzzParse(f *testing.F) {
	payload := append(socket(1, "10.0.0.11:40000", "10.0.4.1:5001"), attribute(2, info(248))...)
	f.Add(slices.Concat(message(20, payload), message(3, make([]byte, 4))))
	f.Add(slices.Concat(message(20, payload[:100]), message(20, socket(3, "[::1]:1", "[::ffff:1.2.3.4]:2"))))
	f.Add(message(2, make([]byte, 4))[:18])
	f.Add(message(20, slices.Concat(payload, attribute(5, []byte{136}), attribute(6, []byte{184}))))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		var snapshot monitor.Snapshot
		_, _ = sockdiag.Parse(&snapshot, datagram, 5)
		for _, connection := range snapshot.Connections {
			if connection.State == "" || connection.CAState == "" || !connection.Remote.IsValid() ||
				connection.Remote.Addr().Is4In6() || connection.DSCP > 63 {
				t.Fatalf("%+v", connection)
			}
		}
		if int(min(snapshot.RefusedTotal, 4)) != len(snapshot.Refused) {
			t.Fatalf("%+v", snapshot)
		}
	})
}
