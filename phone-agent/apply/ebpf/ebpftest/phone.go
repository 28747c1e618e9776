// SPDX-License-Identifier: Apache-2.0

// Package ebpftest is a phone for tests of the back end for stock kernels, on this machine's own kernel: a network
// namespace, a cgroup, and processes in both that send as fast as they can.
//
//	phone's cgroup: sender ---- lo of the namespace, 10.0.4.1, 10.0.5.1, fd00:4::1 ---- sink, in this process
//	another cgroup: sender ----'
package ebpftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply/ebpf"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/monitor/sockdiag"
)

const (
	senderVariable = "AIRBOUND_TEST_SENDER"
	timeout        = 20 * time.Second
)

// Main is a TestMain: it makes the test's program a sender if it was started as one, and fails if a process of an agent
// outlives the tests.
func Main(m *testing.M) {
	if address := os.Getenv(senderVariable); address != "" {
		fmt.Fprintln(os.Stderr, "sender:", send(address)) // It ends by itself only if it fails.
		os.Exit(1)
	}
	code := m.Run()
	if left := processesLeft(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "processes outlive the tests:", left)
		code = 1
	}
	os.Exit(code)
}

// processesLeft waits until no process has a cgroup of the tests in its arguments, as an agent's guard has, and kills
// those that do not end.
func processesLeft() []string {
	for deadline := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		commands, _ := filepath.Glob("/proc/[0-9]*/cmdline") // The pattern is right.
		for _, command := range commands {
			text, err := os.ReadFile(command)
			if err != nil || !strings.Contains(string(text), cgroupPrefix()) {
				continue
			}
			left = append(left, strings.ReplaceAll(command+" "+string(text), "\x00", " "))
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(command)))
			if err == nil && time.Now().After(deadline) {
				_ = unix.Kill(pid, unix.SIGKILL) // It may have ended.
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// send connects, prints its own address, waits for a byte, and sends until its standard input ends. An IPv6 socket
// connects to "mapped ADDRESS".
func send(address string) error {
	address, mapped := strings.CutPrefix(address, "mapped ")
	remote, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	domain, port := unix.AF_INET6, int(remote.Port())
	to := unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: remote.Addr().As16()})
	if remote.Addr().Is4() && !mapped {
		domain, to = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: remote.Addr().As4()}
	}
	socket, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if err := unix.SetsockoptString(socket, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic"); err != nil {
			return err
		}
	}
	if err := unix.Connect(socket, to); err != nil {
		return err
	}
	own, err := unix.Getsockname(socket)
	if err != nil {
		return err
	}
	switch own := own.(type) {
	case *unix.SockaddrInet4:
		fmt.Println(netip.AddrPortFrom(netip.AddrFrom4(own.Addr), uint16(own.Port))) //nolint:gosec // a port
	case *unix.SockaddrInet6:
		fmt.Println(netip.AddrPortFrom(netip.AddrFrom16(own.Addr).Unmap(), uint16(own.Port))) //nolint:gosec // a port
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	data := make([]byte, 64<<10)
	for {
		if _, err := unix.Write(socket, data); err != nil {
			return err
		}
	}
}

// Phone is a network namespace and a cgroup.
type Phone struct {
	t      *testing.T
	Cgroup string
	sink   map[string]net.Listener
}

// New moves the test's thread into a new network namespace; the thread ends with the test.
func New(t *testing.T) *Phone {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: cgroups, network namespaces, BPF; `make test` as root runs it")
	}
	runtime.LockOSThread()
	made := (&Phone{t: t, Cgroup: NewCgroup(t, "phone")}).InNewNamespace(t)
	if made == nil {
		t.FailNow()
	}
	return made
}

// InNewNamespace makes another phone of the same cgroup. The thread of the caller is locked, and ends with it.
func (p *Phone) InNewNamespace(t *testing.T) *Phone {
	t.Helper()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Errorf("make a network namespace: %v", err)
		return nil
	}
	// A queue that the senders fill, so that it is the window that limits them.
	for _, command := range []string{
		"ip link set lo mtu 1500 up", "ip address add 10.0.4.1/24 dev lo", "ip address add 10.0.5.1/24 dev lo",
		"ip address add fd00:4::1/64 dev lo nodad",
		"tc qdisc add dev lo root tbf rate 100mbit burst 20000 limit 400000",
		// That of users other than root; send takes CUBIC, which not every machine lets them use.
		"sysctl -qw net.ipv4.tcp_congestion_control=reno",
	} {
		words := strings.Fields(command)
		run := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // those above
		text, err := run.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", command, err, text)
			return nil
		}
	}
	return &Phone{t: t, Cgroup: p.Cgroup, sink: map[string]net.Listener{}}
}

// NewCgroup makes a cgroup until the test ends.
func NewCgroup(t *testing.T, name string) string {
	t.Helper()
	root, err := ebpf.RootCgroup("/proc")
	if err != nil {
		t.Fatalf("this machine cannot run the back end for stock kernels: %v", err)
	}
	path, err := os.MkdirTemp(root, cgroupPrefix()+name+"-") //nolint:usetesting // only in this file system
	if err != nil {
		t.Fatal(err)
	}
	Removed(t, path)
	return path
}

// cgroupPrefix begins the name of each cgroup of this process, and of no other.
func cgroupPrefix() string { return fmt.Sprintf("airbound-test-%d-", os.Getpid()) }

