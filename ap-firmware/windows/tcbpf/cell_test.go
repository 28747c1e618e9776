// SPDX-License-Identifier: Apache-2.0

package tcbpf_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
)

// wired is a cell without air, of network namespaces:
//
//	station: sta0 ------ wlan0 (access point: bridge br0) eth0 ------ srv0: server
//
// The programs are at wlan0. A delay is a relay in user space between two more pairs of interfaces: the kernel may have
// no netem.
type wired struct {
	t                            *testing.T
	station, accessPoint, server string
	stationMAC                   mac.Address
	kernel                       *tcbpf.Kernel
	relayed                      bool
}

var namespaces atomic.Uint32

func command(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, out)
	}
}

func newNamespace(t *testing.T, name string) string {
	t.Helper()
	name = fmt.Sprintf("%s-%d-%d", name, os.Getpid(), namespaces.Add(1))
	command(t, "ip", "netns", "add", name)
	t.Cleanup(func() { command(t, "ip", "netns", "del", name) })
	command(t, "ip", "-n", name, "link", "set", "lo", "up")
	return name
}

type delays struct{ air, wire time.Duration }

func newWired(t *testing.T, delay delays) *wired {
	t.Helper()
	w := &wired{
		t: t, station: newNamespace(t, "sta"), accessPoint: newNamespace(t, "ap"), server: newNamespace(t, "srv"),
		stationMAC: mac.Address{2, 0, 0, 0, 7, 1},
	}
	command(t, "ip", "-n", w.accessPoint, "link", "add", "br0", "type", "bridge")
	w.cable(w.station, "sta0", "wlan0", delay.air)
	w.cable(w.server, "srv0", "eth0", delay.wire)
	command(t, "ip", "-n", w.station, "link", "set", "sta0", "address", w.stationMAC.String())
	for i, namespace := range []string{w.station, w.server} {
		name := []string{"sta0", "srv0"}[i]
		command(t, "ip", "-n", namespace, "addr", "add", fmt.Sprintf("192.0.2.%d/24", i+1), "dev", name)
		command(t, "ip", "-n", namespace, "addr", "add", fmt.Sprintf("2001:db8::%d/64", i+1), "dev", name, "nodad")
		command(t, "ip", "-n", namespace, "link", "set", name, "up")
	}
	command(t, "ip", "-n", w.accessPoint, "link", "set", "br0", "up")
	return w
}

// cable connects an interface of a namespace with one of the access point's, which becomes a port of the bridge.
func (w *wired) cable(namespace, name, port string, delay time.Duration) {
	w.t.Helper()
	if delay == 0 {
		pair(w.t, namespace, name, w.accessPoint, port)
	} else {
		w.relayed = true
		between := newNamespace(w.t, "delay")
		pair(w.t, namespace, name, between, "one")
		pair(w.t, w.accessPoint, port, between, "two")
		command(w.t, "ip", "netns", "exec", between, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
		command(w.t, "ip", "-n", between, "link", "set", "one", "up")
		command(w.t, "ip", "-n", between, "link", "set", "two", "up")
		w.relay(between, delay)
	}
	command(w.t, "ip", "-n", w.accessPoint, "link", "set", port, "master", "br0", "up")
}

// pair makes two interfaces that are the ends of a cable.
func pair(t *testing.T, namespace, name, otherNamespace, otherName string) {
	t.Helper()
	command(t, "ip", "-n", namespace, "link", "add", name, "type", "veth", "peer", "name", otherName, "netns",
		otherNamespace)
}

// offloads switches those of every interface.
func (w *wired) offloads(on bool) {
	w.t.Helper()
	for namespace, names := range map[string][]string{
		w.station: {"sta0"}, w.server: {"srv0"}, w.accessPoint: {"wlan0", "eth0"},
	} {
		for _, name := range names {
			w.in(namespace, func() error { return setOffloads(name, on) })
		}
	}
}

func setOffloads(name string, on bool) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	value := uint32(0)
	if on {
		value = 1
	}
	for _, what := range []uint32{
		unix.ETHTOOL_STXCSUM, unix.ETHTOOL_STSO, unix.ETHTOOL_SGSO, unix.ETHTOOL_SGRO,
	} {
		argument := struct{ command, value uint32 }{what, value}
		request := struct {
			name [16]byte
			data unsafe.Pointer
			_    [16]byte
		}{data: unsafe.Pointer(&argument)}
		copy(request.name[:], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL,
			uintptr(unsafe.Pointer(&request)))
		if errno != 0 && errno != unix.EOPNOTSUPP {
			return fmt.Errorf("offload %d of %s: %w", what, name, errno)
		}
	}
	return nil
}

// in runs a function on a thread in a network namespace, which ends with it.
func (w *wired) in(namespace string, call func() error) {
	w.t.Helper()
	if err := inNamespace(namespace, call); err != nil {
		w.t.Fatal(err)
	}
}

func inNamespace(namespace string, call func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // For good: the thread ends with the goroutine.
		file, err := os.Open(filepath.Join("/run/netns", namespace))
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			_ = file.Close()
		}
		if err == nil {
			err = call()
		}
		done <- err
	}()
	return <-done
}

func packetSocket(name string, timeout time.Duration) (int, error) {
	all := int(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL)))
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return 0, err
	}
	found, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	limit := unix.NsecToTimeval(timeout.Nanoseconds())
	return socket, errors.Join(
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: found.Index}),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
}

