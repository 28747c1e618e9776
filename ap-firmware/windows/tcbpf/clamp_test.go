// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
)

// Limits of 44 and 22 segments. Their windows are for 45 and 23 less a byte, 65 699 and 33 579 bytes; here they are in
// units of 128 bytes.
const (
	many       = 44 * mss
	manyWindow = 513
	few        = 22 * mss
	fewWindow  = 262
)

func everything(maxBytes uint32) windows.Limit {
	return windows.Limit{Station: station, MaxBytes: maxBytes}
}

// drain lets the station use up what it was offered before: it sends, and all is acknowledged.
func (c *connection) drain(bytesTotal int) {
	c.t.Helper()
	for sent := 0; sent < bytesTotal; sent += mss {
		c.up(packet{flags: ack, window: 1000, payload: mss})
		c.down(packet{flags: ack, window: 4000})
	}
}

func TestAWindowIsLimitedByItsScale(t *testing.T) {
	for _, frame := range []packet{
		{local: phone4, remote: server4},
		{local: phone6, remote: server6},
		{local: phone4, remote: server4, ipv4Options: 10},
		{local: phone4, remote: server4, vlans: []uint16{0x8100}},
		{local: phone6, remote: server6, vlans: []uint16{0x88a8, 0x8100}},
		{local: phone6, remote: server6, extensions: []byte{0, 43, 60}},
		{local: phone4, remote: server4, fragment: 0x4000}, // Don't fragment.
		{local: phone4, remote: server4, padded: 6},
	} {
		kernel := load(t)
		limit(t, kernel, everything(many))
		c := &connection{t: t, kernel: kernel, frame: frame, station: 1000, server: 9000, shift: 7}
		c.open()
		c.drain(65535)
		if got := c.down(packet{flags: ack, window: 4000}); got != manyWindow {
			t.Errorf("%+v: window %d", frame, got)
		}
		if got := c.down(packet{flags: ack, window: 511}); got != 511 {
			t.Errorf("a smaller one became %d", got)
		}
		if got := c.down(packet{flags: ack, window: 0}); got != 0 {
			t.Errorf("0 became %d", got)
		}
		if got := c.down(packet{flags: rst | ack, window: 4000}); got != 4000 {
			t.Errorf("that of a RST became %d", got)
		}
		found := flow(t, kernel)
		if !found.Scaled || found.MSSBytes != mss || found.SentBytes != 45*mss || found.Key.Station != station ||
			found.Key.Remote() != frame.remote.Addr() || kernel.LimitedTotal() == 0 {
			t.Errorf("%+v", found)
		}
	}
}

// What is in the SYN's answer is not scaled, and limited as well: it would be what the station was offered first.
func TestTheFirstWindowIsLimited(t *testing.T) {
	kernel := load(t)
	limit(t, kernel, everything(20_000))
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, shift: 7}
	c.up(packet{flags: syn, window: 65535, options: wscale(7)})
	c.station++
	// 14 segments: 15 less a byte.
	if got := c.down(packet{flags: syn | ack, window: 65535, options: wscale(7)}); got != 21_899 {
		t.Errorf("window %d", got)
	}
	c.server++
	c.up(packet{flags: ack, window: 1000})
	if got := c.down(packet{flags: ack, window: 4000}); got != 172 { // Rounded to the right.
		t.Errorf("window %d", got)
	}
}

