// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	attaching "github.com/airbound/airbound/internal/tcbpf"
	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/flows/tcbpf"
)

// These tests send packets by sockets over an interface, in a network namespace of their own. A second program, after
// the agent's, counts packets by their priority: those with the tests' mark, and those that are forwarded. The kernel
// sends others at any time.

// mark is SO_MARK of the tests' sockets.
const mark = 0xa1b

// killVariable makes this program an agent that attaches by clsact and waits to be killed.
const killVariable = "FLOWS_TEST_KILLED_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(killVariable) == "" {
		os.Exit(m.Run())
	}
	kernel, err := tcbpf.Load(tcbpf.Options{Clsact: true})
	if err == nil {
		err = kernel.Set("wlan0", []flows.Flow{{Video: true}}, 1<<60)
	}
	fmt.Println(err)
	select {}
}

var namespaces atomic.Uint32

func command(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// phone has an interface wlan0 to two servers that receive nothing.
type phone struct {
	t         *testing.T
	namespace string
	kernel    *tcbpf.Kernel
	counts    *ebpf.Map
}

// newPhone also moves the test's thread into the namespace, which ends with the test.
func newPhone(t *testing.T, options tcbpf.Options) *phone {
	t.Helper()
	p := &phone{t: t, namespace: fmt.Sprintf("phone-%d-%d", os.Getpid(), namespaces.Add(1))}
	command(t, "ip", "netns", "add", p.namespace)
	t.Cleanup(func() { command(t, "ip", "netns", "del", p.namespace) })
	runtime.LockOSThread() // For good: the thread ends with the goroutine.
	file, err := os.Open("/run/netns/" + p.namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	p.link("wlan0")
	p.kernel = load(t, options)
	p.observe("wlan0", options.Clsact)
	return p
}

func (p *phone) link(name string) {
	p.t.Helper()
	command(p.t, "ip", "link", "add", name, "type", "veth", "peer", "name", name+"-other")
	command(p.t, "ip", "link", "set", name+"-other", "up")
	command(p.t, "ip", "addr", "add", "192.0.2.1/24", "dev", name)
	command(p.t, "ip", "addr", "add", "2001:db8::1/64", "dev", name, "nodad")
	command(p.t, "ip", "link", "set", name, "up")
	for _, server := range []netip.Addr{server4, other4, server6, other6} {
		command(p.t, "ip", "neigh", "replace", server.String(), "lladdr", "02:00:00:00:00:07", "dev", name, "nud",
			"permanent")
	}
}

// observe attaches the second program.
func (p *phone) observe(name string, clsact bool) {
	p.t.Helper()
	const priorities, atMark, atPriority, atIngressIndex = 512, 8, 32, 36
	var err error
	p.counts, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: priorities})
	if err != nil {
		p.t.Fatal(err)
	}
	counting := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, atMark, asm.Word),
		asm.JEq.Imm(asm.R2, mark, "count"),
		asm.LoadMem(asm.R2, asm.R1, atIngressIndex, asm.Word),
		asm.JEq.Imm(asm.R2, 0, "end"),
		asm.LoadMem(asm.R2, asm.R1, atPriority, asm.Word).WithSymbol("count"),
		asm.StoreMem(asm.RFP, -4, asm.R2, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, p.counts.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, -1).WithSymbol("end"),
		asm.Return(),
	}
	observer, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: counting})
	if err != nil {
		p.t.Fatal(err)
	}
	found, err := net.InterfaceByName(name)
	if err != nil {
		p.t.Fatal(err)
	}
	attacher := attaching.Attacher{Agent: "observer", Priority: attaching.PriorityFlows + 100, Clsact: clsact}
	attached, err := attacher.Attach(uint32(found.Index),
		attaching.Program{Program: observer, Place: attaching.Egress, Role: "observe"})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = errors.Join(attached.Close(), observer.Close(), p.counts.Close()) })
}

