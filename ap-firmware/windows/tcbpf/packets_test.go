// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
)

const (
	fin = 0x01
	syn = 0x02
	rst = 0x04
	ack = 0x10

	ethernetBytes = 14
	mss           = 1460
	minute        = int64(60_000_000)
)

var (
	station = mac.Address{2, 0, 0, 0, 0, 1}
	gateway = mac.Address{2, 0, 0, 0, 0, 9}
)

func monotonicUS() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano() / 1000
}

func load(tb testing.TB) *tcbpf.Kernel {
	tb.Helper()
	kernel, err := tcbpf.Load(tcbpf.Options{AgentName: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatalf("these tests load programs into the kernel; run them as root: %v", err)
	}
	tb.Cleanup(func() {
		if err := kernel.Close(); err != nil {
			tb.Error(err)
		}
	})
	return kernel
}

func limit(tb testing.TB, kernel *tcbpf.Kernel, limits ...windows.Limit) {
	tb.Helper()
	if err := kernel.SetLimits("wlan0", limits, monotonicUS()+minute); err != nil {
		tb.Fatal(err)
	}
}

// packet is a TCP segment in an Ethernet frame, to be made or as it was read.
type packet struct {
	up              bool
	vlans           []uint16 // EtherTypes of tags
	local, remote   netip.AddrPort
	ipv4Options     int    // words
	extensions      []byte // of IPv6: the numbers of headers of 8 bytes each
	fragment        uint16
	seq, ack        uint32
	flags           byte
	window          uint16
	options         []byte
	payload, padded int
}

func (p packet) ipv6() bool { return p.local.Addr().Is6() }

func (p packet) bytes() []byte {
	frame := make([]byte, 0, 128+p.payload)
	from, to, src, dst := station, gateway, p.local, p.remote
	if !p.up {
		from, to, src, dst = gateway, station, p.remote, p.local
	}
	frame = append(append(frame, to[:]...), from[:]...)
	for _, tag := range p.vlans {
		frame = binary.BigEndian.AppendUint16(frame, tag)
		frame = binary.BigEndian.AppendUint16(frame, 7)
	}
	options := slices.Clone(p.options)
	for len(options)%4 != 0 {
		options = append(options, 0)
	}
	tcp := binary.BigEndian.AppendUint16(nil, src.Port())
	tcp = binary.BigEndian.AppendUint16(tcp, dst.Port())
	tcp = binary.BigEndian.AppendUint32(tcp, p.seq)
	tcp = binary.BigEndian.AppendUint32(tcp, p.ack)
	tcp = append(tcp, byte((20+len(options))/4<<4), p.flags)
	tcp = binary.BigEndian.AppendUint16(tcp, p.window)
	tcp = append(append(tcp, 0, 0, 0, 0), options...)
	for i := range p.payload {
		tcp = append(tcp, byte(i*7))
	}
	pseudo := append(slices.Clone(src.Addr().AsSlice()), dst.Addr().AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(tcp)))
	pseudo = append(pseudo, 0, 0, 0, 6)
	binary.BigEndian.PutUint16(tcp[16:], ^checksum(append(pseudo, tcp...)))
	if p.ipv6() {
		frame = binary.BigEndian.AppendUint16(frame, 0x86dd)
		first := byte(6)
		var extensions []byte
		for i, number := range p.extensions {
			if i == 0 {
				first = number
			}
			next := byte(6)
			if i+1 < len(p.extensions) {
				next = p.extensions[i+1]
			}
			extensions = append(extensions, next, 0, 1, 4, 0, 0, 0, 0)
		}
		frame = append(frame, 0x60, 0, 0, 0)
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(extensions)+len(tcp)))
		frame = append(append(append(frame, first, 64), src.Addr().AsSlice()...), dst.Addr().AsSlice()...)
		frame = append(frame, extensions...)
	} else {
		frame = binary.BigEndian.AppendUint16(frame, 0x0800)
		ip := []byte{0x45 + byte(p.ipv4Options), 0}
		ip = binary.BigEndian.AppendUint16(ip, uint16(20+4*p.ipv4Options+len(tcp)))
		ip = binary.BigEndian.AppendUint16(ip, 1)
		ip = binary.BigEndian.AppendUint16(ip, p.fragment)
		ip = append(append(append(ip, 64, 6, 0, 0), src.Addr().AsSlice()...), dst.Addr().AsSlice()...)
		ip = append(ip, bytes.Repeat([]byte{1}, 4*p.ipv4Options)...)
		frame = append(frame, ip...)
	}
	return append(append(frame, tcp...), make([]byte, p.padded)...)
}

