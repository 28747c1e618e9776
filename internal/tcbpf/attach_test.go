// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/tcbpf"
)

// link is an interface in a network namespace of the test's own.
type link struct {
	t         *testing.T
	namespace string
	index     uint32
}

func command(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// newLink also moves the test's thread into the namespace, which ends with the test.
func newLink(t *testing.T) *link {
	t.Helper()
	l := &link{t: t, namespace: fmt.Sprintf("%s-%d", t.Name(), os.Getpid())}
	command(t, "ip", "netns", "add", l.namespace)
	t.Cleanup(func() { command(t, "ip", "netns", "del", l.namespace) })
	command(t, "ip", "-n", l.namespace, "link", "add", "wlan0", "type", "veth", "peer", "name", "other")
	runtime.LockOSThread() // For good: the thread ends with the goroutine.
	file, err := os.Open("/run/netns/" + l.namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	found, err := net.InterfaceByName("wlan0")
	if err != nil {
		t.Fatal(err)
	}
	l.index = uint32(found.Index)
	return l
}

// filters is what tc says of the interface.
func (l *link) filters() string {
	l.t.Helper()
	show := func(arguments ...string) string {
		return command(l.t, append([]string{"tc", "-n", l.namespace}, arguments...)...)
	}
	return show("qdisc", "show", "dev", "wlan0", "clsact") + show("filter", "show", "dev", "wlan0", "ingress") +
		show("filter", "show", "dev", "wlan0", "egress")
}

// nothing is a program that lets the next one decide.
func nothing(t *testing.T) *ebpf.Program {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()},
	})
	if err != nil {
		t.Fatalf("these tests load programs into the kernel; run them as root: %v", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program
}

func attach(t *testing.T, attacher *tcbpf.Attacher, index uint32, programs ...tcbpf.Program) tcbpf.Attachment {
	t.Helper()
	attached, err := attacher.Attach(index, programs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = attached.Close() })
	return attached
}

func closed(t *testing.T, attached tcbpf.Attachment) {
	t.Helper()
	if err := attached.Close(); err != nil {
		t.Fatal(err)
	}
}

// guarded counts what is asked of a guard.
type guarded struct{ protected, released int }

func (g *guarded) Protect(int64) error { g.protected++; return nil }

func (g *guarded) Release() { g.released++ }

// An agent has programs of two kinds at an interface; each is attached and removed by itself.
func TestFiltersSideBySide(t *testing.T) {
	l := newLink(t)
	guard := &guarded{}
	windows := &tcbpf.Attacher{Agent: "X", Priority: tcbpf.PriorityWindows, Clsact: true, Guard: guard}
	flows := &tcbpf.Attacher{Agent: "X", Priority: tcbpf.PriorityFlows, Clsact: true, Guard: guard}
	program := nothing(t)
	both := attach(t, windows, l.index, tcbpf.Program{Program: program, Place: tcbpf.Ingress, Role: "up"},
		tcbpf.Program{Program: program, Place: tcbpf.Egress, Role: "down"})
	one := attach(t, flows, l.index, tcbpf.Program{Program: program, Place: tcbpf.Egress, Role: "mark"})
	text := l.filters()
	for _, want := range []string{"up", "down", "mark"} {
		if strings.Count(text, "airbound "+want+" X with-qdisc") != 1 {
			t.Errorf("%s", text)
		}
	}
	if !both.IsLive() || !one.IsLive() || guard.protected != 2 {
		t.Errorf("%v, %v, %+v", both.IsLive(), one.IsLive(), guard)
	}
	closed(t, both)
	if text := l.filters(); both.IsLive() || !one.IsLive() || strings.Contains(text, "down") {
		t.Errorf("%s", text)
	}
	closed(t, one)
	if text := l.filters(); one.IsLive() || text != "" {
		t.Errorf("%s", text)
	}
	windows.Release()
	if guard.released != 1 {
		t.Errorf("%+v", guard)
	}
}

