// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// On this machine's own kernel, a phone and its server are network namespaces, joined by a cable. In an outage the
// phone's frames have another station's address, so that they are lost without a word, as in the air.

const (
	serveWord           = "serve"
	phoneIP, phoneIP6   = "10.9.0.1", "fd09::1"
	serverIP, serverIP6 = "10.9.0.2", "fd09::2"
	own, anothers       = "02:00:00:00:00:02", "02:00:00:00:00:99"
	phones              = "02:00:00:00:00:01"
	timeout             = 30 * time.Second
	untilDoubled        = 3
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveWord {
		if err := runServer(); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runServer takes what comes on a port, and sends on another one, once its standard input has a line, until that ends.
func runServer() error {
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	for _, network := range []string{"tcp4", "tcp6"} { // Go takes a namespace without ::1 for one without IPv6.
		listener, err := net.Listen(network, ":5001")
		if err != nil {
			return err
		}
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(io.Discard, connection) }()
			}
		}()
		source, err := net.Listen(network, ":5002")
		if err != nil {
			return err
		}
		uploads, err := net.Listen(network, ":5003")
		if err != nil {
			return err
		}
		go func() { _ = http.Serve(uploads, http.HandlerFunc(takeUpload)) }()
		go func() {
			for {
				connection, err := source.Accept()
				if err != nil {
					return
				}
				go sendSlowly(connection)
			}
		}()
	}
	fmt.Println("listens")
	_, err := io.Copy(io.Discard, input)
	return err
}

// sendSlowly sends as much as connection takes, and at most 1 MB/s, so that tests leave the processor to others.
func sendSlowly(connection net.Conn) {
	for {
		if _, err := connection.Write(make([]byte, 10_000)); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// takeUpload says when the first octet has come, and takes the others.
func takeUpload(_ http.ResponseWriter, request *http.Request) {
	if _, err := request.Body.Read(make([]byte, 1)); err != nil {
		return
	}
	fmt.Println("receives")
	_, _ = io.Copy(io.Discard, request.Body)
}

type cell struct {
	t *testing.T
	// What the server's process prints.
	output *bufio.Reader
	// The server's process, and its network namespace by that.
	server int
	// Addresses that the phone is given on the way to the server.
	gaveAddresses []string
}

// untilEnded waits until a kernel, by the folder of its lists, has no connection of that port any more. One that does
// not wait for its timer is one as well: if its end were lost in the next outage, it would be there beside the next.
func (c *cell) untilEnded(lists string, port uint16) {
	c.t.Helper()
	const listens, timeWait = "0A", "06"
	ends := fmt.Sprintf(":%04X", port)
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		var left []string
		for _, list := range []string{"tcp", "tcp6"} {
			text, err := os.ReadFile(filepath.Join(lists, list))
			if err != nil {
				c.t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				words := strings.Fields(line) // number, local, remote, state
				isOurs := strings.HasSuffix(words[1], ends) || strings.HasSuffix(words[2], ends)
				if isOurs && words[3] != listens && words[3] != timeWait {
					left = append(left, line)
				}
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("connections do not end: %q", left)
		}
	}
}

// newCell moves the test's thread into the phone's namespace; the thread ends with the test.
func newCell(t *testing.T) cell {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: network namespaces, BPF, raw sockets; `make test` as root runs it")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), "/proc/self/exe", serveWord)
	server.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = input.Close(), server.Wait() })
	c := cell{t: t, output: bufio.NewReader(output), server: server.Process.Pid}
	c.run("ip link set lo up")
	if *roundTrip == 0 {
		c.run(fmt.Sprintf("ip link add phone address %s type veth peer name server address %s netns %d",
			phones, own, c.server))
	} else {
		c.run("ip link add phone address " + phones + " type veth peer name one")
		c.run(fmt.Sprintf("ip link add two type veth peer name server address %s netns %d", own, c.server))
		for _, end := range []string{"one", "two"} {
			c.run("ip link set " + end + " up promisc on")
		}
		c.join("one", "two", *roundTrip/2)
	}
	for at, commands := range map[string][]string{
		"": {
			"link set phone up", "address add 10.9.0.1/24 dev phone", "address add fd09::1/64 dev phone nodad",
		},
		c.inServer(): {
			"link set server up", "address add 10.9.0.2/24 dev server", "address add fd09::2/64 dev server nodad",
		},
	} {
		for _, command := range commands {
			c.run(at + "ip " + command)
		}
	}
	c.path(own)
	c.pathDown(phones)
	if _, err := io.WriteString(input, "begin\n"); err != nil {
		t.Fatal(err)
	}
	c.await("listens")
	return c
}

