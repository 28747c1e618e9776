// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// These variables bring the windows' part of a process, and its guard, to another network namespace, and choose the way
// of attaching. The rest of the agent has a fake kernel, and a controller in the test's namespace.
const (
	namespaceVariable = "AIRBOUND_AP_TEST_NAMESPACE"
	clsactVariable    = "AIRBOUND_AP_TEST_CLSACT"
)

// enterNamespace brings the guard's only thread there.
func enterNamespace() {
	namespace := os.Getenv(namespaceVariable)
	if namespace == "" || len(os.Args) < 2 || os.Args[1] != detachName {
		return
	}
	runtime.LockOSThread()
	if err := setNamespace(namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func setNamespace(name string) error {
	file, err := os.Open("/run/netns/" + name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}

// elsewhere is the real kernel's part, called in another namespace.
type elsewhere struct {
	*tcbpf.Kernel

	namespace string
}

func loadElsewhere(options tcbpf.Options) (windowsKernel, error) {
	options.Clsact = os.Getenv(clsactVariable) != ""
	e := &elsewhere{namespace: os.Getenv(namespaceVariable)}
	err := e.there(func() (err error) {
		e.Kernel, err = tcbpf.Load(options)
		return err
	})
	return e, err
}

func (e *elsewhere) there(call func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine.
		err := setNamespace(e.namespace)
		if err == nil {
			err = call()
		}
		done <- err
	}()
	return <-done
}

func (e *elsewhere) Attach(bss string, indexes []uint32) error {
	return e.there(func() error { return e.Kernel.Attach(bss, indexes) })
}

func (e *elsewhere) Detach(bss string) error {
	return e.there(func() error { return e.Kernel.Detach(bss) })
}

func (e *elsewhere) Close() error { return e.there(e.Kernel.Close) }

func (e *elsewhere) SetLimits(bss string, limits []windows.Limit, deadlineUS int64) error {
	return e.there(func() error { return e.Kernel.SetLimits(bss, limits, deadlineUS) })
}

func runTool(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// air is a real wlan0, with the index that the fake kernel has for it, whose other end is a station.
type air struct {
	t                    *testing.T
	accessPoint, station string
}

func newAir(t *testing.T) *air {
	t.Helper()
	a := &air{t: t, accessPoint: fmt.Sprintf("airap%d", os.Getpid()), station: fmt.Sprintf("airsta%d", os.Getpid())}
	for _, name := range []string{a.accessPoint, a.station} {
		runTool(t, "ip", "netns", "add", name)
		t.Cleanup(func() { runTool(t, "ip", "netns", "del", name) })
	}
	runTool(t, "ip", "-n", a.accessPoint, "link", "add", "wlan0", "index", strconv.Itoa(indexOfWLAN0), "type", "veth",
		"peer", "name", "sta0", "netns", a.station)
	runTool(t, "ip", "-n", a.station, "link", "set", "sta0", "address", phone1.String())
	for namespace, name := range map[string]string{a.accessPoint: "wlan0", a.station: "sta0"} {
		runTool(t, "ip", "-n", namespace, "link", "set", name, "up")
	}
	runTool(t, "ip", "-n", a.accessPoint, "addr", "add", "192.0.2.1/24", "dev", "wlan0")
	runTool(t, "ip", "-n", a.station, "addr", "add", "192.0.2.2/24", "dev", "sta0")
	t.Setenv(namespaceVariable, a.accessPoint)
	return a
}

func (a *air) filters() string {
	a.t.Helper()
	return runTool(a.t, "tc", "-n", a.accessPoint, "filter", "show", "dev", "wlan0", "ingress") +
		runTool(a.t, "tc", "-n", a.accessPoint, "filter", "show", "dev", "wlan0", "egress") +
		runTool(a.t, "tc", "-n", a.accessPoint, "qdisc", "show", "dev", "wlan0", "clsact")
}

// upload sends without end and returns what the station was last offered.
func (a *air) upload() func() uint32 {
	a.t.Helper()
	var listener net.Listener
	var conn net.Conn
	in := func(namespace string, call func() error) {
		a.t.Helper()
		if err := (&elsewhere{namespace: namespace}).there(call); err != nil {
			a.t.Fatal(err)
		}
	}
	in(a.accessPoint, func() (err error) {
		listener, err = net.Listen("tcp", "192.0.2.1:0")
		return err
	})
	go func() {
		accepted, err := listener.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 64<<10)
		for err == nil {
			_, err = accepted.Read(buffer)
		}
		_ = accepted.Close()
	}()
	in(a.station, func() (err error) {
		conn, err = net.Dial("tcp", listener.Addr().String())
		return err
	})
	a.t.Cleanup(func() {
		_ = conn.Close()
		_ = listener.Close()
	})
	go func() {
		for data := make([]byte, 16<<10); ; {
			if _, err := conn.Write(data); err != nil {
				return
			}
		}
	}()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		a.t.Fatal(err)
	}
	return func() uint32 {
		offered := uint32(0)
		_ = raw.Control(func(descriptor uintptr) {
			if info, err := unix.GetsockoptTCPInfo(int(descriptor), unix.SOL_TCP, unix.TCP_INFO); err == nil {
				offered = info.Snd_wnd
			}
		})
		return offered
	}
}

func sendWindows(
	t *testing.T, stream grpc.BidiStreamingServer[request, response], generation uint64, station mac.Address,
) {
	t.Helper()
	set := &airboundv1.SetWindows{
		Generation: generation, LeaseMs: 60_000,
		Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS},
		Limits: []*airboundv1.WindowLimit{{Mac: station[:], MaxBytes: 48 << 10}},
	}
	command := &airboundv1.AccessPointCommand{Command: &airboundv1.AccessPointCommand_SetWindows{SetWindows: set}}
	if err := stream.Send(&response{Command: command}); err != nil {
		t.Fatal(err)
	}
}