func TestTheIndexOfAnInterface(t *testing.T) {
	l := newLink(t)
	if got, err := tcbpf.IndexOf("wlan0"); err != nil || got != l.index {
		t.Errorf("%d, not %d: %v", got, l.index, err)
	}
	for _, name := range []string{"none", "a-name-of-16-char"} {
		if got, err := tcbpf.IndexOf(name); err == nil || !strings.HasPrefix(err.Error(), "find "+name+": ") {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// What one agent has left is that agent's, whatever it is.
func TestAllOfAnAgentIsRemoved(t *testing.T) {
	l := newLink(t)
	program := nothing(t)
	for i, priority := range []uint32{tcbpf.PriorityWindows, tcbpf.PriorityFlows} {
		attach(t, &tcbpf.Attacher{Agent: "X", Priority: priority, Clsact: true}, l.index,
			tcbpf.Program{Program: program, Place: tcbpf.Egress, Role: fmt.Sprintf("role%d", i)})
	}
	if err := tcbpf.RemoveLeft("Y"); err != nil || strings.Count(l.filters(), "with-qdisc") != 2 {
		t.Errorf("%v\n%s", err, l.filters())
	}
	if err := tcbpf.RemoveLeft("X"); err != nil || l.filters() != "" {
		t.Errorf("%v\n%s", err, l.filters())
	}
}

// With TCX there is nothing that tc shows, and no guard.
func TestTCXNeedsNoGuard(t *testing.T) {
	l := newLink(t)
	guard := &guarded{}
	attacher := &tcbpf.Attacher{Agent: "X", Priority: tcbpf.PriorityFlows, Guard: guard}
	program := tcbpf.Program{Program: nothing(t), Place: tcbpf.Egress, Role: "mark"}
	attached := attach(t, attacher, l.index, program)
	if attacher.Clsact || !attached.IsLive() || *guard != (guarded{}) {
		t.Errorf("%v, %v, %+v", attacher.Clsact, attached.IsLive(), guard)
	}
	closed(t, attached)
	attacher.Release()
	if guard.released != 0 {
		t.Errorf("%+v", guard)
	}
	attached = attach(t, attacher, l.index, program)
	command(t, "ip", "-n", l.namespace, "link", "del", "wlan0")
	if attached.IsLive() {
		t.Error("the interface is gone")
	}
}

// If one of several programs is refused, none stays.
func TestAllOrNothing(t *testing.T) {
	l := newLink(t)
	program := nothing(t)
	command(t, "tc", "-n", l.namespace, "qdisc", "add", "dev", "wlan0", "clsact")
	command(t, "tc", "-n", l.namespace, "filter", "add", "dev", "wlan0", "egress", "prio", "78", "u32", "match", "u32",
		"0", "0", "classid", "1:1")
	before := l.filters()
	_, err := (&tcbpf.Attacher{Agent: "X", Priority: 78, Clsact: true}).Attach(l.index,
		tcbpf.Program{Program: program, Place: tcbpf.Ingress, Role: "up"},
		tcbpf.Program{Program: program, Place: tcbpf.Egress, Role: "down"})
	if err == nil || !strings.Contains(err.Error(), `add filter "down"`) ||
		!strings.Contains(err.Error(), "something else has a filter with priority 78") || l.filters() != before {
		t.Errorf("%v\n%s", err, l.filters())
	}
	if _, err := (&tcbpf.Attacher{Agent: "X"}).Attach(l.index+1000,
		tcbpf.Program{Program: program, Place: tcbpf.Egress, Role: "mark"}); err == nil {
		t.Error("there is no such interface")
	}
}

const needsCapabilities = "the agent needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"

// Where anyone may create a map, the types are the first that take a capability, and the library has a verifier's error
// for these too.
func TestATypeThatIsNotPermittedIsNotTheVerifiers(t *testing.T) {
	t.Parallel()
	for _, each := range []struct {
		log  []string
		want string
	}{{nil, needsCapabilities}, {[]string{"R1 invalid mem access"}, "the kernel's verifier refuses it"}} {
		err := tcbpf.Explain("load", &ebpf.VerifierError{Cause: unix.EPERM, Log: each.log})
		if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), each.want) {
			t.Errorf("%q: %v", each.log, err)
		}
	}
}