// The least is two segments, of which one more may be waiting for its acknowledgment; see window_of in clamp.c.
func TestWindowsOfWholeSegments(t *testing.T) {
	for _, test := range []struct {
		segments      int
		stamps        bool
		shift         byte
		want          uint32
		wantEvenBytes uint32
	}{
		{0, false, 0, 4379, 2 * 1460},
		{2, false, 0, 4379, 2 * 1460},
		{3, false, 0, 4379, 2 * 1460},
		{4, false, 0, 7299, 4 * 1460},
		{2, true, 0, 4343, 2 * 1448},
		{2, true, 7, 4224, 2 * 1448},
		{2, true, 9, 4096, 2 * 1448},
		{2, true, 10, 4096, 2 * 1448},
		{2, true, 12, 4096, 2 * 1448},
		{2, true, 13, 8192, 2 * 1448},
		{2, true, 14, 16384, 2 * 1448},
		{5, true, 7, 7168, 4 * 1448},
		{5, true, 10, 7168, 4 * 1448},
		{5, true, 11, 6144, 4 * 1448},
		{5, true, 12, 8192, 4 * 1448},
		// The nearest multiple of a unit that is larger than a segment may be less.
		{10, true, 11, 14336, 0},
		{22, true, 8, 33280, 22 * 1448},
	} {
		kernel := load(t)
		limit(t, kernel, everything(uint32(test.segments*mss+1)))
		c := connect(t, kernel, test.shift)
		var options []byte
		if test.stamps {
			options = stamps(1, 1)
		}
		c.down(packet{flags: ack, window: 1, options: options})
		c.drain(70_000)
		got := uint32(c.down(packet{flags: ack, window: 40_000, options: options})) << test.shift
		if got != test.want || got < test.wantEvenBytes {
			t.Errorf("%d segments, time stamps %t, shift %d: %d bytes", test.segments, test.stamps, test.shift, got)
		}
	}
}

func TestScales(t *testing.T) {
	// 1 MiB is 718 segments, or 1956 of those that there are without an option for their size.
	none := []byte{2, 4, 5, 0xb4}
	for _, test := range []struct {
		name            string
		station, server []byte
		window          uint16
	}{
		{"both", wscale(3), wscale(9), 2050},
		{"14", wscale(3), wscale(14), 64},
		{"more than there are", wscale(3), wscale(200), 64},
		{"the station has none", none, wscale(9), 65535},
		{"the server has none", wscale(3), none, 65535},
		{"no options", nil, nil, 65535},
		{"of the wrong length", wscale(3), []byte{3, 4, 9, 0}, 65535},
		{"after one whose length cannot be", wscale(3), []byte{5, 1, 3, 3, 9}, 65535},
		{"after one that is too long", wscale(3), []byte{5, 30, 3, 3, 9}, 65535},
		{"after the end", wscale(3), []byte{0, 3, 3, 9}, 65535},
		{"after much of nothing", wscale(3), append(bytes.Repeat([]byte{1}, 37), 3, 3, 9), 2048},
		{"after unknown ones", wscale(3), []byte{4, 2, 254, 6, 1, 2, 3, 4, 3, 3, 9}, 2048},
	} {
		kernel := load(t)
		c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 1, server: 1}
		c.up(packet{flags: syn, window: 65535, options: test.station})
		c.station++
		c.down(packet{flags: syn | ack, window: 10, options: test.server})
		c.server++
		c.up(packet{flags: ack, window: 1000})
		limit(t, kernel, everything(1<<20))
		c.down(packet{flags: ack, window: 1})
		if got := c.down(packet{flags: ack, window: 65535}); got != test.window {
			t.Errorf("%s: window %d and not %d", test.name, got, test.window)
		}
	}
}

// A station that the limit finds with a large window keeps it until it has used it up.
func TestNoEdgeMovesToTheLeft(t *testing.T) {
	kernel := load(t)
	c := connect(t, kernel, 7)
	c.down(packet{flags: ack, window: 8000}) // 1 024 000 bytes
	edge := c.station + 8000<<7
	limit(t, kernel, everything(few))
	for {
		c.up(packet{flags: ack, window: 1000, payload: mss})
		window := uint32(c.down(packet{flags: ack, window: 8000})) << 7
		if before := int32(c.station + window - edge); before < 0 {
			t.Fatalf("the edge moved %d to the left", -before)
		}
		edge = c.station + window
		if window == fewWindow<<7 {
			break
		}
		if c.station > 3_000_000 {
			t.Fatalf("the window is still %d", window)
		}
	}
	if c.station > 1_200_000 {
		t.Errorf("it took %d bytes", c.station)
	}
}