// The program, really executed, with the kernel's TCP: a controller limits a station, and the agent is killed.
func TestTheProgramLimitsWindows(t *testing.T) {
	for _, how := range []string{"", "clsact"} {
		t.Run("TCX or "+how, func(t *testing.T) {
			c := newCell(t)
			there := newAir(t)
			t.Setenv(clsactVariable, how)
			c.kernel.Set(wlan0(phone1))
			process := c.startProcess("--window-clamp", "--bridge", "lo")
			stream := c.stream()
			c.awaitBSS("it can", "wlan0", func(report *airboundv1.AccessPointReport) bool {
				return report.GetWindows().GetCanSet() && report.GetDatapathId() == 0 // lo has no address of Ethernet.
			})
			offered := there.upload()
			const limited = 50 << 10
			eventually(t, "a large window", func() bool { return offered() > 3*limited })
			sendWindows(t, stream, 1, phone1)
			eventually(t, "a limited one", func() bool { return offered() <= limited })
			got := c.awaitBSS("it is reported", "wlan0", func(report *airboundv1.AccessPointReport) bool {
				state, stations := report.GetWindows(), report.GetStations()
				return state.GetGeneration() == 1 && state.GetLimitedSegmentsTotal() > 0 && len(stations) == 1 &&
					len(stations[0].GetDestinations()) == 1 &&
					stations[0].GetDestinations()[0].GetConnectionsSending() == 1
			})
			destination := got.GetStations()[0].GetDestinations()[0]
			address, _ := netip.AddrFromSlice(destination.GetAddress())
			if address.String() != "192.0.2.1" || destination.GetSrttUs() == 0 || destination.GetSentBytes() == 0 {
				t.Errorf("%v", destination)
			}
			text, _ := c.status()
			if !strings.Contains(text, "windows      generation 1, 1 limit of 1 station\n") {
				t.Errorf("%s", text)
			}
			if _, err := os.Stat(connectionsDirectory); err == nil {
				t.Log("there is a BPF file system")
			}
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = process.Wait()
			// Long before the end of the lease: the guard removes filters, and the kernel what TCX has.
			eventually(t, "nothing is left", func() bool { return there.filters() == "" })
			eventually(t, "a large window again", func() bool { return offered() > 3*limited })
		})
	}
}

func TestTheProgramEndsInOrderWithWindows(t *testing.T) {
	c := newCell(t)
	there := newAir(t)
	t.Setenv(clsactVariable, "yes")
	c.kernel.Set(wlan0(phone1))
	process := c.startProcess("--window-clamp")
	c.awaitBSS("it can", "wlan0", func(report *airboundv1.AccessPointReport) bool {
		return report.GetWindows().GetCanSet()
	})
	if got := there.filters(); !strings.Contains(got, "airbound up ") {
		t.Errorf("%s", got)
	}
	if err := process.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Error(err)
	}
	if got := there.filters(); got != "" {
		t.Errorf("%s", got)
	}
	eventually(t, "no guard", func() bool { return len(processesWith(t, detachName, "--agent")) == 0 })
}

// A kernel that cannot do it is no reason not to report.
func TestWithoutTheKernelsPartThereAreReports(t *testing.T) {
	c := newCell(t)
	c.kernel.Set(wlan0(phone1))
	t.Setenv(namespaceVariable, "no-such-namespace")
	c.startProcess("--window-clamp")
	got := c.awaitBSS("a report", "wlan0", any1)
	if got.GetWindows().GetCanSet() || !strings.Contains(got.GetWindows().GetRefusal(), "no-such-namespace") {
		t.Errorf("%v", got.GetWindows())
	}
	if text, _ := c.status(); !strings.Contains(text, "windows      cannot be limited: ") {
		t.Errorf("%s", text)
	}
}

func TestTheDatapathIsThatOfTheBridge(t *testing.T) {
	there := newAir(t)
	var found, missing uint64
	err := (&elsewhere{namespace: there.accessPoint}).there(func() error {
		link, err := net.InterfaceByName("wlan0")
		if err != nil {
			return err
		}
		found, missing = datapathID("wlan0"), datapathID("br-none")
		want := "0000" + strings.ReplaceAll(link.HardwareAddr.String(), ":", "")
		if fmt.Sprintf("%016x", found) != want {
			t.Errorf("%016x and not %s", found, want)
		}
		return nil
	})
	if err != nil || missing != 0 {
		t.Error(missing, err)
	}
	for _, bad := range []string{"a/b", "sixteen-letters-", ".."} {
		options := runOptions{bridge: bad}
		if err := options.checkBridge(); err == nil || !strings.HasPrefix(err.Error(), "--bridge ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
