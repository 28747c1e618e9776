// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/windows"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
	attaching "github.com/airbound/airbound/internal/tcbpf"
)

const (
	limitBytes = 48 << 10
	// unitBytes is more than a unit of the window of the kernel that runs these tests.
	unitBytes = 1 << 11
)

func (w *wired) limit(maxBytes uint32, lease time.Duration) {
	w.t.Helper()
	limits := []windows.Limit{{Station: w.stationMAC, MaxBytes: maxBytes}}
	if maxBytes == 0 {
		limits = nil
	}
	if err := w.kernel.SetLimits("wlan0", limits, monotonicUS()+lease.Microseconds()); err != nil {
		w.t.Fatal(err)
	}
}

func isLimited(u *upload) bool { return u.info().Snd_wnd <= limitBytes+unitBytes }

func isFree(u *upload) bool { return u.info().Snd_wnd > 3*limitBytes }

// Real connections of this machine's kernel through the programs.
func TestRealConnections(t *testing.T) {
	for _, test := range []struct {
		name                             string
		clsact, ipv6, offloads, noStamps bool
	}{
		{"TCX, IPv4", false, false, true, false},
		{"clsact, IPv6", true, true, true, false},
		{"clsact, IPv4, no offloads", true, false, false, false},
		{"TCX, IPv6, no offloads, no time stamps", false, true, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWired(t, delays{})
			w.offloads(test.offloads)
			if test.noStamps {
				command(t, "ip", "netns", "exec", w.station, "sysctl", "-qw", "net.ipv4.tcp_timestamps=0")
			}
			kernel := w.attach(tcbpf.Options{Clsact: test.clsact})
			if kernel.UsesClsact() != test.clsact {
				t.Fatal("it is the other way of attaching")
			}
			u := w.upload(test.ipv6)
			u.progress(20 << 20)
			u.eventually("a large window", func() bool { return isFree(u) })
			w.limit(limitBytes, time.Minute)
			u.eventually("limited", func() bool { return isLimited(u) })
			var most int64
			// For 300 ms; longer where the upload does not get that far.
			for began := time.Now(); time.Since(began) < 300*time.Millisecond ||
				most < limitBytes/4 && time.Since(began) < patience; {
				info := u.info()
				most = max(most, int64(info.Bytes_sent-info.Bytes_retrans)-int64(info.Bytes_acked))
				if info.Snd_wnd > limitBytes+unitBytes {
					t.Fatalf("a window of %d", info.Snd_wnd)
				}
			}
			// Of the last segment less may be sent.
			if most > limitBytes+unitBytes+1500 || most < limitBytes/4 {
				t.Errorf("%d bytes in flight", most)
			}
			u.progress(5 << 20)
			// The server does not read for a while: its windows of 0 pass.
			u.paused.Store(true)
			u.eventually("window of 0", func() bool { return u.info().Snd_wnd == 0 })
			u.paused.Store(false)
			u.progress(5 << 20)
			w.limit(0, 0)
			u.eventually("free", func() bool { return isFree(u) })
			w.checkAccount(u, test.ipv6)
			for _, namespace := range []string{w.station, w.server} {
				if errors := w.checksumErrors(namespace); errors != 0 {
					t.Errorf("%d wrong checksums", errors)
				}
			}
		})
	}
}

// checkAccount compares what is reported with the station's own account.
func (w *wired) checkAccount(u *upload, ipv6 bool) {
	w.t.Helper()
	observed, err := w.kernel.Observe(monotonicUS())
	found := w.kernel.Destinations(w.stationMAC)
	info := u.info()
	if err != nil || observed.Connections != 1 || observed.LimitedTotal == 0 || observed.EvictedTotal != 0 ||
		len(found) != 1 {
		w.t.Fatalf("%+v, %v; %v", observed, err, found)
	}
	got := found[0]
	address, _ := netip.AddrFromSlice(got.GetAddress())
	if address != addressOf(ipv6) || got.GetConnections() != 1 || got.GetConnectionsSending() != 1 ||
		got.GetConnectionsUnscaled() != 0 || got.GetSrttUs() == 0 || got.GetMinRttUs() == 0 ||
		got.GetMssBytes() != map[bool]uint32{false: 1460, true: 1440}[ipv6] {
		w.t.Errorf("%v", got)
	}
	// The station has gone on since the observation.
	acknowledged := info.Bytes_acked - min(info.Bytes_acked, 64<<20)
	if sent := got.GetSentBytes(); sent > info.Bytes_sent || sent < acknowledged || sent == 0 {
		w.t.Errorf("%d bytes, the station says %d sent, %d acknowledged", sent, info.Bytes_sent, info.Bytes_acked)
	}
}