// Removed removes a cgroup at the end, unless the test has. Its processes have ended then, but the kernel may not have
// noticed.
func Removed(t *testing.T, cgroup string) {
	t.Helper()
	t.Cleanup(func() {
		for deadline := time.Now().Add(timeout); ; time.Sleep(10 * time.Millisecond) {
			err := os.Remove(cgroup)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				return
			}
			if time.Now().After(deadline) {
				t.Error(err)
				return
			}
		}
	})
}

// listen returns the address of a sink, one for each IP address.
func (p *Phone) listen(ip string) string {
	p.t.Helper()
	if p.sink[ip] == nil {
		listener, err := (&net.ListenConfig{}).Listen(p.t.Context(), "tcp", net.JoinHostPort(ip, "0"))
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { _ = listener.Close() })
		p.sink[ip] = listener
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(io.Discard, connection) }()
			}
		}()
	}
	return p.sink[ip].Addr().String()
}

// Application is a process that sends.
type Application struct {
	t     *testing.T
	local netip.AddrPort
	// Ends it: one that sends without a maximum leaves little of the queue to others.
	Stop func()
	// Begins to send.
	Begin func()
}

// From is who sends.
type From struct {
	// The phone's own if empty.
	Cgroup string
	UID    uint32
	// By an IPv6 socket, to an IPv4 address.
	Mapped bool
}

// Send starts an application that sends to an address.
func (p *Phone) Send(ip string) *Application {
	p.t.Helper()
	return p.SendFrom(ip, From{})
}

// SendFrom starts an application of somebody.
func (p *Phone) SendFrom(ip string, who From) *Application {
	p.t.Helper()
	made := p.Connect(ip, who)
	made.Begin()
	return made
}

// Connect starts an application that does not send yet. (Once the window is larger than what the kernel lets into the
// queue, it does not limit the sender, and Linux lowers it only after a loss.)
func (p *Phone) Connect(ip string, who From) *Application {
	p.t.Helper()
	if who.Cgroup == "" {
		who.Cgroup = p.Cgroup
	}
	address := p.listen(ip)
	if who.Mapped {
		address = "mapped " + address
	}
	cgroup, err := os.Open(who.Cgroup)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = cgroup.Close() }()
	sender := exec.CommandContext(context.Background(), "/proc/self/exe")
	sender.Env = append(os.Environ(), senderVariable+"="+address)
	sender.SysProcAttr = attributes(int(cgroup.Fd()), who.UID)
	sender.Stderr = os.Stderr
	stop, err := sender.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	output, err := sender.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := sender.Start(); err != nil {
		p.t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = stop.Close()
		_ = sender.Wait()
	})
	p.t.Cleanup(end)
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the sender: %v", err)
	}
	begin := func() { _, _ = stop.Write([]byte{1}) }
	return &Application{t: p.t, Stop: end, Begin: begin, local: netip.MustParseAddrPort(strings.TrimSpace(line))}
}

// Connection is what sock_diag knows of the application's connection.
func (a *Application) Connection() monitor.Connection {
	a.t.Helper()
	connection, found := a.find()
	if !found {
		a.t.Fatalf("no connection from %s", a.local)
	}
	return connection
}

// IsGone waits until the kernel has closed the connection, which is some time after the application has ended.
func (a *Application) IsGone() {
	a.t.Helper()
	Eventually(a.t, "the connection is gone", func() bool {
		_, found := a.find()
		return !found
	})
}

func (a *Application) find() (monitor.Connection, bool) {
	a.t.Helper()
	socket, err := sockdiag.Open(func() uint64 { return 0 })
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	snapshot, err := socket.Snapshot()
	if err != nil {
		a.t.Fatal(err)
	}
	for _, connection := range snapshot.Connections {
		if connection.Local == a.local {
			return connection, true
		}
	}
	return monitor.Connection{}, false
}

// Cwnds samples the window for a while and returns the smallest and the largest.
func (a *Application) Cwnds(during time.Duration) (uint32, uint32) {
	a.t.Helper()
	smallest, largest := ^uint32(0), uint32(0)
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		cwnd := a.Connection().CwndSegs
		smallest, largest = min(smallest, cwnd), max(largest, cwnd)
	}
	return smallest, largest
}

// IsBounded fails unless the window reaches the maximum and never exceeds it.
func (a *Application) IsBounded(maxSegs uint32) {
	a.t.Helper()
	a.eventually(fmt.Sprintf("the window is %d", maxSegs), func(cwnd uint32) bool { return cwnd == maxSegs })
	if _, largest := a.Cwnds(200 * time.Millisecond); largest > maxSegs {
		a.t.Errorf("the window grew to %d, maximum %d", largest, maxSegs)
	}
}

// GrowsAbove fails unless the window exceeds so much.
func (a *Application) GrowsAbove(segs uint32) {
	a.t.Helper()
	a.eventually(fmt.Sprintf("the window exceeds %d", segs), func(cwnd uint32) bool { return cwnd > segs })
}

// eventually waits until the window is right.
func (a *Application) eventually(what string, right func(cwndSegs uint32) bool) {
	a.t.Helper()
	var last monitor.Connection
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if last = a.Connection(); right(last.CwndSegs) {
			return
		}
	}
	a.t.Fatalf("never: %s; last %+v", what, last)
}

// Eventually waits until a condition is true; no test depends on how long that takes.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
