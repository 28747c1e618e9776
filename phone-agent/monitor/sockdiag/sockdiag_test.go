// SPDX-License-Identifier: Apache-2.0

package sockdiag_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/monitor/sockdiag"
)

func open(t *testing.T) *sockdiag.Socket {
	t.Helper()
	made, err := sockdiag.Open(func() uint64 { return 5 })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	return made
}

// connect returns both ends of a connection on loopback.
func connect(t *testing.T, listener net.Listener) (net.Conn, net.Conn) {
	t.Helper()
	from, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	to, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	return from, to
}

func endpoint(t *testing.T, address net.Addr) netip.AddrPort {
	t.Helper()
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
}

// On this machine's own kernel; no privilege is needed.
func TestThisKernelsConnections(t *testing.T) {
	t.Parallel()
	const acked = 1000
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		from, to := connect(t, listener)
		if _, err := from.Write(make([]byte, acked)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(to, make([]byte, acked)); err != nil {
			t.Fatal(err)
		}
		snapshot, err := open(t).Snapshot()
		if err != nil || snapshot.RefusedTotal > 0 {
			t.Fatalf("%v, %v", err, snapshot.Refused)
		}
		found := 0
		for _, connection := range snapshot.Connections {
			if connection.Local != endpoint(t, from.LocalAddr()) ||
				connection.Remote != endpoint(t, from.RemoteAddr()) {
				continue
			}
			found++
			if connection.State != "established" || connection.CAState != "open" || connection.CwndSegs < 2 ||
				connection.SRTTUS == 0 || connection.MinRTTUS == 0 || connection.MSSBytes < 500 ||
				connection.TimeUS != 5 ||
				connection.UID != uint32(os.Getuid()) || connection.QueuedBytes() != 0 ||
				// With the SYN, as in tcp_monitor.
				connection.AckedBytes != acked+1 || connection.SsthreshSegs != monitor.SsthreshUnset {
				t.Errorf("%+v", connection)
			}
		}
		if found != 1 {
			t.Errorf("%s: found %d times among %d", address, found, len(snapshot.Connections))
		}
	}
}

// setDSCP marks a connection, as its application may at any time; option is the socket's level and name.
func setDSCP(connection net.Conn, dscp int, option [2]int) error {
	raw, err := connection.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	const bitsOfECN = 2
	controlErr := raw.Control(func(descriptor uintptr) {
		err = unix.SetsockoptInt(int(descriptor), option[0], option[1], dscp<<bitsOfECN)
	})
	return errors.Join(err, controlErr)
}

// As an application sets it, on a connection that it has: by IP_TOS or IPV6_TCLASS.
func TestTheDSCPsOfThisKernelsConnections(t *testing.T) {
	t.Parallel()
	for address, option := range map[string][2]int{
		"127.0.0.1:0": {unix.IPPROTO_IP, unix.IP_TOS}, "[::1]:0": {unix.IPPROTO_IPV6, unix.IPV6_TCLASS},
	} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		marked, _ := connect(t, listener)
		plain, _ := connect(t, listener)
		if err := setDSCP(marked, 34, option); err != nil {
			t.Fatal(err)
		}
		ends := func(c net.Conn, dscp uint8) monitor.Connection {
			return monitor.Connection{
				Local: endpoint(t, c.LocalAddr()), Remote: endpoint(t, c.RemoteAddr()), DSCP: dscp,
			}
		}
		var marks sockdiag.Marks
		for range 2 { // The second time with the same socket, or another one.
			// What the other monitor knows, and a connection that has ended since; marks of before do not stay.
			snapshot := monitor.Snapshot{Connections: []monitor.Connection{
				ends(marked, 0), ends(plain, 46), {Local: netip.MustParseAddrPort("192.0.2.1:1"), DSCP: 46},
			}}
			if err := marks.Mark(&snapshot); err != nil {
				t.Fatal(err)
			}
			for i, want := range []uint8{34, 0, 0} {
				if got := snapshot.Connections[i].DSCP; got != want {
					t.Errorf("%s, connection %d: %d", address, i, got)
				}
			}
		}
		if err := errors.Join(marks.Close(), marks.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestADumpOfManyDatagrams(t *testing.T) {
	t.Parallel()
	const connections = 300 // Each end is some 400 bytes; a datagram has at most 32 KiB.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	wanted := map[netip.AddrPort]bool{}
	for range connections {
		from, _ := connect(t, listener)
		wanted[endpoint(t, from.LocalAddr())] = true
	}
	source := open(t)
	for range 3 {
		snapshot, err := source.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, connection := range snapshot.Connections {
			// The machine's other connections may have the same local port, to another remote one.
			if wanted[connection.Local] && connection.Remote == endpoint(t, listener.Addr()) {
				found++
			}
		}
		if found != connections {
			t.Errorf("%d of %d", found, connections)
		}
	}
}
