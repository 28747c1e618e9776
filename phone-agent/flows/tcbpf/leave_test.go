// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/flows/tcbpf"
)

// These tests run the program on packets that they make. Its socket then is one of uid 0.

const (
	tcp     = 6
	udp     = 17
	hourUS  = 3_600_000_000
	dropped = 2
	next    = 0xffffffff
)

var (
	server4 = netip.MustParseAddr("192.0.2.7")
	other4  = netip.MustParseAddr("192.0.2.8")
	server6 = netip.MustParseAddr("2001:db8::7")
	other6  = netip.MustParseAddr("2001:db8::8")
)

func bootUS(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano() / 1000
}

func load(t *testing.T, options tcbpf.Options) *tcbpf.Kernel {
	t.Helper()
	kernel, err := tcbpf.Load(options)
	if err != nil {
		t.Fatalf("these tests load a program into the kernel; run them as root: %v", err)
	}
	t.Cleanup(func() {
		if err := kernel.Close(); err != nil {
			t.Error(err)
		}
	})
	return kernel
}

// set puts flows in force for an hour, with which no test depends on time.
func set(t *testing.T, kernel *tcbpf.Kernel, wanted ...flows.Flow) {
	t.Helper()
	if err := kernel.SetUnattached(wanted, bootUS(t)+hourUS); err != nil {
		t.Fatal(err)
	}
}