// seen is how many packets left with a priority.
func (p *phone) seen(priority uint32) uint64 {
	p.t.Helper()
	var count uint64
	if err := p.counts.Lookup(priority, &count); err != nil {
		p.t.Fatal(err)
	}
	return count
}

// own is a priority that no packet but those of the test has.
const own = 3

// send sends a datagram to a server by a socket of a user, and returns whether it left as video.
func (p *phone) send(uid int, to netip.Addr) bool {
	p.t.Helper()
	video, before := p.seen(tcbpf.VideoPriority), p.seen(own)
	p.datagram(uid, to)
	video, before = p.seen(tcbpf.VideoPriority)-video, p.seen(own)-before
	if video+before != 1 {
		p.t.Fatalf("of a packet of uid %d to %s, %d as video and %d not", uid, to, video, before)
	}
	return video == 1
}

func (p *phone) datagram(uid int, to netip.Addr) {
	p.t.Helper()
	family, address := sockaddr(to)
	// Of this thread: a socket is its maker's.
	if _, _, errno := syscall.RawSyscall(unix.SYS_SETFSUID, uintptr(uid), 0, 0); errno != 0 {
		p.t.Fatal(errno)
	}
	socket, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	_, _, _ = syscall.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = unix.Close(socket) }()
	if err := errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_MARK, mark),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PRIORITY, own),
		unix.Sendto(socket, []byte("datagram"), 0, address),
	); err != nil {
		p.t.Fatal(err)
	}
}

func sockaddr(to netip.Addr) (family int, address unix.Sockaddr) {
	if to.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: 9, Addr: to.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: 9, Addr: to.As16()}
}

func (p *phone) set(deadlineUS int64, wanted ...flows.Flow) {
	p.t.Helper()
	if err := p.kernel.Set("wlan0", wanted, deadlineUS); err != nil {
		p.t.Fatal(err)
	}
}

// ways are both of attaching.
var ways = map[string]tcbpf.Options{"clsact": {Clsact: true}, "TCX": {}}

// attachedFilters is what tc says of the agent's filters.
func attachedFilters(t *testing.T) string {
	t.Helper()
	return command(t, "tc", "filter", "show", "dev", "wlan0", "egress", "pref", "78")
}

func TestPacketsOfAnAppLeaveAsVideo(t *testing.T) {
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			p := newPhone(t, options)
			hour := bootUS(t) + hourUS
			p.set(hour, asVideo(flows.Selector{HasUID: true, UID: 10073}),
				flows.Flow{Selector: flows.Selector{HasUID: true, UID: 10073, Address: other6}},
				asVideo(flows.Selector{HasUID: true, UID: 10074, Address: server4}),
				asVideo(flows.Selector{Address: server6}))
			for _, test := range []struct {
				uid  int
				to   netip.Addr
				want bool
			}{
				{10073, server4, true},
				{10073, other4, true},
				{10073, server6, true},
				{10073, other6, false},
				{10074, server4, true},
				{10074, other4, false},
				{10074, server6, true},
				{10074, other6, false},
				{0, server4, false},
				{0, server6, true},
			} {
				if got := p.send(test.uid, test.to); got != test.want {
					t.Errorf("uid %d to %s: %t", test.uid, test.to, got)
				}
			}
			if counts := counters(t, p.kernel); counts.Marked != 6 {
				t.Errorf("%+v", counts)
			}
			p.set(0)
			if p.send(10073, server4) || attachedFilters(t) != "" {
				t.Errorf("after an empty set: %s", attachedFilters(t))
			}
			// Nothing is attached, and the count goes on.
			p.set(hour, asVideo(flows.Selector{}))
			if !p.send(10073, server4) || counters(t, p.kernel).Marked < 7 {
				t.Errorf("set again: %+v", counters(t, p.kernel))
			}
		})
	}
}