// Random windows, acknowledgments, limits and ends of limits, over the end of the number range, with every scale.
func TestNoEdgeMovesToTheLeftWhateverHappens(t *testing.T) {
	for shift := range byte(15) {
		random := rand.New(rand.NewPCG(1, uint64(shift)))
		kernel := load(t)
		c := &connection{
			t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 0xfff00000,
			server: 0xffffff00,
			shift:  shift,
		}
		c.open()
		unit := uint32(1) << shift
		// The SYN's answer had a window of 65 535.
		offered, asked, lowered := c.station+65535, c.station+65535, 0
		for range 1000 {
			switch random.IntN(10) {
			case 0:
				limit(t, kernel, everything(random.Uint32N(2000<<shift)))
			case 1:
				limit(t, kernel)
			}
			for range random.IntN(4) {
				c.up(packet{flags: ack, window: 1000, payload: 1 + random.IntN(mss)})
			}
			// A receiver itself takes nothing back, but for less than a unit.
			least := uint32(0)
			if int32(asked-c.station) > 0 {
				least = (asked - c.station + unit - 1) >> shift
			}
			window := min(least+random.Uint32N(3000), 65535)
			asked = c.station + window<<shift
			got := uint32(c.down(packet{flags: ack, window: uint16(window), payload: random.IntN(2) * 100}))
			if got > window || got == 0 && window > 0 {
				t.Fatalf("shift %d: window %d became %d", shift, window, got)
			}
			if got < window {
				lowered++
			}
			edge := c.station + got<<shift
			back := int32(offered - edge)
			allowed := int32(0)
			if unit > mss {
				allowed = int32(unit) - 1
			}
			if back > allowed {
				t.Fatalf("shift %d: the edge moved %d to the left", shift, back)
			}
			if back < 0 {
				offered = edge
			}
		}
		if lowered < 100 {
			t.Errorf("shift %d: only %d windows were lowered", shift, lowered)
		}
	}
}

// The unit is more than an acknowledgment moves: the window must shrink all the same.
func TestALargeUnitDoesNotKeepAWindowOpen(t *testing.T) {
	kernel := load(t)
	c := connect(t, kernel, 14)
	c.down(packet{flags: ack, window: 100})
	limit(t, kernel, everything(many))
	for range 1_200 {
		c.up(packet{flags: ack, window: 1000, payload: mss})
		c.down(packet{flags: ack, window: 100})
	}
	if got := c.down(packet{flags: ack, window: 100}); got != 4 {
		t.Errorf("window %d", got)
	}
}

func TestWhatIsLeftAlone(t *testing.T) {
	mptcp := append(wscale(7), 30, 4, 1, 0)
	tests := map[string]func(c *connection){
		"no SYN was seen":  func(c *connection) { c.up(packet{flags: ack, window: 1000}) },
		"only the first":   func(c *connection) { c.up(packet{flags: syn, options: wscale(7)}); c.station++ },
		"only the answer":  func(c *connection) { c.down(packet{flags: syn | ack, options: wscale(7)}); c.server++ },
		"another's answer": func(c *connection) { answered(c, c.station+5_000_000, wscale(7)) },
		"MPTCP":            func(c *connection) { openWith(c, mptcp, mptcp) },
	}
	for name, begin := range tests {
		kernel := load(t)
		limit(t, kernel, everything(few))
		frame := packet{local: phone4, remote: server4}
		c := &connection{t: t, kernel: kernel, frame: frame, station: 1000, server: 9000}
		begin(c)
		for range 5 {
			c.up(packet{flags: ack, window: 1000, payload: mss})
			if got := c.down(packet{flags: ack, window: 60_000}); got != 60_000 {
				t.Errorf("%s: window %d", name, got)
			}
		}
		if got := flow(t, kernel); got.Scaled {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// One side alone does not make MPTCP.
	kernel := load(t)
	limit(t, kernel, everything(few))
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, shift: 7}
	openWith(c, mptcp, wscale(7))
	c.drain(65535)
	if got := c.down(packet{flags: ack, window: 4000}); got != fewWindow || !flow(t, kernel).Scaled {
		t.Errorf("window %d", got)
	}
}

func openWith(c *connection, station, server []byte) {
	c.up(packet{flags: syn, window: 65535, options: station})
	c.station++
	c.down(packet{flags: syn | ack, window: 65535, options: server})
	c.server++
	c.up(packet{flags: ack, window: 1000})
}

func answered(c *connection, number uint32, options []byte) {
	c.up(packet{flags: syn, window: 65535, options: options})
	filled := c.fill(packet{flags: syn | ack, window: 65535, options: options})
	filled.seq, filled.ack = c.server, number
	send(c.t, c.kernel, filled)
	c.station++
	c.server++
}

// Nothing but a station's segments makes an entry: others could fill the table.
func TestWhatIsSentToAStationMakesNoEntry(t *testing.T) {
	kernel := load(t)
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}}
	c.down(packet{flags: ack, window: 1})
	c.down(packet{flags: rst, window: 1})
	c.up(packet{flags: rst | ack, window: 1})
	if flows, err := kernel.Flows(); len(flows) != 0 || err != nil {
		t.Errorf("%+v, %v", flows, err)
	}
}

