// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// Downloads in the cell of stock_test.go: the server sends, and its kernel's timers are what is looked at.

// downloading is a phone with a download, and what its server's kernel shows of it.
type downloading struct {
	cell
	servers   *arrival.StockServers
	downloads *arrival.Downloads
	atServer  *arrival.Stock
	// end closes the download, and returns once the server's kernel knows.
	end func()
}

func newDownloading(t *testing.T) *downloading {
	t.Helper()
	d := &downloading{cell: newCell(t)}
	var err error
	if d.servers, err = arrival.OpenStockServers(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.servers.Close() })
	if d.atServer, err = arrival.OpenStock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.atServer.Close() })
	d.downloads = arrival.NewDownloads(d.servers)
	return d
}

// begin downloads from the server and reads all that comes. It returns once something has come.
func (d *downloading) begin(address string) {
	d.t.Helper()
	ip := netip.MustParseAddr(address)
	domain, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: 5002, Addr: ip.As16()})
	if ip.Is4() {
		domain, to = unix.AF_INET, &unix.SockaddrInet4{Port: 5002, Addr: ip.As4()}
	}
	socket, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := unix.Connect(socket, to); err != nil {
		d.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for buffer := make([]byte, 1<<16); ; {
			if count, err := unix.Read(socket, buffer); count <= 0 || err != nil {
				return
			}
		}
	}()
	d.end = sync.OnceFunc(func() {
		_ = unix.Shutdown(socket, unix.SHUT_RDWR)
		<-read
		_ = unix.Close(socket)
		d.untilEnded(fmt.Sprintf("/proc/%d/net", d.cell.server), 5002)
	})
	d.t.Cleanup(d.end)
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		if found, err := d.servers.Receiving(); err != nil || len(found) > 0 {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatal("nothing comes")
		}
	}
}

// more returns once more has come than that.
func (d *downloading) more(next uint32) {
	d.t.Helper()
	for deadline := time.Now().Add(timeout); d.next() == next; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatal("the download does not go on")
		}
	}
}

// next is the first sequence number that the phone has not received.
func (d *downloading) next() uint32 {
	d.t.Helper()
	return d.receiving().Next
}

func (d *downloading) receiving() arrival.Download {
	d.t.Helper()
	found, err := d.servers.Receiving()
	if err != nil || len(found) != 1 {
		d.t.Fatalf("%+v, %v", found, err)
	}
	return found[0]
}

// server are the server's connections that wait for their timers.
func (d *downloading) server() []arrival.Connection {
	d.t.Helper()
	var found []arrival.Connection
	listed := make(chan error)
	go func() {
		runtime.LockOSThread() // The thread ends with this, in the server's network namespace.
		namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", d.cell.server))
		if err == nil {
			err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
			_ = namespace.Close()
		}
		if err == nil {
			found, err = d.atServer.Unanswered()
		}
		listed <- err
	}()
	if err := <-listed; err != nil {
		d.t.Fatal(err)
	}
	return found
}

// until waits, however long it takes, until something is so of the server's connections that wait.
func (d *downloading) until(what string, is func([]arrival.Connection) bool) {
	d.t.Helper()
	var found []arrival.Connection
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if found = d.server(); is(found) {
			return
		}
	}
	d.t.Fatalf("never: %s; %+v", what, found)
}

// lose begins an outage. All that came was acknowledged, or the last acknowledgments are lost as well.
func (d *downloading) lose(acknowledged bool) {
	d.t.Helper()
	first, second := d.path, d.pathDown
	if acknowledged {
		first, second = second, first
	}
	first(anothers)
	d.until("the server waits", func(found []arrival.Connection) bool {
		return len(found) == 1 && (found[0].Una == d.next()) == acknowledged
	})
	second(anothers)
}

func doubledOften(found []arrival.Connection) bool {
	return len(found) == 1 && least(found) >= untilDoubled
}