// A forwarded packet has no socket, so no app's flow matches it.
func TestForwardedPacketsAreNoApps(t *testing.T) {
	p := newPhone(t, tcbpf.Options{})
	command(t, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	tethered := fmt.Sprintf("tethered-%d-%d", os.Getpid(), namespaces.Add(1))
	command(t, "ip", "netns", "add", tethered)
	t.Cleanup(func() { command(t, "ip", "netns", "del", tethered) })
	command(t, "ip", "link", "add", "usb0", "type", "veth", "peer", "name", "eth0", "netns", tethered)
	command(t, "ip", "addr", "add", "198.51.100.1/24", "dev", "usb0")
	command(t, "ip", "link", "set", "usb0", "up")
	command(t, "ip", "-n", tethered, "addr", "add", "198.51.100.2/24", "dev", "eth0")
	command(t, "ip", "-n", tethered, "link", "set", "eth0", "up")
	command(t, "ip", "-n", tethered, "route", "add", "default", "via", "198.51.100.1")
	// forward sends until a packet has left wlan0 with a priority.
	forward := func(priority uint32) {
		t.Helper()
		left := p.seen(priority)
		for end := time.Now().Add(time.Minute); p.seen(priority) == left; { // The first ones may wait for ARP.
			if time.Now().After(end) {
				t.Fatalf("never with priority %d", priority)
			}
			command(t, "ip", "netns", "exec", tethered, "bash", "-c", "echo >/dev/udp/"+server4.String()+"/9")
		}
	}
	hour := bootUS(t) + hourUS
	p.set(hour, asVideo(flows.Selector{HasUID: true}), asVideo(flows.Selector{HasUID: true, UID: 10073}))
	forward(0)
	if got := p.seen(tcbpf.VideoPriority); got != 0 {
		t.Errorf("by apps' flows: %d", got)
	}
	p.set(hour, asVideo(flows.Selector{Address: server4}))
	forward(tcbpf.VideoPriority)
}

// The kernel itself ends the lease: that of an agent that hangs.
func TestTheKernelEndsALease(t *testing.T) {
	p := newPhone(t, tcbpf.Options{})
	deadlineUS := bootUS(t) + 30_000
	p.set(deadlineUS, asVideo(flows.Selector{}))
	for bootUS(t) <= deadlineUS {
		time.Sleep(time.Millisecond)
	}
	if p.send(10073, server4) {
		t.Error("as video after the lease")
	}
	p.set(bootUS(t)+hourUS, asVideo(flows.Selector{}))
	if !p.send(10073, server4) {
		t.Error("not as video in another lease")
	}
}

// Wi-Fi that is turned off and on again has another interface.
func TestAnInterfaceThatComesBack(t *testing.T) {
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			p := newPhone(t, options)
			hour := bootUS(t) + hourUS
			p.set(hour, asVideo(flows.Selector{}))
			command(t, "ip", "link", "del", "wlan0")
			if err := p.kernel.Set("wlan0", []flows.Flow{asVideo(flows.Selector{})}, hour); err == nil ||
				!strings.HasPrefix(err.Error(), "find wlan0: ") {
				t.Errorf("without it: %v", err)
			}
			p.link("wlan0")
			p.observe("wlan0", options.Clsact)
			p.set(hour, asVideo(flows.Selector{}))
			if !p.send(0, server4) {
				t.Error("not as video at the new one")
			}
			p.link("wlan1")
			if err := p.kernel.Set("wlan1", []flows.Flow{asVideo(flows.Selector{})}, hour); err != nil {
				t.Fatal(err)
			}
			if attachedFilters(t) != "" {
				t.Errorf("still at the old one: %s", attachedFilters(t))
			}
		})
	}
}

// Somebody has removed the filter, as `tc qdisc del` does: the next renewal brings it back.
func TestAFilterThatSomethingElseRemoved(t *testing.T) {
	p := newPhone(t, tcbpf.Options{Clsact: true})
	hour := bootUS(t) + hourUS
	p.set(hour, asVideo(flows.Selector{}))
	command(t, "tc", "filter", "del", "dev", "wlan0", "egress", "pref", "78")
	if p.send(0, server4) {
		t.Error("as video without the filter")
	}
	p.set(hour, asVideo(flows.Selector{}))
	if !p.send(0, server4) {
		t.Error("not as video after a renewal")
	}
}