// await returns once the server has printed that.
func (c cell) await(word string) {
	c.t.Helper()
	if line, err := c.output.ReadString('\n'); err != nil || line != word+"\n" {
		c.t.Fatalf("%q, %v, not %q", line, err, word)
	}
}

func (c cell) run(command string) {
	c.t.Helper()
	words := strings.Fields(command)
	text, err := exec.CommandContext(c.t.Context(), words[0], words[1:]...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v: %s", command, err, text)
	}
}

// path has the phone's frames go to a station of this address.
func (c cell) path(mac string) {
	c.t.Helper()
	for _, ip := range []string{serverIP, serverIP6} {
		c.run("ip neigh replace " + ip + " lladdr " + mac + " nud permanent dev phone")
	}
}

// pathDown has the server's frames go to a station of this address.
func (c cell) pathDown(mac string) {
	c.t.Helper()
	for _, ip := range append([]string{phoneIP, phoneIP6}, c.gaveAddresses...) {
		c.run(c.inServer() + "ip neigh replace " + ip + " lladdr " + mac + " nud permanent dev server")
	}
}

// inServer is the beginning of a command in the server's network namespace.
func (c cell) inServer() string { return fmt.Sprintf("nsenter -t %d -n ", c.server) }

// connect returns the connection's ends; data is on its way.
func (c cell) connect(domain int, to unix.Sockaddr) (socket int) {
	c.t.Helper()
	socket, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Connect(socket, to); err != nil {
		c.t.Fatal(err)
	}
	c.write(socket)
	return socket
}

func (c cell) write(socket int) {
	c.t.Helper()
	if _, err := unix.Write(socket, make([]byte, 1000)); err != nil {
		c.t.Fatal(err)
	}
}

func (c cell) unanswered(kernel *arrival.Stock) []arrival.Connection {
	c.t.Helper()
	found, err := kernel.Unanswered()
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// eventually waits, however long it takes, until something is so of the connections that wait.
func (c cell) eventually(kernel *arrival.Stock, what string, is func([]arrival.Connection) bool) {
	c.t.Helper()
	var found []arrival.Connection
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found = c.unanswered(kernel); is(found) {
			return
		}
	}
	c.t.Fatalf("never: %s; %+v", what, found)
}

func TestTheKernelSendsAtOnce(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	ipv4, ipv6 := netip.MustParseAddr(serverIP), netip.MustParseAddr(serverIP6)
	sockets := []int{
		c.connect(unix.AF_INET, &unix.SockaddrInet4{Port: 5001, Addr: ipv4.As4()}),
		c.connect(unix.AF_INET6, &unix.SockaddrInet6{Port: 5001, Addr: ipv6.As16()}),
		c.connect(unix.AF_INET6, &unix.SockaddrInet6{Port: 5001, Addr: ipv4.As16()}), // mapped
	}
	c.eventually(kernel, "nothing waits", nothing)
	if outcome, err := kernel.Retransmit(0); err != nil || outcome != (arrival.Outcome{}) {
		t.Errorf("before the outage: %+v, %v", outcome, err)
	}
	c.path(anothers)
	for _, socket := range sockets {
		c.write(socket)
	}
	c.eventually(kernel, "all timeouts are doubled", func(found []arrival.Connection) bool {
		return len(found) == len(sockets) && least(found) >= untilDoubled
	})
	// What is sent now is lost as well, and the timeouts are as long as before. Of each connection the last attempt
	// must be a timeout ago, however busy the machine is.
	sent := uint64(0)
	for deadline := time.Now().Add(timeout); sent < uint64(len(sockets)) && time.Now().Before(deadline); {
		time.Sleep(time.Second)
		before := c.unanswered(kernel)
		outcome, err := kernel.Retransmit(0)
		if err != nil || outcome.Unanswered != uint64(len(sockets)) {
			t.Fatalf("in the outage: %+v, %v", outcome, err)
		}
		sent = max(sent, outcome.AtOnce)
		if sent == uint64(len(sockets)) && least(c.unanswered(kernel)) < 1 {
			t.Errorf("%+v became %+v", before, c.unanswered(kernel))
		}
	}
	if sent < uint64(len(sockets)) {
		t.Errorf("%d of %d sent in the outage", sent, len(sockets))
	}
	c.path(own)
	if outcome, err := kernel.Retransmit(0); err != nil || outcome.Unanswered != uint64(len(sockets)) {
		t.Errorf("after it: %+v, %v", outcome, err)
	}
	c.eventually(kernel, "all is acknowledged", nothing)
}