// arrive sends the messages while the server's data are still lost, so that nothing but them can change what the server
// waits for: each time that its timer expires adds one to both numbers, however late this is.
func (d *downloading) arrive(acknowledged bool) {
	d.t.Helper()
	d.until("the server's timeout is doubled", doubledOften)
	if was := d.server()[0]; was.Backoff != was.Retransmits || (was.Una == d.next()) != acknowledged {
		d.t.Fatalf("%+v, and the phone has received up to %d", was, d.next())
	}
	d.path(own)
	outcome, err := d.downloads.Arrived(time.Now(), timeout)
	if err != nil || outcome.Silent != 1 || outcome.Messages < 3 || outcome.Refused+outcome.Unsent > 0 {
		d.t.Fatalf("%+v, %v", outcome, err)
	}
	next := d.next()
	if acknowledged {
		d.until("the server's timeout is no longer doubled as often", func(found []arrival.Connection) bool {
			return len(found) == 1 && found[0].Una == next && found[0].Backoff < found[0].Retransmits
		})
	} else {
		d.until("the server knows what has come", func(found []arrival.Connection) bool {
			return len(found) == 0 || found[0].Una == next
		})
	}
	d.pathDown(phones)
	d.more(next)
	if outcome, err := d.downloads.Again(time.Now()); err != nil || outcome != (arrival.DownloadsOutcome{Resumed: 1}) {
		d.t.Errorf("again: %+v, %v", outcome, err)
	}
}

func TestTheServersKernelSendsAtOnce(t *testing.T) {
	d := newDownloading(t)
	for _, address := range []string{serverIP, serverIP6} {
		for _, acknowledged := range []bool{true, false} {
			d.begin(address)
			d.lose(acknowledged)
			d.arrive(acknowledged)
			d.end()
		}
	}
}

// Between the phone and the server are a firewall that lets in what belongs to a connection, and a network that gives
// the phone another address, both by the kernel's tracking of connections.
func TestFirewallsPassMessagesToServers(t *testing.T) {
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Fatal("nft is missing: Debian's package nftables has it")
	}
	d := newDownloading(t)
	const given, given6 = "10.9.0.9", "fd09::9"
	for _, ip := range []string{given, given6} {
		d.run(d.inServer() + "ip neigh replace " + ip + " lladdr " + phones + " nud permanent dev server")
	}
	d.gaveAddresses = []string{given, given6}
	for at, rules := range map[string]string{
		"": "table inet phone {\nchain out {\ntype nat hook postrouting priority srcnat\n" +
			"ip saddr " + phoneIP + " snat ip to " + given + "\nip6 saddr " + phoneIP6 + " snat ip6 to " + given6 +
			"\n}\n}\n",
		d.inServer(): "table inet server {\ncounter foreign {\n}\n" +
			"chain in {\ntype filter hook input priority filter; policy drop;\n" +
			"tcp dport 5002 ct state new accept\nct state established,related accept\n" +
			"meta l4proto { icmp, icmpv6 } counter name foreign\n}\n}\n",
	} {
		command := exec.CommandContext(t.Context(), "sh", "-c", at+nft+" -f -")
		command.Stdin = strings.NewReader(rules)
		if text, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", rules, err, text)
		}
	}
	for i, address := range []string{serverIP, serverIP6} {
		for _, acknowledged := range []bool{true, false} {
			d.begin(address)
			d.lose(acknowledged)
			if seen := d.server()[0].Remote.Addr(); seen != netip.MustParseAddr([]string{given, given6}[i]) {
				t.Fatalf("to the server the phone is %s", seen)
			}
			d.arrive(acknowledged)
			d.end()
		}
		// Of a connection that is not there.
		foreign := arrival.Download{
			Local:  netip.AddrPortFrom(netip.MustParseAddr([]string{phoneIP, phoneIP6}[i]), 1),
			Remote: netip.AddrPortFrom(netip.MustParseAddr(address), 1),
		}
		if err := d.servers.Unreachable(foreign); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("packets %d ", i+1)
		for deadline := time.Now().Add(timeout); !strings.Contains(d.counted(nft), want); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not in %s", want, d.counted(nft))
			}
		}
	}
}