// What the station was offered, by its own capture, never ends further to the left.
func TestARealStationIsOfferedNoLess(t *testing.T) {
	for _, clsact := range []bool{false, true} {
		w := newWired(t, delays{})
		w.attach(tcbpf.Options{Clsact: clsact})
		var socket int
		w.in(w.station, func() (err error) {
			socket, err = packetSocket("sta0", 100*time.Millisecond)
			return err
		})
		t.Cleanup(func() { _ = unix.Close(socket) })
		capture := &edges{}
		end := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() { capture.read(socket, end) })
		u := w.upload(false)
		for range 5 {
			u.eventually("a large window", func() bool { return isFree(u) })
			w.limit(limitBytes, time.Minute)
			u.eventually("limited", func() bool { return isLimited(u) })
			u.progress(1 << 20)
			w.limit(0, 0)
		}
		close(end)
		group.Wait()
		if capture.segments < 100 || capture.late > capture.segments/10 || capture.worst > 0 || capture.err != nil {
			t.Errorf("%+v", capture)
		}
	}
}

// edges follows the right edge of what is offered, in a capture of one connection.
type edges struct {
	segments, late int
	id             uint16
	shift          byte
	greatest       uint32
	worst          int32
	err            error
}

func (e *edges) read(socket int, end chan struct{}) {
	frame := make([]byte, 256)
	for {
		select {
		case <-end:
			return
		default:
		}
		n, from, err := unix.Recvfrom(socket, frame, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			e.err = err
			return
		}
		if link, is := from.(*unix.SockaddrLinklayer); !is || link.Pkttype == unix.PACKET_OUTGOING || n < 54 {
			continue
		}
		if binary.BigEndian.Uint16(frame[12:]) == 0x0800 && frame[14] == 0x45 && frame[23] == 6 {
			e.add(binary.BigEndian.Uint16(frame[18:]), frame[34:n])
		}
	}
}

// add takes a segment and its IPv4 identification, which the server's kernel counts up: the cables may reorder segments
// of two CPUs, and one that is late offers what was right before.
func (e *edges) add(id uint16, tcp []byte) {
	if e.segments > 1 && int16(id-e.id) < 0 {
		e.late++
		return
	}
	e.id = id
	window := uint32(binary.BigEndian.Uint16(tcp[14:]))
	if tcp[13]&syn != 0 {
		for at := 20; at+2 < len(tcp); {
			switch tcp[at] {
			case 1:
				at++
				continue
			case 3:
				e.shift = tcp[at+2]
			}
			at += int(max(tcp[at+1], 2))
		}
	} else {
		window <<= e.shift
	}
	edge := binary.BigEndian.Uint32(tcp[8:]) + window
	if e.segments++; e.segments > 1 {
		e.worst = max(e.worst, int32(e.greatest-edge))
	}
	if e.segments == 1 || int32(edge-e.greatest) > 0 {
		e.greatest = edge
	}
}

func TestARealLeaseEnds(t *testing.T) {
	w := newWired(t, delays{})
	w.attach(tcbpf.Options{})
	u := w.upload(false)
	w.limit(limitBytes, 1500*time.Millisecond)
	u.eventually("limited", func() bool { return isLimited(u) })
	u.eventually("free", func() bool { return isFree(u) })
}

// A connection from before is left alone, and counted.
func TestARealConnectionFromBefore(t *testing.T) {
	w := newWired(t, delays{})
	u := w.upload(false)
	u.eventually("a large window", func() bool { return isFree(u) })
	w.attach(tcbpf.Options{})
	w.limit(limitBytes, time.Minute)
	u.progress(20 << 20)
	u.eventually("a large window still", func() bool { return isFree(u) })
	if _, err := w.kernel.Observe(monotonicUS()); err != nil {
		t.Fatal(err)
	}
	found := w.kernel.Destinations(w.stationMAC)
	if len(found) != 1 || found[0].GetConnectionsUnscaled() != 1 || found[0].GetConnections() != 1 ||
		w.kernel.LimitedTotal() != 0 {
		t.Errorf("%v", found)
	}
}