func TestOtherFramesPass(t *testing.T) {
	kernel := load(t)
	limit(t, kernel, everything(few))
	for _, frame := range []packet{{local: phone4, remote: server4}, {local: phone6, remote: server6}} {
		c := &connection{t: t, kernel: kernel, frame: frame, station: 1, server: 1, shift: 7}
		c.open()
		c.drain(70_000)
	}
	limited, created := kernel.LimitedTotal(), kernel.CreatedTotal()
	whole4 := packet{local: phone4, remote: server4, flags: ack, window: 60_000, seq: 1, ack: 1}
	whole6 := packet{local: phone6, remote: server6, flags: ack, window: 60_000, seq: 1, ack: 1}
	changed := func(p packet, change func(frame []byte)) []byte {
		frame := p.bytes()
		change(frame)
		return frame
	}
	fragment, later := whole4, whole4
	fragment.fragment, later.fragment = 0x2000, 5
	fragment6 := whole6
	fragment6.extensions = []byte{44}
	many := whole6
	many.extensions = []byte{0, 60, 60, 60, 60}
	tags := whole4
	tags.vlans = []uint16{0x88a8, 0x8100, 0x8100}
	frames := map[string][]byte{
		"a first fragment": fragment.bytes(), "a later one": later.bytes(), "a fragment of IPv6": fragment6.bytes(),
		"too many extension headers": many.bytes(), "too many tags": tags.bytes(),
		"UDP":                     changed(whole4, func(f []byte) { f[23] = 17 }),
		"ARP":                     changed(whole4, func(f []byte) { f[12], f[13] = 8, 6 }),
		"IPv4 that is not":        changed(whole4, func(f []byte) { f[14] = 0x65 }),
		"IPv6 that is not":        changed(whole6, func(f []byte) { f[14] = 0x45 }),
		"a short header":          changed(whole4, func(f []byte) { f[14] = 0x44 }),
		"longer than it is":       changed(whole4, func(f []byte) { f[16] = 9 }),
		"a short TCP header":      changed(whole4, func(f []byte) { f[46] = 0x40 }),
		"a TCP header beyond all": changed(whole4, func(f []byte) { f[46] = 0xf0 }),
		"to a group":              changed(whole4, func(f []byte) { f[0] |= 1 }),
	}
	for name, frame := range frames {
		if got := run(t, kernel, false, frame); !bytes.Equal(got, frame) {
			t.Errorf("%s became\n%x", name, got)
		}
	}
	for _, whole := range []packet{whole4, whole6} {
		frame := whole.bytes()
		least := whole.tcpAt() // Of less, the kernel makes no packet for a test.
		for length := least; length < len(frame); length++ {
			cut := frame[:length]
			if got := run(t, kernel, false, cut); !bytes.Equal(got, cut) {
				t.Errorf("%d of its bytes became\n%x", length, got)
			}
			run(t, kernel, true, cut)
		}
	}
	if kernel.LimitedTotal() != limited || kernel.CreatedTotal() != created {
		t.Error("something was counted")
	}
}