func checksum(data []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	if len(data)%2 != 0 {
		sum += uint32(data[len(data)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// tcpAt is where the TCP header begins.
func (p packet) tcpAt() int {
	at := ethernetBytes + 4*len(p.vlans)
	if p.ipv6() {
		return at + 40 + 8*len(p.extensions)
	}
	return at + 20 + 4*p.ipv4Options
}

// run sends a frame through the program of a direction and returns what comes out.
func run(tb testing.TB, kernel *tcbpf.Kernel, isUp bool, frame []byte) []byte {
	tb.Helper()
	out, err := tryRun(kernel, isUp, frame)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func tryRun(kernel *tcbpf.Kernel, isUp bool, frame []byte) ([]byte, error) {
	up, down := kernel.Programs()
	program := down
	if isUp {
		program = up
	}
	const others = -1 // They are asked next.
	options := ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+256)}
	result, err := program.Run(&options)
	if err == nil && int32(result) != others {
		err = fmt.Errorf("the program returns %d", int32(result))
	}
	if err == nil && len(options.DataOut) != len(frame) {
		err = fmt.Errorf("%d bytes became %d", len(frame), len(options.DataOut))
	}
	return options.DataOut, err
}

// send sends a segment, and returns the window that it has afterwards. Nothing else may differ, and the checksum is
// right.
func send(tb testing.TB, kernel *tcbpf.Kernel, p packet) uint16 {
	tb.Helper()
	before := p.bytes()
	after := run(tb, kernel, p.up, before)
	at := p.tcpAt()
	changed := p
	changed.window = binary.BigEndian.Uint16(after[at+14:])
	if want := changed.bytes(); !bytes.Equal(after, want) {
		tb.Fatalf("%+v\n became\n%x\n and not\n%x", p, after, want)
	}
	if p.up && changed.window != p.window {
		tb.Fatalf("an uplink window became %d", changed.window)
	}
	return changed.window
}

func wscale(shift byte) []byte { return []byte{2, 4, mss >> 8, mss & 0xff, 1, 3, 3, shift} }

// connection is one of a station to a server.
type connection struct {
	t      testing.TB
	kernel *tcbpf.Kernel
	frame  packet
	// What each side sends next.
	station, server uint32
	shift           byte
}

var (
	phone4  = netip.MustParseAddrPort("192.0.2.5:40000")
	server4 = netip.MustParseAddrPort("198.51.100.7:443")
	phone6  = netip.MustParseAddrPort("[2001:db8::5]:40000")
	server6 = netip.MustParseAddrPort("[2001:db8:7::7]:443")
)

func connect(tb testing.TB, kernel *tcbpf.Kernel, shift byte) *connection {
	tb.Helper()
	c := &connection{
		t: tb, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 1000, server: 9000, shift: shift,
	}
	c.open()
	return c
}

// open has the three segments of the handshake.
func (c *connection) open() {
	c.t.Helper()
	c.up(packet{flags: syn, window: 65535, options: wscale(7)})
	c.station++
	c.down(packet{flags: syn | ack, window: 65535, options: wscale(c.shift)})
	c.server++
	c.up(packet{flags: ack, window: 1000})
}

func (c *connection) fill(p packet) packet {
	filled := c.frame
	filled.flags, filled.window, filled.options, filled.payload = p.flags, p.window, p.options, p.payload
	return filled
}

// up sends a segment of the station with its next number; payload counts.
func (c *connection) up(p packet) {
	c.t.Helper()
	filled := c.fill(p)
	filled.up, filled.seq = true, c.station
	if p.flags&ack != 0 {
		filled.ack = c.server
	}
	send(c.t, c.kernel, filled)
	c.station += uint32(p.payload)
}

// down sends one of the server, which acknowledges everything.
func (c *connection) down(p packet) uint16 {
	c.t.Helper()
	filled := c.fill(p)
	filled.seq = c.server
	if p.flags&ack != 0 {
		filled.ack = c.station
	}
	c.server += uint32(p.payload)
	return send(c.t, c.kernel, filled)
}

// flow is the only connection of the kernel's table.
func flow(tb testing.TB, kernel *tcbpf.Kernel) windows.Flow {
	tb.Helper()
	flows, err := kernel.Flows()
	if err != nil || len(flows) != 1 {
		tb.Fatalf("%+v, %v", flows, err)
	}
	return flows[0]
}