// relay delivers the frames of each of two interfaces at the other one, later.
func (w *wired) relay(namespace string, delay time.Duration) {
	w.t.Helper()
	var sockets [2]int
	w.in(namespace, func() (err error) {
		for i, name := range []string{"one", "two"} {
			if sockets[i], err = packetSocket(name, 100*time.Millisecond); err != nil {
				return err
			}
			if err := unix.SetsockoptInt(sockets[i], unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
				return err
			}
		}
		return nil
	})
	var end atomic.Bool
	var group sync.WaitGroup
	for i := range sockets {
		type frame struct {
			at   time.Time
			data []byte
		}
		queue := make(chan frame, 100_000)
		group.Go(func() {
			defer close(queue)
			buffer := make([]byte, 70_000)
			for !end.Load() {
				n, err := unix.Read(sockets[i], buffer)
				if err == nil {
					queue <- frame{time.Now().Add(delay), append([]byte{}, buffer[:n]...)}
				}
			}
		})
		group.Go(func() {
			for each := range queue {
				time.Sleep(time.Until(each.at))
				_, _ = unix.Write(sockets[1-i], each.data) // As a cable: what it cannot carry is lost.
			}
		})
	}
	w.t.Cleanup(func() {
		end.Store(true)
		group.Wait()
		_ = errors.Join(unix.Close(sockets[0]), unix.Close(sockets[1]))
	})
}

// attach loads the programs and attaches them to wlan0.
func (w *wired) attach(options tcbpf.Options) *tcbpf.Kernel {
	w.t.Helper()
	options.Logger = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	if options.AgentName == "" {
		options.AgentName = "test"
	}
	w.in(w.accessPoint, func() (err error) {
		if w.kernel, err = tcbpf.Load(options); err != nil {
			return err
		}
		return w.kernel.Attach("wlan0", nil)
	})
	kernel := w.kernel
	w.t.Cleanup(func() { w.in(w.accessPoint, kernel.Close) })
	return kernel
}

// upload is a connection on which the station sends without end.
type upload struct {
	t      *testing.T
	client *net.TCPConn
	// received counts what has come to the server, in order and unchanged.
	received atomic.Int64
	paused   atomic.Bool
	failure  atomic.Pointer[string]
}

// upload connects and begins to send.
func (w *wired) upload(ipv6 bool) *upload {
	w.t.Helper()
	address := "192.0.2.2:0"
	if ipv6 {
		address = "[2001:db8::2]:0"
	}
	var listener net.Listener
	w.in(w.server, func() (err error) {
		listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", address)
		return err
	})
	w.t.Cleanup(func() { _ = listener.Close() })
	u := &upload{t: w.t}
	go u.receive(listener)
	w.in(w.station, func() error {
		conn, err := (&net.Dialer{Timeout: 10 * time.Second}).Dial("tcp", listener.Addr().String())
		if err != nil {
			return err
		}
		u.client = conn.(*net.TCPConn)
		return nil
	})
	w.t.Cleanup(func() { _ = u.client.Close() })
	go func() {
		data := make([]byte, 251*64)
		for i := range data {
			data[i] = byte(i % 251)
		}
		for {
			if _, err := u.client.Write(data); err != nil {
				return
			}
		}
	}()
	return u
}

func (u *upload) receive(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		if u.paused.Load() {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		n, err := conn.Read(buffer)
		for i := range n {
			if buffer[i] != byte((u.received.Load()+int64(i))%251) {
				text := fmt.Sprintf("byte %d is %d", u.received.Load()+int64(i), buffer[i])
				u.failure.Store(&text)
				return
			}
		}
		u.received.Add(int64(n))
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				text := err.Error()
				u.failure.Store(&text)
			}
			return
		}
	}
}

// info is the station's own account of the connection.
func (u *upload) info() *unix.TCPInfo {
	u.t.Helper()
	raw, err := u.client.SyscallConn()
	if err != nil {
		u.t.Fatal(err)
	}
	var info *unix.TCPInfo
	_ = raw.Control(func(descriptor uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(descriptor), unix.SOL_TCP, unix.TCP_INFO)
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return info
}

// progress waits until so much more has come to the server.
func (u *upload) progress(bytes int64) {
	u.t.Helper()
	want := u.received.Load() + bytes
	u.eventually("progress", func() bool { return u.received.Load() >= want })
	if failure := u.failure.Load(); failure != nil {
		u.t.Fatal(*failure)
	}
}

// patience only ends what hangs: what it waits for takes a second or two on an idle machine.
const patience = 3 * time.Minute

func (u *upload) eventually(what string, condition func() bool) {
	u.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			u.t.Fatalf("never: %s; %+v", what, u.info())
		}
	}
}

// checksumErrors are those that the namespace's TCP has found.
func (w *wired) checksumErrors(namespace string) int {
	w.t.Helper()
	text, err := exec.Command("ip", "netns", "exec", namespace, "cat", "/proc/net/snmp").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if fields[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "InCsumErrors" {
				count, _ := strconv.Atoi(fields[i])
				return count
			}
		}
	}
	w.t.Fatalf("no InCsumErrors in\n%s", text)
	return 0
}

func addressOf(ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.MustParseAddr("2001:db8::2")
	}
	return netip.MustParseAddr("192.0.2.2")
}