func FuzzFrames(f *testing.F) {
	kernel := load(f)
	limit(f, kernel, everything(3000))
	c := connect(f, kernel, 7)
	c.drain(70_000)
	for _, p := range []packet{
		{local: phone4, remote: server4, flags: ack, window: 4000},
		{local: phone6, remote: server6, flags: syn, options: wscale(7), extensions: []byte{0, 51}},
		{local: phone4, remote: server4, flags: syn | ack, options: wscale(7), vlans: []uint16{0x8100}},
	} {
		f.Add(p.bytes(), true)
		f.Add(p.bytes(), false)
	}
	f.Fuzz(func(t *testing.T, frame []byte, isUp bool) {
		if len(frame) < ethernetBytes || len(frame) > 2000 {
			return
		}
		before := slices.Clone(frame)
		after, err := tryRun(kernel, isUp, frame)
		if err != nil {
			return // The kernel makes no packet of it.
		}
		differ := 0
		for i := range before {
			if before[i] != after[i] {
				differ++
			}
		}
		const windowAndChecksum = 4
		if isUp && differ > 0 || differ > windowAndChecksum {
			t.Errorf("%d bytes differ:\n%x\n%x", differ, before, after)
		}
	})
}

func TestMoreSpecificLimitsWin(t *testing.T) {
	kernel := load(t)
	other := windows.Limit{Station: mac.Address{2, 0, 0, 0, 0, 2}, MaxBytes: 4000}
	specific := windows.Limit{Station: station, Address: server4.Addr(), MaxBytes: many}
	foreign := windows.Limit{Station: station, Address: netip.MustParseAddr("203.0.113.1"), MaxBytes: 5000}
	limit(t, kernel, everything(few), specific, other, foreign)
	c := connect(t, kernel, 7)
	c.drain(70_000)
	if got := c.down(packet{flags: ack, window: 4000}); got != manyWindow {
		t.Errorf("window %d", got)
	}
	limit(t, kernel, everything(few), other, foreign)
	c.drain(70_000)
	if got := c.down(packet{flags: ack, window: 4000}); got != fewWindow {
		t.Errorf("window %d", got)
	}
	limit(t, kernel, other, foreign)
	if got := c.down(packet{flags: ack, window: 4000}); got != 4000 {
		t.Errorf("window %d", got)
	}
}

// Two BSSs of a process have sets of their own; a station that moves has the later one.
func TestLimitsOfTwoBSSs(t *testing.T) {
	kernel := load(t)
	set := func(name string, deadlineUS int64, limits ...windows.Limit) {
		t.Helper()
		if err := kernel.SetLimits(name, limits, deadlineUS); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t, kernel, 7)
	now := func() uint16 {
		c.drain(140_000)
		return c.down(packet{flags: ack, window: 4000})
	}
	set("wlan0", monotonicUS()+minute, everything(many))
	set("wlan1", monotonicUS()+minute, everything(few))
	if got := now(); got != fewWindow {
		t.Errorf("window %d", got)
	}
	set("wlan0", monotonicUS()+2*minute, everything(many)) // A renewal is no later set.
	if got := now(); got != fewWindow {
		t.Errorf("window %d", got)
	}
	set("wlan1", 0)
	if got := now(); got != manyWindow {
		t.Errorf("window %d", got)
	}
	set("wlan0", monotonicUS()-1, everything(many))
	if got := now(); got != 4000 {
		t.Errorf("window %d, after the lease", got)
	}
}

// The kernel compares the deadline by itself.
func TestALeaseEndsInTheKernel(t *testing.T) {
	kernel := load(t)
	c := connect(t, kernel, 7)
	c.drain(70_000)
	var deadlineUS int64
	var got uint16
	// On a machine that is busy a lease may end before it was seen; then a longer one is tried.
	for leaseUS := int64(300_000); monotonicUS() >= deadlineUS; leaseUS *= 2 {
		deadlineUS = monotonicUS() + leaseUS
		if err := kernel.SetLimits("wlan0", []windows.Limit{everything(few)}, deadlineUS); err != nil {
			t.Fatal(err)
		}
		c.drain(600_000)
		got = c.down(packet{flags: ack, window: 4000})
	}
	if got != fewWindow {
		t.Errorf("window %d", got)
	}
	time.Sleep(time.Duration(deadlineUS-monotonicUS())*time.Microsecond + 10*time.Millisecond)
	if got := c.down(packet{flags: ack, window: 4000}); got != 4000 {
		t.Errorf("window %d after the lease", got)
	}
}