// Tags are in the frame as it is sent, and beside it in the kernel that receives it.
func TestTaggedFrames(t *testing.T) {
	w := newWired(t, delays{})
	kernel := w.attach(tcbpf.Options{})
	w.limit(32<<10, time.Minute)
	var station, server int
	w.in(w.station, func() (err error) {
		station, err = packetSocket("sta0", 5*time.Second)
		return err
	})
	w.in(w.server, func() (err error) {
		server, err = packetSocket("srv0", 5*time.Second)
		return err
	})
	t.Cleanup(func() { _ = errors.Join(unix.Close(station), unix.Close(server)) })
	sendRaw := func(p packet) {
		t.Helper()
		p.vlans, p.local, p.remote = []uint16{0x8100}, phone4, server4
		frame := p.bytes()
		source, destination := frame[6:12], frame[0:6]
		socket := server
		if p.up {
			copy(source, w.stationMAC[:])
			socket = station
		} else {
			copy(destination, w.stationMAC[:])
		}
		if _, err := unix.Write(socket, frame); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	sendRaw(packet{up: true, flags: syn, seq: 1, window: 65535, options: wscale(7)})
	sendRaw(packet{flags: syn | ack, seq: 1, ack: 2, window: 1000, options: wscale(7)})
	sendRaw(packet{up: true, flags: ack, seq: 2, ack: 2, window: 1000})
	sendRaw(packet{flags: ack, seq: 2, ack: 2, window: 60_000})
	flows, err := kernel.Flows()
	if err != nil || len(flows) != 1 || !flows[0].Scaled || kernel.LimitedTotal() != 1 {
		t.Errorf("%+v, %v, %d limited", flows, err, kernel.LimitedTotal())
	}
}

func TestRealHalvesOfTheRoundTrip(t *testing.T) {
	w := newWired(t, delays{air: 10 * time.Millisecond, wire: 25 * time.Millisecond})
	w.offloads(false)
	w.attach(tcbpf.Options{})
	u := w.upload(false)
	w.limit(20_000, time.Minute)
	u.progress(400_000)
	flows, err := w.kernel.Flows()
	if err != nil || len(flows) != 1 {
		t.Fatalf("%+v, %v", flows, err)
	}
	for _, half := range []struct {
		name string
		got  windows.Half
		want time.Duration
	}{{"wired", flows[0].Wired, 50 * time.Millisecond}, {"air", flows[0].Air, 20 * time.Millisecond}} {
		least := time.Duration(half.got.MinUS) * time.Microsecond
		smoothed := time.Duration(half.got.SRTTUS) * time.Microsecond
		// The machine may be busy; the relay is never too early.
		if least < half.want || least > half.want+8*time.Millisecond ||
			smoothed < least || smoothed > half.want+60*time.Millisecond {
			t.Errorf("%s: least %s, smoothed %s", half.name, least, smoothed)
		}
	}
	info := u.info()
	both := flows[0].Wired.MinUS + flows[0].Air.MinUS
	if stationSays := info.Min_rtt; both > stationSays+10_000 || stationSays > both+10_000 {
		t.Errorf("%d us, the station says %d", both, stationSays)
	}
}

// helperVariable makes the test binary an agent that attaches and waits, in the namespace that it is started in.
const helperVariable = "AIRBOUND_TCBPF_TEST"

func TestMain(m *testing.M) {
	how := os.Getenv(helperVariable)
	if how == "" {
		os.Exit(m.Run())
	}
	if err := beAgent(how); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func beAgent(how string) error {
	if strings.Contains(how, "weak") {
		runtime.LockOSThread() // The other threads keep their capabilities.
		if err := keepCapabilities(strings.Contains(how, "bpf")); err != nil {
			return err
		}
	}
	kernel, err := tcbpf.Load(tcbpf.Options{
		AgentName: "killed", Clsact: strings.Contains(how, "clsact"), Logger: slog.New(slog.DiscardHandler),
		PinPath: os.Getenv("AIRBOUND_TCBPF_PIN"),
	})
	if err != nil {
		return err
	}
	if err := kernel.Attach("wlan0", nil); err != nil {
		return err
	}
	var limits []windows.Limit
	for i := range 1 {
		limits = append(limits, windows.Limit{Station: [6]byte{2, 0, 0, 0, 7, byte(i + 1)}, MaxBytes: limitBytes})
	}
	if err := kernel.SetLimits("wlan0", limits, monotonicUS()+3_000_000); err != nil {
		return err
	}
	fmt.Println("attached")
	time.Sleep(time.Minute)
	return errors.New("nobody has killed it")
}

// keepCapabilities drops all but CAP_NET_ADMIN, or all but those that the agent says it needs, of this thread.
func keepCapabilities(withBPF bool) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	data[0].Permitted = 1 << unix.CAP_NET_ADMIN
	if withBPF {
		data[1].Permitted = 1<<(unix.CAP_BPF-32) | 1<<(unix.CAP_PERFMON-32)
	}
	data[0].Effective, data[1].Effective = data[0].Permitted, data[1].Permitted
	return unix.Capset(&header, &data[0])
}

// agent starts an agent in a process of its own.
func (w *wired) agent(how, pin string) *exec.Cmd {
	w.t.Helper()
	agent := exec.Command("ip", "netns", "exec", w.accessPoint, "/proc/self/exe")
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	agent.Args[4] = self
	agent.Env = append(os.Environ(), helperVariable+"="+how, "AIRBOUND_TCBPF_PIN="+pin, "GOMAXPROCS=1")
	out, err := agent.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if agent.ProcessState == nil {
			_ = agent.Process.Kill()
			_ = agent.Wait()
		}
	})
	line := make([]byte, 4096)
	n, _ := out.Read(line)
	if got := string(line[:n]); got != "attached\n" {
		w.t.Fatalf("the agent says %q", got)
	}
	return agent
}

