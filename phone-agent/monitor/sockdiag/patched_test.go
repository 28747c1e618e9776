// SPDX-License-Identifier: Apache-2.0

//go:build patched

package sockdiag_test

import (
	"io"
	"net"
	"reflect"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/phone-agent/applications"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/monitor/procfs"
	"github.com/airbound/airbound/phone-agent/monitor/sockdiag"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	samplesCompared = 200
	// sampleEvery is long enough for windows to change, and for losses.
	sampleEvery = 20 * time.Millisecond
)

// sinks are addresses of the lab's guest, on an interface that delays, limits and loses.
var sinks = []string{"10.0.4.1:0", "10.0.4.1:0", "10.0.5.1:0"}

// TestBothMonitorsOfAPatchedKernelAgree runs in the guest of lab/tests/test_monitors_uml.py. It asks sock_diag between
// two readings of tcp_monitor; where these are equal nothing has happened meanwhile, and it has to say the same.
func TestBothMonitorsOfAPatchedKernelAgree(t *testing.T) {
	patched, stock := procfs.New("/proc"), open(t)
	var marks sockdiag.Marks
	t.Cleanup(func() { _ = marks.Close() })
	var ofPatched, ofStock monitor.Aggregator
	table, _ := applications.ParseTable("live dscp AF41")
	for _, aggregator := range []*monitor.Aggregator{&ofPatched, &ofStock} {
		aggregator.Classify(applications.New(table, applications.Packages{}))
	}
	senders := make([]net.Conn, len(sinks))
	for i, address := range sinks {
		senders[i] = sendTo(t, address)
	}
	if err := setDSCP(senders[1], 34, [2]int{unix.IPPROTO_IP, unix.IP_TOS}); err != nil {
		t.Fatal(err)
	}
	var seen []*airboundv1.Destination
	compared := 0
	for sample := 0; compared < samplesCompared; sample++ {
		if sample == 10*samplesCompared {
			t.Fatalf("only %d samples could be compared", compared)
		}
		time.Sleep(sampleEvery)
		before, between, after := snapshot(t, patched), snapshot(t, stock), snapshot(t, patched)
		if !reflect.DeepEqual(before, after) {
			continue
		}
		compared++
		if err := marks.Mark(&before); err != nil {
			t.Fatal(err)
		}
		nowUS := int64(sample) * sampleEvery.Microseconds()
		if a, b := ofPatched.Observe(before, nowUS), ofStock.Observe(between, nowUS); a != b {
			t.Errorf("sample %d: %+v, sock_diag %+v", sample, a, b)
		}
		want, got := ofPatched.Report(), ofStock.Report()
		seen = append(seen, clone(want)...)
		requireSame(t, want, got)
		if compared == samplesCompared/2 {
			if err := senders[0].Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, found := range map[string]func(to *airboundv1.Destination) bool{
		"two senders": func(to *airboundv1.Destination) bool {
			return to.GetConnections() == 2 && to.GetConnectionsSending() == 2
		},
		"three sinks": func(to *airboundv1.Destination) bool {
			return to.GetConnections() == 3 && to.GetConnectionsSending() == 0
		},
		"two of them": func(to *airboundv1.Destination) bool {
			return to.GetConnections() == 2 && to.GetConnectionsSending() == 0
		},
		"a threshold": func(to *airboundv1.Destination) bool { return to.GetSsthreshSegs() < monitor.SsthreshUnset },
		"none":        func(to *airboundv1.Destination) bool { return to.GetSsthreshSegs() == monitor.SsthreshUnset },
		"a loss":      func(to *airboundv1.Destination) bool { return to.GetEvents().GetFastRetransmit() > 0 },
		"RTTs": func(to *airboundv1.Destination) bool {
			return to.GetMinRttUs() > 0 && to.GetSrttUs() > to.GetMinRttUs()
		},
		"a marked sender": func(to *airboundv1.Destination) bool {
			return len(to.GetClasses()) == 1 && to.GetClasses()[0].GetConnections() == 1 &&
				to.GetClasses()[0].GetDeliveredBytes() > 0 && to.GetConnections() == 2
		},
		"delivered, and queued": func(to *airboundv1.Destination) bool {
			return to.GetDeliveredBytes() > 100_000 && to.GetQueuedBytes() > 10_000
		},
	} {
		if !slices.ContainsFunc(seen, found) {
			t.Errorf("never seen: %s", what)
		}
	}
}

// sendTo sends to a new sink as much as the network takes, until the connection is closed.
func sendTo(t *testing.T, address string) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	// Not from the sink's own address: each end would be a connection to the other's destination.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(10, 0, 9, 1)}}
	from, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	to, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	go func() {
		_, _ = io.Copy(io.Discard, to)
		_ = to.Close()
	}()
	go func() {
		for data := make([]byte, 64<<10); ; {
			if _, err := from.Write(data); err != nil {
				return
			}
		}
	}()
	return from
}

// snapshot returns the connections in the order of their ends, without the time.
func snapshot(t *testing.T, source monitor.Source) monitor.Snapshot {
	t.Helper()
	taken, err := source.Snapshot()
	if err != nil || taken.RefusedTotal > 0 {
		t.Fatalf("%v, %v", err, taken.Refused)
	}
	slices.SortFunc(taken.Connections, func(a, b monitor.Connection) int {
		if order := a.Local.Compare(b.Local); order != 0 {
			return order
		}
		return a.Remote.Compare(b.Remote)
	})
	for i := range taken.Connections {
		taken.Connections[i].TimeUS = 0
	}
	return taken
}

func clone(destinations []*airboundv1.Destination) []*airboundv1.Destination {
	cloned := make([]*airboundv1.Destination, len(destinations))
	for i, destination := range destinations {
		cloned[i] = proto.CloneOf(destination)
	}
	return cloned
}

// requireSame compares everything but the event counts, which sock_diag of Linux 6.1 does not have.
func requireSame(t *testing.T, want, got []*airboundv1.Destination) {
	t.Helper()
	same := len(want) == len(got)
	for i := range min(len(want), len(got)) {
		if !proto.Equal(got[i].GetEvents(), &airboundv1.EventCounts{}) {
			t.Errorf("events: %v", got[i].GetEvents())
		}
		want[i].Events, got[i].Events = nil, nil
		same = same && proto.Equal(want[i], got[i])
	}
	if !same {
		t.Errorf("tcp_monitor: %v\nsock_diag:   %v", want, got)
	}
}