// Another connection with the same ports has its own scale.
func TestPortsAreUsedAgain(t *testing.T) {
	kernel := load(t)
	limit(t, kernel, everything(many))
	c := connect(t, kernel, 7)
	c.drain(70_000)
	c.station, c.server, c.shift = 3_000_000_000, 77, 10
	c.open()
	c.drain(70_000)
	if got := c.down(packet{flags: ack, window: 4000}); got != 64 {
		t.Errorf("window %d", got)
	}
	if got := flow(t, kernel); got.SentBytes != 48*mss || kernel.CreatedTotal() != 1 {
		t.Errorf("%+v, %d created", got, kernel.CreatedTotal())
	}
}

// The server connects to the station.
func TestAConnectionFromTheWiredSide(t *testing.T) {
	kernel := load(t)
	limit(t, kernel, everything(few))
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 1, server: 1}
	first := c.fill(packet{flags: syn, window: 1000, options: wscale(9)})
	first.seq = c.server
	send(t, kernel, first)
	c.server++
	c.up(packet{flags: syn | ack, window: 65535, options: wscale(7)})
	c.station++
	if got := c.down(packet{flags: ack, window: 500}); got != fewWindow>>2 {
		t.Errorf("window %d", got)
	}
	if got := flow(t, kernel); !got.Scaled || got.Air.SRTTUS == 0 {
		t.Errorf("%+v", got)
	}
}

func TestBothSidesConnectAtOnce(t *testing.T) {
	kernel := load(t)
	limit(t, kernel, everything(few))
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 1, server: 1}
	c.up(packet{flags: syn, window: 1000, options: wscale(7)})
	first := c.fill(packet{flags: syn, window: 1000, options: wscale(9)})
	first.seq = c.server
	send(t, kernel, first)
	second := c.fill(packet{flags: syn | ack, window: 1000, options: wscale(9)})
	second.seq, second.ack = c.server, c.station+1
	third := c.fill(packet{flags: syn | ack, window: 1000, options: wscale(7)})
	third.up, third.seq, third.ack = true, c.station, c.server+1
	c.station, c.server = c.station+1, c.server+1
	send(t, kernel, third)
	send(t, kernel, second)
	c.up(packet{flags: ack, window: 1000})
	if got := c.down(packet{flags: ack, window: 500}); got != fewWindow>>2 {
		t.Errorf("window %d", got)
	}
}

// A time without the programs: the agent was restarted.
func TestAConnectionIsTakenOver(t *testing.T) {
	kernel := load(t)
	limit(t, kernel, everything(few))
	c := connect(t, kernel, 7)
	c.drain(70_000)
	if err := kernel.Resume(); err != nil {
		t.Fatal(err)
	}
	c.station += 500_000 // Unseen.
	if got := c.down(packet{flags: ack, window: 4000}); got != 4000 {
		t.Errorf("window %d, though more may have been offered before", got)
	}
	c.drain(600_000)
	if got := c.down(packet{flags: ack, window: 4000}); got != fewWindow {
		t.Errorf("window %d", got)
	}
	// Far away is another connection.
	if err := kernel.Resume(); err != nil {
		t.Fatal(err)
	}
	c.station += 1 << 30
	c.up(packet{flags: ack, window: 1000, payload: mss})
	if got := flow(t, kernel); got.Scaled {
		t.Errorf("%+v", got)
	}
	// And so is one after a long time.
	c = connect(t, kernel, 7)
	if err := kernel.Age(61_000_000_000); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Resume(); err != nil {
		t.Fatal(err)
	}
	c.drain(200_000)
	if got := flow(t, kernel); got.Scaled {
		t.Errorf("%+v", got)
	}
}

func stamps(value, echo uint32) []byte {
	option := binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, value)
	return binary.BigEndian.AppendUint32(option, echo)
}

// moment is when a packet passed: not before the first of the two, nor after the second.
type moment struct{ from, to time.Time }

func when(pass func()) moment {
	from := time.Now()
	pass()
	return moment{from, time.Now()}
}

// since returns how long one was after the other, at least and at most.
func (m moment) since(before moment) (least, most time.Duration) {
	return m.from.Sub(before.to), m.to.Sub(before.from)
}

// isBetween is of a time that was measured, in whole microseconds.
func isBetween(t *testing.T, what string, gotUS uint32, least, most time.Duration) {
	t.Helper()
	got := time.Duration(gotUS) * time.Microsecond
	if got < least-time.Microsecond || got > most+time.Microsecond {
		t.Errorf("%s: %s and not %s to %s", what, got, least, most)
	}
}