func TestCleanUpAfterAnAgentThatWasKilled(t *testing.T) {
	p := newPhone(t, tcbpf.Options{Clsact: true})
	agent := exec.Command("/proc/self/exe")
	agent.Env = append(os.Environ(), killVariable+"=yes")
	output, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || said != "<nil>\n" {
		t.Fatalf("%q, %v", said, err)
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	if !p.send(0, server4) {
		t.Fatal("the filter of an agent that was killed is gone by itself")
	}
	if err := tcbpf.CleanUp(); err != nil {
		t.Fatal(err)
	}
	if p.send(0, server4) || attachedFilters(t) != "" {
		t.Errorf("after cleaning up: %s", attachedFilters(t))
	}
	if err := tcbpf.CleanUp(); err != nil {
		t.Errorf("with nothing left: %v", err)
	}
}

// Beside an agent that hangs, too; one that does not sets the next flows as before.
func TestCleanUpBesideAnAgent(t *testing.T) {
	for way, options := range ways {
		t.Run(way, func(t *testing.T) {
			p := newPhone(t, options)
			hour := bootUS(t) + hourUS
			p.set(hour, asVideo(flows.Selector{}))
			if err := tcbpf.CleanUp(); err != nil {
				t.Fatal(err)
			}
			if p.send(0, server4) {
				t.Error("as video after cleaning up")
			}
			p.set(hour, asVideo(flows.Selector{}))
			if !p.send(0, server4) {
				t.Error("not as video after a renewal")
			}
		})
	}
}

func TestAnInterfaceThatIsNotKnown(t *testing.T) {
	p := newPhone(t, tcbpf.Options{})
	if err := p.kernel.Set("", []flows.Flow{{Video: true}}, bootUS(t)+hourUS); err == nil ||
		err.Error() != "the Wi-Fi interface is not known" {
		t.Errorf("%v", err)
	}
	if p.send(0, server4) {
		t.Error("as video")
	}
}

// A buffer that the kernel divides into datagrams (UDP_SEGMENT), as QUIC sends, takes from its rate what the datagrams
// take one by one.
func TestABufferOfSegmentsTakesWhatItsDatagramsTake(t *testing.T) {
	const bps, segmentBytes, payloadBytes = 1_000_000, 1200, 10*1200 + 100
	const datagrams = 11
	for _, test := range []struct {
		to          netip.Addr
		headerBytes int
	}{{server4, 20 + 8}, {server6, 40 + 8}} {
		for way, options := range ways {
			t.Run(fmt.Sprintf("%s %s", test.to, way), func(t *testing.T) {
				p := newPhone(t, options)
				selector := flows.Selector{Address: test.to}
				p.set(bootUS(t)+hourUS, flows.Flow{Selector: selector, UDPBPS: bps})
				family, address := sockaddr(test.to)
				socket, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = unix.Close(socket) }()
				before := uint64(bootUS(t)) * 1000
				if err := errors.Join(
					unix.SetsockoptInt(socket, unix.IPPROTO_UDP, unix.UDP_SEGMENT, segmentBytes),
					unix.Sendto(socket, make([]byte, payloadBytes), 0, address),
				); err != nil {
					t.Fatal(err)
				}
				after := uint64(bootUS(t)+1) * 1000
				empty, err := p.kernel.EmptyNS(selector)
				takes := uint64(payloadBytes+datagrams*test.headerBytes) * 8_000_000_000 / bps
				if err != nil || empty < before+takes || empty > after+takes {
					t.Errorf("%d ns after it was sent and not %d, %v", empty-before, takes, err)
				}
			})
		}
	}
}
