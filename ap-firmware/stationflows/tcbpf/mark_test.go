// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/stationflows"
	"github.com/airbound/airbound/ap-firmware/stationflows/tcbpf"
)

const minuteUS = int64(60_000_000)

var (
	phone1  = mac.Address{2, 0, 0, 0, 1, 0}
	phone2  = mac.Address{2, 0, 0, 0, 2, 0}
	server4 = netip.MustParseAddr("198.51.100.7")
	server6 = netip.MustParseAddr("2001:db8::7")
)

func monotonicUS() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano() / 1000
}

// frame is what is sent to a station, from an address.
type frame struct {
	station mac.Address
	vlans   []uint16 // EtherTypes of tags
	source  netip.Addr
	payload int
}

func (f frame) bytes() []byte {
	out := append(append([]byte{}, f.station[:]...), 2, 0, 0, 0, 0, 9)
	for _, tag := range f.vlans {
		out = binary.BigEndian.AppendUint16(out, tag)
		out = binary.BigEndian.AppendUint16(out, 7)
	}
	address := f.source.AsSlice()
	if f.source.Is4() {
		out = append(out, 8, 0, 0x45, 0xb8, 0, byte(20+f.payload), 0, 1, 0, 0, 64, 17, 0, 0)
		out = append(append(out, address...), 192, 0, 2, 5)
	} else {
		out = append(out, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(f.payload), 17, 64)
		out = append(append(out, address...), make([]byte, 16)...)
	}
	return append(out, make([]byte, f.payload)...)
}

// context is struct __sk_buff (linux/bpf.h).
type context struct {
	Len, PktType, Mark, QueueMapping, Protocol, VlanPresent, VlanTci, VlanProto, Priority uint32
	Rest                                                                                  [39]uint32
}

// run sends a frame through the program and returns the priority that it has afterwards. No octet of it changes.
func run(tb testing.TB, program *ebpf.Program, data []byte, priority uint32) uint32 {
	tb.Helper()
	after, err := tryRun(program, data, priority)
	if err != nil {
		tb.Fatalf("%x: %v", data, err)
	}
	return after
}

func tryRun(program *ebpf.Program, data []byte, priority uint32) (uint32, error) {
	const others = -1 // They are asked next.
	before, after := context{Priority: priority}, context{}
	options := ebpf.RunOptions{
		Data: data, DataOut: make([]byte, len(data)+256), Context: &before, ContextOut: &after,
	}
	result, err := program.Run(&options)
	if err != nil {
		return 0, err
	}
	if int32(result) != others || !bytes.Equal(options.DataOut, data) {
		return 0, errorOf("it returns %d, and %x", int32(result), options.DataOut)
	}
	return after.Priority, nil
}