func TestAMessageNeverLeavesThePhone(t *testing.T) {
	newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	for _, address := range []string{serverIP + ":40000", "192.0.2.1:40000", "[" + serverIP6 + "]:40000"} {
		err := kernel.Revert(arrival.Connection{
			Local: netip.MustParseAddrPort(address), Remote: netip.AddrPortFrom(netip.MustParseAddr(serverIP), 1),
		})
		if !errors.Is(err, arrival.ErrAddressGone) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A message about data that was acknowledged long ago, or is not sent yet, or about a connection that is not there,
// takes no step back: its sender does not know the connection.
func TestAMessageAboutOtherDataChangesNothing(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	for _, address := range []string{serverIP, serverIP6} {
		ip := netip.MustParseAddr(address)
		domain, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: 5001, Addr: ip.As16()})
		if ip.Is4() {
			domain, to = unix.AF_INET, &unix.SockaddrInet4{Port: 5001, Addr: ip.As4()}
		}
		socket := c.connect(domain, to)
		c.eventually(kernel, "nothing waits", nothing)
		c.path(anothers)
		c.write(socket)
		c.eventually(kernel, "the timeout is doubled", func(found []arrival.Connection) bool {
			return len(found) == 1 && least(found) >= untilDoubled
		})
		// Each time that the timer expires adds one to both numbers, however late this is.
		is := c.unanswered(kernel)[0]
		for _, wrong := range []arrival.Connection{
			{Local: is.Local, Remote: is.Remote, Una: is.Una - 1},
			{Local: is.Local, Remote: is.Remote, Una: is.Una + 1},
			{Local: is.Local, Remote: is.Remote, Una: is.Una + 1<<31},
			{Local: netip.AddrPortFrom(is.Local.Addr(), is.Local.Port()^1), Remote: is.Remote, Una: is.Una},
			{Local: is.Local, Remote: netip.AddrPortFrom(is.Remote.Addr(), 1), Una: is.Una},
		} {
			if err := kernel.Revert(wrong); err != nil {
				t.Fatal(err)
			}
			if now := c.unanswered(kernel); len(now) != 1 || now[0].Backoff != now[0].Retransmits {
				t.Errorf("%+v made %+v of %+v", wrong, now, is)
			}
		}
		if err := kernel.Revert(is); err != nil {
			t.Fatal(err)
		}
		if now := c.unanswered(kernel); len(now) != 1 || now[0].Backoff >= now[0].Retransmits {
			t.Errorf("the right message made %+v of %+v", now, is)
		}
		c.path(own)
		c.eventually(kernel, "all is acknowledged", nothing)
	}
}

var outages = flag.String("outages", "50ms", "lengths of the outages of TestSilenceAfterOutages")

// TestSilenceAfterOutages prints how long a connection is silent after outages, with TCP alone and with Retransmit.
func TestSilenceAfterOutages(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	server := netip.MustParseAddr(serverIP)
	for length := range strings.SplitSeq(*outages, ",") {
		outage, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		for _, retransmit := range []bool{false, true} {
			socket := c.connect(unix.AF_INET, &unix.SockaddrInet4{Port: 5001, Addr: server.As4()})
			c.path(anothers)
			c.write(socket)
			time.Sleep(outage)
			c.path(own)
			back := time.Now()
			if retransmit {
				if _, err := kernel.Retransmit(0); err != nil {
					t.Fatal(err)
				}
			}
			c.eventually(kernel, "all is acknowledged", nothing)
			silent := time.Since(back).Round(time.Millisecond)
			t.Logf("outage of %s, Retransmit %t: silent for %s after it", outage, retransmit, silent)
		}
	}
}

func nothing(waits []arrival.Connection) bool { return len(waits) == 0 }

// least is how often the timeout is doubled of the one that is doubled least.
func least(connections []arrival.Connection) uint8 {
	found := connections[0].Backoff
	for _, connection := range connections {
		found = min(found, connection.Backoff)
	}
	return found
}