func (d *downloading) counted(nft string) string {
	d.t.Helper()
	words := strings.Fields(d.inServer() + nft + " list counter inet server foreign")
	text, err := exec.CommandContext(d.t.Context(), words[0], words[1:]...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

// A message about data that the server has not sent, or that was acknowledged, or about another connection, takes no
// step back.
func TestAMessageToTheServerAboutOtherDataChangesNothing(t *testing.T) {
	d := newDownloading(t)
	for _, address := range []string{serverIP, serverIP6} {
		d.begin(address)
		d.lose(true)
		d.until("the server's timeout is doubled", doubledOften)
		d.path(own)
		is := d.receiving()
		for change, wrong := range map[string]func(*arrival.Download){
			"acknowledged": func(download *arrival.Download) { download.Next-- },
			"later":        func(download *arrival.Download) { download.Next++ },
			"not sent":     func(download *arrival.Download) { download.Next += 1 << 31 },
			"the phone's port is another": func(download *arrival.Download) {
				download.Local = netip.AddrPortFrom(is.Local.Addr(), is.Local.Port()^1)
			},
			"the server's port is another": func(download *arrival.Download) {
				download.Remote = netip.AddrPortFrom(is.Remote.Addr(), 1)
			},
		} {
			download := is
			wrong(&download)
			if err := d.servers.Unreachable(download); err != nil {
				t.Fatal(err)
			}
			if now := d.server(); len(now) != 1 || now[0].Backoff != now[0].Retransmits {
				t.Errorf("%s: %+v", change, now)
			}
		}
		if err := d.servers.Unreachable(is); err != nil {
			t.Fatal(err)
		}
		d.until("the right one takes a step", func(found []arrival.Connection) bool {
			return len(found) == 1 && found[0].Backoff < found[0].Retransmits
		})
		d.pathDown(phones)
		d.until("it is acknowledged", nothing)
		d.end()
	}
}

func TestMessagesToServersAreOfThePhonesAddresses(t *testing.T) {
	d := newDownloading(t)
	for _, local := range []string{"192.0.2.1:40000", "[2001:db8::1]:40000"} {
		download := arrival.Download{Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort(local)}
		for _, err := range []error{d.servers.Acknowledge(download), d.servers.Unreachable(download)} {
			if !errors.Is(err, arrival.ErrAddressGone) {
				t.Errorf("%s: %v", local, err)
			}
		}
	}
}

// TestSilenceOfDownloads prints for how long a download is silent after outages, by what is sent to the server.
func TestSilenceOfDownloads(t *testing.T) {
	d := newDownloading(t)
	for length := range strings.SplitSeq(*outages, ",") {
		outage, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		for _, acknowledged := range []bool{true, false} {
			for _, kind := range []string{"nothing", "three acknowledgments", "eight messages", "both"} {
				d.begin(serverIP)
				began := time.Now()
				d.lose(acknowledged)
				time.Sleep(outage - time.Since(began))
				d.path(own)
				d.pathDown(phones)
				back := time.Now()
				is := d.receiving()
				switch kind {
				case "three acknowledgments":
					for range 3 {
						err = errors.Join(err, d.servers.Acknowledge(is))
					}
				case "eight messages":
					for range 8 {
						err = errors.Join(err, d.servers.Unreachable(is))
					}
				case "both":
					_, err = d.downloads.Arrived(time.Now(), outage)
				}
				if err != nil {
					t.Fatal(err)
				}
				d.more(is.Next)
				t.Logf("outage of %s, all acknowledged %t, %s: silent for %s after it",
					outage, acknowledged, kind, time.Since(back).Round(time.Millisecond))
				d.end()
			}
		}
	}
}

// On a link that takes nothing, acknowledgments fill the socket's buffer: then they are refused, and nobody waits.
func TestAcknowledgmentsDoNotWaitForTheLink(t *testing.T) {
	d := newDownloading(t)
	const stopped = "root tbf rate 8bit burst 2000 limit 10000000"
	d.run("tc qdisc add dev phone " + stopped)
	// More than a buffer: of each packet some 700 bytes count, of 212,992 by Linux' default.
	const many = 2000
	for _, ends := range [][2]string{{phoneIP, serverIP}, {phoneIP6, serverIP6}} {
		download := arrival.Download{
			Local:  netip.AddrPortFrom(netip.MustParseAddr(ends[0]), 1),
			Remote: netip.AddrPortFrom(netip.MustParseAddr(ends[1]), 1),
		}
		refused := make(chan error)
		go func() {
			var err error
			for i := 0; err == nil && i < many; i++ {
				err = d.servers.Acknowledge(download)
			}
			refused <- err
		}()
		select {
		case err := <-refused:
			if !errors.Is(err, unix.EAGAIN) {
				t.Errorf("%s: %v", ends[0], err)
			}
		case <-time.After(timeout):
			t.Fatalf("%s: an acknowledgment waits for the link", ends[0])
		}
	}
}