func TestHalvesOfTheRoundTrip(t *testing.T) {
	kernel := load(t)
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 1, server: 1}
	asked := when(func() { c.up(packet{flags: syn, options: wscale(7)}) })
	c.station++
	time.Sleep(60 * time.Millisecond)
	answered := when(func() { c.down(packet{flags: syn | ack, options: wscale(7)}) })
	c.server++
	time.Sleep(20 * time.Millisecond)
	acknowledged := when(func() { c.up(packet{flags: ack, options: stamps(1, 0)}) })
	found := flow(t, kernel)
	wiredLeast, wiredMost := answered.since(asked)
	airLeast, airMost := acknowledged.since(answered)
	isBetween(t, "wired, handshake", found.Wired.MinUS, wiredLeast, wiredMost)
	isBetween(t, "air, handshake", found.Air.MinUS, airLeast, airMost)
	// Data up, and what the acknowledgment makes the station send.
	asked = when(func() { c.up(packet{flags: ack, payload: mss, options: stamps(2, 0)}) })
	c.up(packet{flags: ack, payload: mss, options: stamps(2, 0)})
	c.station -= mss // The second one is not acknowledged yet.
	time.Sleep(30 * time.Millisecond)
	answered = when(func() { c.down(packet{flags: ack, options: stamps(100, 2)}) })
	c.station += mss
	time.Sleep(10 * time.Millisecond)
	c.up(packet{flags: ack, payload: mss, options: stamps(3, 99)}) // Sent before it.
	acknowledged = when(func() { c.up(packet{flags: ack, payload: mss, options: stamps(3, 100)}) })
	found = flow(t, kernel)
	// On a machine that is busy the second time may be the longer one.
	least, most := answered.since(asked)
	isBetween(t, "wired, least", found.Wired.MinUS, min(least, wiredLeast), min(most, wiredMost))
	least, most = acknowledged.since(answered)
	isBetween(t, "air, least", found.Air.MinUS, min(least, airLeast), min(most, airMost))
	if found.Wired.SRTTUS <= found.Wired.MinUS || found.Air.SRTTUS <= found.Air.MinUS {
		t.Errorf("%+v", found)
	}
}

// What was sent again says nothing of the round trip.
func TestRetransmissionsAreNoSamples(t *testing.T) {
	kernel := load(t)
	c := &connection{t: t, kernel: kernel, frame: packet{local: phone4, remote: server4}, station: 1, server: 1}
	c.up(packet{flags: syn, options: wscale(7)})
	c.up(packet{flags: syn, options: wscale(7)})
	c.station++
	c.down(packet{flags: syn | ack, options: wscale(7)})
	c.down(packet{flags: syn | ack, options: wscale(7)})
	c.server++
	c.up(packet{flags: ack})
	c.up(packet{flags: ack, payload: mss})
	c.station -= mss
	c.up(packet{flags: ack, payload: mss})
	c.down(packet{flags: ack, window: 10})
	found := flow(t, kernel)
	if found.Wired != (windows.Half{}) || found.Air != (windows.Half{}) {
		t.Errorf("%+v", found)
	}
	if !found.Scaled {
		t.Error("a SYN that is sent again ends the connection")
	}
	limit(t, kernel, everything(few))
	c.down(packet{flags: ack, window: 10})
	if got := c.down(packet{flags: ack, window: 4000}); got != fewWindow {
		t.Errorf("window %d", got)
	}
}

func TestEnds(t *testing.T) {
	kernel := load(t)
	c := connect(t, kernel, 7)
	c.up(packet{flags: fin | ack})
	if flow(t, kernel).Ended {
		t.Error("one side has ended")
	}
	c.down(packet{flags: fin | ack})
	if !flow(t, kernel).Ended {
		t.Error("both have ended")
	}
	c.station, c.server = 50_000, 60_000
	c.open()
	c.down(packet{flags: rst})
	if !flow(t, kernel).Ended {
		t.Error("RST")
	}
	time.Sleep(time.Millisecond)
	c.up(packet{flags: ack, payload: 5})
	if flow(t, kernel).Ended {
		t.Error("the station did not accept the RST")
	}
}

