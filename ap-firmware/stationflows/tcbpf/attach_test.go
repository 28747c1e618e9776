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
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/stationflows"
	"github.com/airbound/airbound/ap-firmware/stationflows/tcbpf"
)

var namespaces atomic.Uint32

func errorOf(format string, values ...any) error { return fmt.Errorf(format, values...) }

func command(tb testing.TB, arguments ...string) string {
	tb.Helper()
	out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// enterNamespace brings the test's thread, which ends with the test, to a namespace with a wlan0 and the station's end
// of it, and returns the namespace's name.
func enterNamespace(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("flows-%d-%d", os.Getpid(), namespaces.Add(1))
	command(tb, "ip", "netns", "add", name)
	tb.Cleanup(func() { command(tb, "ip", "netns", "del", name) })
	addInterfaces(tb, name)
	runtime.LockOSThread()
	file, err := os.Open("/run/netns/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		tb.Fatal(err)
	}
	return name
}

func addInterfaces(tb testing.TB, namespace string) {
	tb.Helper()
	command(tb, "ip", "-n", namespace, "link", "add", "wlan0", "type", "veth", "peer", "name", "sta0")
	command(tb, "ip", "-n", namespace, "link", "set", "wlan0", "up")
	command(tb, "ip", "-n", namespace, "link", "set", "sta0", "up")
}

// filters is what tc says of an interface.
func filters(t *testing.T, namespace, name string) string {
	t.Helper()
	return command(t, "tc", "-n", namespace, "filter", "show", "dev", name, "egress") +
		command(t, "tc", "-n", namespace, "qdisc", "show", "dev", name, "clsact")
}

// transmit sends a frame from an interface.
func transmit(t *testing.T, name string, data []byte) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(socket) }()
	err = unix.Sendto(socket, data, 0, &unix.SockaddrLinklayer{Ifindex: int(indexOf(t, name)), Halen: 6})
	if err != nil {
		t.Fatal(err)
	}
}

func indexOf(t *testing.T, name string) uint32 {
	t.Helper()
	found, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(found.Index)
}

// A packet that really leaves is seen, at the interfaces that are named, until the flows end; nothing is left then.
func TestRealPacketsAreMarked(t *testing.T) {
	for _, clsact := range []bool{false, true} {
		t.Run(fmt.Sprintf("clsact %v", clsact), func(t *testing.T) {
			namespace := enterNamespace(t)
			kernel := tcbpf.New(tcbpf.Options{AgentName: "test", Clsact: clsact})
			t.Cleanup(func() { _ = kernel.Close() })
			err := kernel.Try("wlan0")
			if err != nil || kernel.Program("wlan0") != nil || kernel.UsesClsact() != clsact {
				t.Fatal(err, kernel.Program("wlan0"))
			}
			flows := []stationflows.Flow{{Station: phone1, Address: server4}}
			deadlineUS := monotonicUS() + minuteUS
			ours := frame{station: phone1, source: server4, payload: 20}.bytes()
			total := func(want uint64) {
				t.Helper()
				if got, err := kernel.MarkedTotal("wlan0"); err != nil || got != want {
					t.Errorf("%d, not %d: %v", got, want, err)
				}
			}
			set := func(indexes ...uint32) {
				t.Helper()
				if err := kernel.Set("wlan0", indexes, flows, deadlineUS); err != nil {
					t.Fatal(err)
				}
			}
			transmit(t, "wlan0", ours)
			set()
			transmit(t, "wlan0", ours)
			transmit(t, "sta0", ours)
			transmit(t, "wlan0", frame{station: phone2, source: server4, payload: 20}.bytes())
			total(1)
			set(indexOf(t, "wlan0"), indexOf(t, "sta0"))
			transmit(t, "wlan0", ours)
			transmit(t, "sta0", ours)
			total(3)
			set(indexOf(t, "sta0"))
			transmit(t, "wlan0", ours)
			transmit(t, "sta0", ours)
			total(4)
			if got := filters(t, namespace, "sta0"); strings.Contains(got, "airbound mark test with-qdisc") != clsact {
				t.Errorf("%s", got)
			}
			if err := kernel.End("wlan0"); err != nil {
				t.Fatal(err)
			}
			transmit(t, "sta0", ours)
			total(4)
			if got := filters(t, namespace, "sta0") + filters(t, namespace, "wlan0"); got != "" {
				t.Errorf("%s", got)
			}
			set()
			transmit(t, "wlan0", ours)
			total(5)
		})
	}
}