func kill(t *testing.T, agent *exec.Cmd) {
	t.Helper()
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
}

// filters returns what tc says of wlan0.
func (w *wired) filters() string {
	w.t.Helper()
	var all strings.Builder
	for _, arguments := range [][]string{
		{"qdisc", "show", "dev", "wlan0", "clsact"},
		{"filter", "show", "dev", "wlan0", "ingress"},
		{"filter", "show", "dev", "wlan0", "egress"},
	} {
		out, err := exec.Command("tc", append([]string{"-n", w.accessPoint}, arguments...)...).CombinedOutput()
		if err != nil {
			w.t.Fatalf("%v: %s", err, out)
		}
		all.Write(out)
	}
	return all.String()
}

// With TCX the kernel detaches the programs at once; with clsact the limit ends with its lease, and the next agent
// takes the filters over.
func TestAKilledAgentLimitsNothing(t *testing.T) {
	for _, how := range []string{"tcx", "clsact"} {
		t.Run(how, func(t *testing.T) {
			w := newWired(t, delays{})
			agent := w.agent(how, "")
			u := w.upload(false)
			u.eventually("limited", func() bool { return isLimited(u) })
			u.progress(1 << 20)
			kill(t, agent)
			u.eventually("free", func() bool { return isFree(u) })
			left := w.filters()
			if isThere := strings.Contains(left, "airbound up killed"); isThere != (how == "clsact") {
				t.Errorf("%s", left)
			}
			w.attach(tcbpf.Options{Clsact: how == "clsact"})
			if now := w.filters(); strings.Contains(now, "killed") ||
				strings.Count(now, "airbound up test") != strings.Count(left, "airbound up killed") {
				t.Errorf("%s", now)
			}
			w.in(w.accessPoint, func() error { return w.kernel.Detach("wlan0") })
			if now := w.filters(); now != "" {
				t.Errorf("%s", now)
			}
			u.progress(1 << 20)
		})
	}
}

func TestWhatAKilledAgentLeftIsRemoved(t *testing.T) {
	w := newWired(t, delays{})
	kill(t, w.agent("clsact", ""))
	w.in(w.accessPoint, func() error { return attaching.RemoveLeft("another") })
	if left := w.filters(); !strings.Contains(left, "airbound down killed with-qdisc") {
		t.Errorf("%s", left)
	}
	w.in(w.accessPoint, func() error { return attaching.RemoveLeft("killed") })
	if left := w.filters(); left != "" {
		t.Errorf("%s", left)
	}
}

// With a BPF file system the next agent knows the connections' scales.
func TestTheNextAgentKnowsTheConnections(t *testing.T) {
	directory := t.TempDir()
	command(t, "mount", "-t", "bpf", "bpf", directory)
	t.Cleanup(func() { command(t, "umount", directory) })
	pin := filepath.Join(directory, "connections")
	w := newWired(t, delays{})
	agent := w.agent("tcx", pin)
	u := w.upload(false)
	u.progress(1 << 20)
	u.paused.Store(true) // More than some hundred MB could be another connection.
	u.eventually("window of 0", func() bool { return u.info().Snd_wnd == 0 })
	kill(t, agent)
	w.attach(tcbpf.Options{PinPath: pin})
	u.paused.Store(false)
	u.eventually("free", func() bool { return isFree(u) })
	w.limit(limitBytes, time.Minute)
	u.eventually("limited", func() bool { return isLimited(u) })
	// A small window may be the server's own, and an observation of a moment ago is returned again.
	u.eventually("counted", func() bool {
		observed, err := w.kernel.Observe(monotonicUS())
		return err == nil && observed.LimitedTotal > 0
	})
	w.checkAccount(u, false)
}