func TestBothWaysOfReadingTheTable(t *testing.T) {
	kernel := load(t)
	for i := range uint16(1000) {
		frame := packet{local: netip.AddrPortFrom(phone4.Addr(), 1000+i), remote: server4}
		c := &connection{t: t, kernel: kernel, frame: frame, station: 1, server: 1}
		c.up(packet{flags: ack, payload: int(i % 7)})
	}
	quick, err := kernel.Flows()
	if err != nil {
		t.Fatal(err)
	}
	slow, err := kernel.FlowsSingly()
	if err != nil {
		t.Fatal(err)
	}
	byPort := func(a, b windows.Flow) int { return int(a.Key.StationPort) - int(b.Key.StationPort) }
	slices.SortFunc(quick, byPort)
	slices.SortFunc(slow, byPort)
	if len(quick) != 1000 || !reflect.DeepEqual(quick, slow) {
		t.Errorf("%d and %d", len(quick), len(slow))
	}
}

// More connections than the table has: the oldest are forgotten and counted.
func TestWhatIsForgottenIsCounted(t *testing.T) {
	kernel := load(t)
	if _, err := kernel.Observe(monotonicUS()); err != nil {
		t.Fatal(err)
	}
	const connections = 6000
	for i := range connections {
		frame := packet{local: netip.AddrPortFrom(phone4.Addr(), uint16(1000+i)), remote: server4}
		c := &connection{t: t, kernel: kernel, frame: frame, station: 1, server: 1}
		c.up(packet{flags: ack, payload: 1})
	}
	got, err := kernel.Observe(monotonicUS() + 1_000_000)
	if err != nil || got.Connections > got.ConnectionsMax || got.Connections < 3000 ||
		got.EvictedTotal != connections-uint64(got.Connections) {
		t.Errorf("%+v, %v", got, err)
	}
	destinations := kernel.Destinations(station)
	if len(destinations) != 1 || int(destinations[0].GetConnections()) != got.Connections ||
		destinations[0].GetConnectionsUnscaled() != destinations[0].GetConnections() {
		t.Errorf("%v", destinations)
	}
}

func TestWhatHasEndedIsDeleted(t *testing.T) {
	kernel := load(t)
	c := connect(t, kernel, 7)
	c.up(packet{flags: ack, payload: 100})
	c.up(packet{flags: fin | ack})
	c.down(packet{flags: fin | ack})
	nowUS := monotonicUS()
	for i, want := range []int{1, 1, 0} {
		got, err := kernel.Observe(nowUS + int64(i)*3_000_000)
		if err != nil || got.EvictedTotal != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if i == 0 && kernel.Destinations(station)[0].GetSentBytes() != 100 {
			t.Errorf("%v", kernel.Destinations(station))
		}
		if flows, _ := kernel.Flows(); len(flows) != want {
			t.Errorf("%d: %+v", i, flows)
		}
	}
}

func BenchmarkSegments(b *testing.B) {
	for name, limited := range map[string]bool{"without limits": false, "limited": true} {
		kernel := load(b)
		if limited {
			limit(b, kernel, everything(few))
		}
		c := connect(b, kernel, 7)
		c.drain(70_000)
		_, down := kernel.Programs()
		up, _ := kernel.Programs()
		segment := c.fill(packet{flags: ack, window: 4000, options: stamps(1, 1)})
		segment.seq, segment.ack = c.server, c.station
		data := c.fill(packet{flags: ack, window: 1000, payload: mss, options: stamps(1, 1)})
		data.up, data.seq, data.ack = true, c.station, c.server
		for direction, one := range map[string]struct {
			frame []byte
			run   func([]byte, int) (time.Duration, error)
		}{
			"down": {segment.bytes(), func(f []byte, n int) (time.Duration, error) {
				_, took, err := down.Benchmark(f, n, nil)
				return took, err
			}},
			"up": {data.bytes(), func(f []byte, n int) (time.Duration, error) {
				_, took, err := up.Benchmark(f, n, nil)
				return took, err
			}},
		} {
			b.Run(direction+", "+name, func(b *testing.B) {
				took, err := one.run(one.frame, max(b.N, 100_000))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(took.Nanoseconds()), "ns/segment")
			})
		}
	}
}