func counters(t *testing.T, kernel *tcbpf.Kernel) flows.Counters {
	t.Helper()
	counts, err := kernel.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// packet is what the program is run on.
type packet struct {
	to       netip.Addr
	protocol byte
	// fragmentOf is the protocol behind an IPv6 fragment header, with protocol 44.
	fragmentOf byte
	ethertype  uint16
	priority   uint32
	wireBytes  uint32
	segments   uint32
}

func (p packet) frame() []byte {
	frame := make([]byte, 14, 100)
	ethertype := p.ethertype
	switch {
	case ethertype != 0:
		frame = append(frame, make([]byte, 60)...)
	case p.to.Is4():
		ethertype = 0x0800
		frame = append(frame, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, p.protocol, 0, 0, 192, 0, 2, 1)
		frame = append(frame, p.to.AsSlice()...)
	default:
		ethertype = 0x86dd
		frame = append(frame, 0x60, 0, 0, 0, 0, 8, p.protocol, 64)
		frame = append(frame, netip.MustParseAddr("2001:db8::1").AsSlice()...)
		frame = append(frame, p.to.AsSlice()...)
		frame = append(frame, p.fragmentOf)
	}
	binary.BigEndian.PutUint16(frame[12:], ethertype)
	return append(frame, make([]byte, 20)...)
}

// context is struct __sk_buff as far as the kernel takes it.
type context struct {
	_        [8]uint32
	Priority uint32
	_        [31]uint32
	WireLen  uint32
	GSOSegs  uint32
	_        [6]uint32
}

// run returns the program's result and the packet's priority after it.
func run(t *testing.T, kernel *tcbpf.Kernel, p packet) (result, priority uint32) {
	t.Helper()
	var after context
	before := context{Priority: p.priority, WireLen: p.wireBytes, GSOSegs: p.segments}
	frame := p.frame()
	options := ebpf.RunOptions{
		Data: frame, DataOut: make([]byte, len(frame)+256), Context: before, ContextOut: &after,
	}
	result, err := kernel.Program().Run(&options)
	if err != nil {
		t.Fatal(err)
	}
	if string(options.DataOut) != string(frame) {
		t.Errorf("%+v: octets of the packet have changed: % x", p, options.DataOut)
	}
	return result, after.Priority
}

func asVideo(selector flows.Selector) flows.Flow { return flows.Flow{Selector: selector, Video: true} }

// Whatever the set, that flow decides which the rules of flows.Selector say.
func TestTheMostSpecificFlowDecides(t *testing.T) {
	kernel := load(t, tcbpf.Options{})
	random := rand.New(rand.NewPCG(7, 1))
	addresses := []netip.Addr{server4, other4, server6, other6}
	var selectors []flows.Selector
	for _, uid := range []flows.Selector{{}, {HasUID: true}, {HasUID: true, UID: 10073}} {
		selectors = append(selectors, uid)
		for _, address := range addresses {
			uid.Address = address
			selectors = append(selectors, uid)
		}
	}
	for range 200 {
		var wanted []flows.Flow
		decides := map[flows.Selector]bool{}
		for _, selector := range selectors {
			if random.IntN(3) == 0 {
				video := random.IntN(2) == 0
				wanted = append(wanted, flows.Flow{Selector: selector, Video: video})
				decides[selector] = video
			}
		}
		if len(wanted) == 0 {
			continue
		}
		set(t, kernel, wanted...)
		if kernel.Entries() > 2*len(selectors) {
			t.Fatalf("%d entries are in the kernel", kernel.Entries())
		}
		for _, address := range addresses {
			want := uint32(3)
			for _, selector := range []flows.Selector{
				{HasUID: true, Address: address}, {HasUID: true}, {Address: address}, {},
			} {
				if video, is := decides[selector]; is {
					if video {
						want = tcbpf.VideoPriority
					}
					break
				}
			}
			result, got := run(t, kernel, packet{to: address, protocol: tcp, priority: 3})
			if result != next || got != want {
				t.Fatalf("to %s: %d, priority %d and not %d; %v", address, int32(result), got, want, wanted)
			}
		}
	}
}

func TestWhatIsCountedAsMarked(t *testing.T) {
	kernel := load(t, tcbpf.Options{})
	set(t, kernel, asVideo(flows.Selector{}))
	for _, test := range []struct {
		packet packet
		want   uint32
		marked uint64
	}{
		{packet{to: server4, protocol: tcp}, tcbpf.VideoPriority, 1},
		{packet{to: server6, protocol: udp, priority: 7}, tcbpf.VideoPriority, 2},
		// It leaves in that category already.
		{packet{to: server4, protocol: udp, priority: tcbpf.VideoPriority}, tcbpf.VideoPriority, 2},
		// Neither IPv4 nor IPv6: ARP.
		{packet{ethertype: 0x0806, priority: 2}, 2, 2},
	} {
		result, got := run(t, kernel, test.packet)
		if counts := counters(t, kernel); result != next || got != test.want || counts.Marked != test.marked {
			t.Errorf("%+v: %d, priority %d, %+v", test.packet, int32(result), got, counts)
		}
	}
}

// Without a lease nothing is done, whatever is in the kernel's maps.
func TestNothingIsDoneOutsideOfALease(t *testing.T) {
	kernel := load(t, tcbpf.Options{})
	p := packet{to: server4, protocol: udp, priority: 1}
	if result, got := run(t, kernel, p); result != next || got != 1 {
		t.Errorf("before the first set: %d, priority %d", result, got)
	}
	everything := []flows.Flow{{Video: true, UDPBPS: 1}}
	for _, deadlineUS := range []int64{-5, 0, 1, bootUS(t)} {
		if err := kernel.SetUnattached(everything, deadlineUS); err != nil {
			t.Fatal(err)
		}
		if result, got := run(t, kernel, p); result != next || got != 1 {
			t.Errorf("after %d us: %d, priority %d", deadlineUS, result, got)
		}
	}
	if err := kernel.SetUnattached(everything, bootUS(t)+hourUS); err != nil {
		t.Fatal(err)
	}
	if result, got := run(t, kernel, p); result != next || got != tcbpf.VideoPriority {
		t.Errorf("prolonged: %d, priority %d", result, got)
	}
	if err := kernel.Set("", nil, 0); err != nil {
		t.Fatal(err)
	}
	if result, got := run(t, kernel, p); result != next || got != 1 {
		t.Errorf("after an empty set: %d, priority %d", result, got)
	}
}

// A bit a second is so slow that whatever comes second is dropped, however slow the machine is.
func TestUDPHasItsRateAndNothingElse(t *testing.T) {
	kernel := load(t, tcbpf.Options{})
	set(t, kernel, flows.Flow{Selector: flows.Selector{Address: server4}, UDPBPS: 1},
		flows.Flow{Selector: flows.Selector{Address: server6}, UDPBPS: 1, Video: true},
		flows.Flow{Selector: flows.Selector{Address: other6}, Video: true})
	for i, test := range []struct {
		packet       packet
		result, want uint32
	}{
		{packet{to: server4, protocol: udp}, next, 0},
		{packet{to: server4, protocol: udp}, dropped, 0},
		{packet{to: server4, protocol: tcp}, next, 0},
		{packet{to: other4, protocol: udp}, next, 0},
		{packet{to: other4, protocol: udp}, next, 0},
		// A datagram in fragments: each of them is of UDP.
		{packet{to: server6, protocol: 44, fragmentOf: udp}, next, tcbpf.VideoPriority},
		{packet{to: server6, protocol: udp}, dropped, 0},
		{packet{to: server6, protocol: 44, fragmentOf: udp}, dropped, 0},
		{packet{to: server6, protocol: 44, fragmentOf: tcp}, next, tcbpf.VideoPriority},
		{packet{to: server6, protocol: tcp}, next, tcbpf.VideoPriority},
		{packet{to: other6, protocol: udp}, next, tcbpf.VideoPriority},
		{packet{to: other6, protocol: udp}, next, tcbpf.VideoPriority},
	} {
		if result, got := run(t, kernel, test.packet); result != test.result || got != test.want {
			t.Errorf("%d, %+v: %d, priority %d", i, test.packet, int32(result), got)
		}
	}
	if counts := counters(t, kernel); counts != (flows.Counters{Marked: 5, Paced: 3, Dropped: 3}) {
		t.Errorf("%+v", counts)
	}
}

// What a packet adds to its bucket is the time of all of its bytes, with the headers of each segment.
func TestAllBytesOfAPacketCount(t *testing.T) {
	const bps = 1_000_000
	for _, test := range []struct {
		packet packet
		bytes  uint64
	}{
		{packet{to: server4, protocol: udp}, 40},
		{packet{to: server4, protocol: udp, wireBytes: 1514}, 1500},
		{packet{to: server4, protocol: udp, wireBytes: 65_536, segments: 44}, 65_536 - 44*14},
		{packet{to: server4, protocol: udp, wireBytes: 1514, segments: 1}, 1500},
	} {
		t.Run(strconv.FormatUint(test.bytes, 10), func(t *testing.T) {
			kernel := load(t, tcbpf.Options{})
			set(t, kernel, flows.Flow{UDPBPS: bps})
			before := uint64(bootUS(t)) * 1000
			if result, _ := run(t, kernel, test.packet); result != next {
				t.Fatalf("%d", int32(result))
			}
			after := uint64(bootUS(t)+1) * 1000
			empty, err := kernel.EmptyNS(flows.Selector{})
			takes := test.bytes * 8_000_000_000 / bps
			if err != nil || empty < before+takes || empty > after+takes {
				t.Errorf("%d ns and not %d, %v", empty-before, takes, err)
			}
		})
	}
}