// marking is a program with flows.
func marking(tb testing.TB, deadlineUS int64, flows ...stationflows.Flow) (*tcbpf.Kernel, *ebpf.Program) {
	tb.Helper()
	kernel := tcbpf.New(tcbpf.Options{AgentName: "test"})
	enterNamespace(tb)
	tb.Cleanup(func() {
		if err := kernel.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := kernel.Set("wlan0", nil, flows, deadlineUS); err != nil {
		tb.Fatalf("these tests load programs into the kernel; run them as root: %v", err)
	}
	return kernel, kernel.Program("wlan0")
}

func TestPacketsOfAFlowAreMarked(t *testing.T) {
	kernel, program := marking(t, monotonicUS()+minuteUS,
		stationflows.Flow{Station: phone1, Address: server4}, stationflows.Flow{Station: phone1, Address: server6})
	const own = 3
	tags := []uint16{0x88a8, 0x8100, 0x8100}
	for name, test := range map[string]struct {
		frame frame
		want  uint32
	}{
		"IPv4":                      {frame{station: phone1, source: server4, payload: 8}, tcbpf.VideoPriority},
		"IPv6":                      {frame{station: phone1, source: server6, payload: 8}, tcbpf.VideoPriority},
		"the shortest of IPv4":      {frame{station: phone1, source: server4}, tcbpf.VideoPriority},
		"VLAN":                      {frame{station: phone1, source: server4, vlans: tags[:1]}, tcbpf.VideoPriority},
		"two VLANs":                 {frame{station: phone1, source: server6, vlans: tags[:2]}, tcbpf.VideoPriority},
		"three VLANs":               {frame{station: phone1, source: server4, vlans: tags}, own},
		"another station":           {frame{station: phone2, source: server4}, own},
		"another address":           {frame{station: phone1, source: server4.Next()}, own},
		"another address of IPv6":   {frame{station: phone1, source: server6.Next()}, own},
		"IPv4's octets, as of IPv6": {frame{station: phone1, source: netip.AddrFrom16([16]byte{198, 51, 100, 7})}, own},
		"all stations": {
			frame{station: mac.Address{255, 255, 255, 255, 255, 255}, source: server4}, own,
		},
	} {
		if got := run(t, program, test.frame.bytes(), own); got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if total, err := kernel.MarkedTotal("wlan0"); err != nil || total != 5 {
		t.Error(total, err)
	}
	// What has the category already is not counted.
	run(t, program, frame{station: phone1, source: server4}.bytes(), tcbpf.VideoPriority)
	if total, _ := kernel.MarkedTotal("wlan0"); total != 5 {
		t.Error(total)
	}
	// ARP, a frame of LLC, and what ends too early.
	whole := frame{station: phone1, source: server6, payload: 8}.bytes()
	arp := append(append([]byte{}, whole[:12]...), 8, 6)
	llc := append(append([]byte{}, whole[:12]...), 0, 40, 0xaa, 0xaa, 3)
	for _, data := range [][]byte{append(arp, whole[14:]...), llc} {
		if got := run(t, program, data, own); got != own {
			t.Errorf("%x: %d", data, got)
		}
	}
	// The kernel takes no less than a header of Ethernet, and what is tagged as short as that.
	tagged := frame{station: phone1, source: server6, payload: 8, vlans: []uint16{0x8100}}.bytes()
	for length := 14; length < len(tagged); length++ {
		want := uint32(own)
		if length >= 14+4+8+16 {
			want = tcbpf.VideoPriority
		}
		if got := run(t, program, tagged[:length], own); got != want {
			t.Errorf("%d octets: %d", length, got)
		}
	}
}

func TestTheMapTakesAWholeSet(t *testing.T) {
	if size, err := tcbpf.MapSize(); err != nil || size != stationflows.FlowsMax {
		t.Error(size, err)
	}
	flows := func(second byte) []stationflows.Flow {
		all := make([]stationflows.Flow, stationflows.FlowsMax)
		for i := range all {
			all[i] = stationflows.Flow{Station: mac.Address{2, second, 0, 0, byte(i >> 8), byte(i)}, Address: server4}
		}
		return all
	}
	deadlineUS := monotonicUS() + minuteUS
	kernel, program := marking(t, deadlineUS, flows(1)...)
	if err := kernel.Set("wlan0", nil, flows(2), deadlineUS); err != nil {
		t.Fatal(err)
	}
	for station, want := range map[mac.Address]uint32{{2, 1, 0, 0, 1, 7}: 0, {2, 2, 0, 0, 1, 7}: tcbpf.VideoPriority} {
		if got := run(t, program, frame{station: station, source: server4}.bytes(), 0); got != want {
			t.Errorf("%s: %d", station, got)
		}
	}
}

// A lease that has ended is one whose end the program compares with the clock: nobody else does anything.
func TestALeaseEndsInTheKernel(t *testing.T) {
	flow := stationflows.Flow{Station: phone1, Address: server4}
	data := frame{station: phone1, source: server4}.bytes()
	kernel, program := marking(t, monotonicUS()+minuteUS, flow)
	if got := run(t, program, data, 0); got != tcbpf.VideoPriority {
		t.Error(got)
	}
	if err := kernel.Set("wlan0", nil, []stationflows.Flow{flow}, monotonicUS()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Microsecond)
	if got := run(t, program, data, 0); got != 0 {
		t.Error(got)
	}
	if err := kernel.Set("wlan0", nil, []stationflows.Flow{flow}, monotonicUS()+minuteUS); err != nil {
		t.Fatal(err)
	}
	if got := run(t, program, data, 0); got != tcbpf.VideoPriority {
		t.Error(got)
	}
}

func FuzzFrames(f *testing.F) {
	_, program := marking(f, monotonicUS()+minuteUS, stationflows.Flow{Station: phone1, Address: server4})
	f.Add(frame{station: phone1, source: server4}.bytes())
	f.Add(frame{station: phone1, source: server6, vlans: []uint16{0x8100}}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		const shortest, longest = 14, 4000
		if len(data) < shortest || len(data) > longest {
			return
		}
		got, err := tryRun(program, data, 0)
		if errors.Is(err, unix.EINVAL) {
			return // The kernel's own way to run a program does not take a header of IP that is cut off.
		}
		if err != nil {
			t.Fatal(err)
		}
		at := shortest
		for i := 0; i < 2 && len(data) >= at+4 && (bytes.Equal(data[at-2:at], []byte{0x81, 0}) ||
			bytes.Equal(data[at-2:at], []byte{0x88, 0xa8})); i++ {
			at += 4
		}
		isFlow := bytes.Equal(data[:6], phone1[:]) && bytes.Equal(data[at-2:at], []byte{8, 0}) &&
			len(data) >= at+16 && bytes.Equal(data[at+12:at+16], server4.AsSlice())
		if (got == tcbpf.VideoPriority) != isFlow {
			t.Errorf("%d", got)
		}
	})
}

// The cost of a packet: of no flow's, and of one.
func BenchmarkPackets(b *testing.B) {
	_, program := marking(b, monotonicUS()+minuteUS, stationflows.Flow{Station: phone1, Address: server4})
	for name, station := range map[string]mac.Address{"other": phone2, "marked": phone1} {
		b.Run(name, func(b *testing.B) {
			_, err := program.Run(&ebpf.RunOptions{
				Data: frame{station: station, source: server4, payload: 100}.bytes(), Repeat: uint32(b.N),
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