// A clsact of others, with their filters, stays.
func TestOthersFiltersStay(t *testing.T) {
	w := newWired(t, delays{})
	command(t, "tc", "-n", w.accessPoint, "qdisc", "add", "dev", "wlan0", "clsact")
	foreign := func(arguments ...string) {
		t.Helper()
		arguments = append([]string{"tc", "-n", w.accessPoint, "filter", "add", "dev", "wlan0"}, arguments...)
		command(t, append(arguments, "u32", "match", "u32", "0", "0", "classid", "1:1")...)
	}
	foreign("ingress")
	before := w.filters()
	kernel := w.attach(tcbpf.Options{Clsact: true})
	u := w.upload(false)
	w.limit(limitBytes, time.Minute)
	u.eventually("limited", func() bool { return isLimited(u) })
	w.in(w.accessPoint, func() error { return kernel.Detach("wlan0") })
	if after := w.filters(); after != before {
		t.Errorf("%s and not\n%s", after, before)
	}
	// One that was made here stays if others have begun to use it.
	command(t, "tc", "-n", w.accessPoint, "qdisc", "del", "dev", "wlan0", "clsact")
	w.in(w.accessPoint, func() error { return kernel.Attach("wlan0", nil) })
	foreign("egress")
	w.in(w.accessPoint, func() error { return kernel.Detach("wlan0") })
	if after := w.filters(); strings.Contains(after, "airbound") || !strings.Contains(after, "u32") {
		t.Errorf("%s", after)
	}
	// A priority that is taken is not taken over.
	foreign("ingress", "prio", "77")
	err := inNamespace(w.accessPoint, func() error { return kernel.Attach("wlan0", nil) })
	if err == nil || !strings.Contains(err.Error(), "something else has a filter with priority 77") {
		t.Error(err)
	}
	command(t, "tc", "-n", w.accessPoint, "qdisc", "del", "dev", "wlan0", "clsact")
	command(t, "tc", "-n", w.accessPoint, "qdisc", "add", "dev", "wlan0", "ingress")
	err = inNamespace(w.accessPoint, func() error { return kernel.Attach("wlan0", nil) })
	if err == nil || !strings.Contains(err.Error(), "something else has put a qdisc of another kind there") {
		t.Error(err)
	}
}

// The interface is removed and created again, and something else removes the programs.
func TestAnInterfaceReturns(t *testing.T) {
	for _, clsact := range []bool{false, true} {
		w := newWired(t, delays{})
		kernel := w.attach(tcbpf.Options{Clsact: clsact})
		attach := func() error {
			return inNamespace(w.accessPoint, func() error { return kernel.Attach("wlan0", nil) })
		}
		if clsact {
			command(t, "tc", "-n", w.accessPoint, "qdisc", "del", "dev", "wlan0", "clsact")
			if err := attach(); err != nil || strings.Count(w.filters(), " test with-qdisc ") != 2 {
				t.Errorf("%v\n%s", err, w.filters())
			}
		}
		command(t, "ip", "-n", w.accessPoint, "link", "del", "wlan0")
		if err := attach(); err == nil || !strings.Contains(err.Error(), "find wlan0") {
			t.Error(err)
		}
		w.cable(w.station, "sta0", "wlan0", 0)
		command(t, "ip", "-n", w.station, "link", "set", "sta0", "address", w.stationMAC.String())
		command(t, "ip", "-n", w.station, "addr", "add", "192.0.2.1/24", "dev", "sta0")
		command(t, "ip", "-n", w.station, "link", "set", "sta0", "up")
		if err := attach(); err != nil {
			t.Fatal(err)
		}
		u := w.upload(false)
		w.limit(limitBytes, time.Minute)
		u.eventually("limited", func() bool { return isLimited(u) })
	}
}

// These capabilities are all that it takes; without them it says so.
func TestCapabilities(t *testing.T) {
	w := newWired(t, delays{})
	for _, how := range []string{"weak bpf tcx", "weak bpf clsact"} {
		kill(t, w.agent(how, ""))
	}
	agent := exec.Command("ip", "netns", "exec", w.accessPoint, os.Args[0])
	agent.Env = append(os.Environ(), helperVariable+"=weak")
	out, err := agent.Output()
	if err == nil || !strings.Contains(string(out), needsCapabilities) {
		t.Errorf("%v: %s", err, out)
	}
}

const needsCapabilities = "the agent needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