// An interface is removed and created again, and something else removes the filters.
func TestAnInterfaceReturns(t *testing.T) {
	for _, clsact := range []bool{false, true} {
		namespace := enterNamespace(t)
		kernel := tcbpf.New(tcbpf.Options{AgentName: "test", Clsact: clsact})
		t.Cleanup(func() { _ = kernel.Close() })
		flows := []stationflows.Flow{{Station: phone1, Address: server4}}
		set := func() error { return kernel.Set("wlan0", nil, flows, monotonicUS()+minuteUS) }
		check := func(want uint64) {
			t.Helper()
			transmit(t, "wlan0", frame{station: phone1, source: server4, payload: 20}.bytes())
			if got, err := kernel.MarkedTotal("wlan0"); err != nil || got != want {
				t.Errorf("%d, not %d: %v", got, want, err)
			}
		}
		if err := set(); err != nil {
			t.Fatal(err)
		}
		check(1)
		if clsact {
			command(t, "tc", "-n", namespace, "qdisc", "del", "dev", "wlan0", "clsact")
			check(1)
			if err := set(); err != nil {
				t.Fatal(err)
			}
			check(2)
		}
		before, _ := kernel.MarkedTotal("wlan0")
		command(t, "ip", "-n", namespace, "link", "del", "wlan0")
		if err := set(); err == nil || !strings.Contains(err.Error(), "find wlan0") || kernel.Program("wlan0") != nil {
			t.Error(err)
		}
		addInterfaces(t, namespace)
		if err := set(); err != nil {
			t.Fatal(err)
		}
		check(before + 1)
	}
}

// What something else has at an interface is said, and nothing is left.
func TestWhatIsInTheWay(t *testing.T) {
	namespace := enterNamespace(t)
	command(t, "tc", "-n", namespace, "qdisc", "add", "dev", "wlan0", "ingress")
	kernel := tcbpf.New(tcbpf.Options{AgentName: "test", Clsact: true})
	want := "something else has put a qdisc of another kind there"
	if err := kernel.Try("wlan0"); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	flows := []stationflows.Flow{{Station: phone1, Address: server4}}
	if err := kernel.Set("wlan0", nil, flows, minuteUS); err == nil || !strings.Contains(err.Error(), want) ||
		kernel.Program("wlan0") != nil {
		t.Error(err)
	}
	if err := kernel.Try("none"); err == nil || !strings.Contains(err.Error(), "find none") {
		t.Error(err)
	}
}

// These capabilities are all that it takes; without one of them it says so.
func TestCapabilities(t *testing.T) {
	for name, test := range map[string]struct {
		capabilities []int
		want         string
	}{
		"both":      {[]int{unix.CAP_BPF, unix.CAP_NET_ADMIN}, ""},
		"BPF":       {[]int{unix.CAP_BPF}, "the agent needs CAP_BPF"},
		"net admin": {[]int{unix.CAP_NET_ADMIN}, "the agent needs CAP_BPF"},
	} {
		done := make(chan error)
		namespace := enterNamespace(t)
		go func() {
			runtime.LockOSThread() // The thread has these capabilities alone, and ends with the goroutine.
			done <- tryWith(namespace, test.capabilities)
		}()
		err := <-done
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func tryWith(namespace string, capabilities []int) error {
	file, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, capability := range capabilities {
		data[capability/32].Effective |= 1 << (capability % 32)
		data[capability/32].Permitted |= 1 << (capability % 32)
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	kernel := tcbpf.New(tcbpf.Options{AgentName: "weak"})
	return errors.Join(kernel.Try("wlan0"), kernel.Close())
}
