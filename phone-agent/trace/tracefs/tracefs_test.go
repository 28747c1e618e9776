// SPDX-License-Identifier: Apache-2.0

package tracefs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"airbound/phone-agent/trace/tracefs"
	"airbound/phone-agent/trace/tracefs/tracefstest"
)

const (
	pid    = 77
	name   = "airbound-77"
	mine   = "netns=4026531840 cookie=7 uid=10073"
	others = "netns=4026532000 cookie=8 uid=10073"
)

func newKernel(t *testing.T) (*tracefstest.Kernel, tracefs.Root) {
	t.Helper()
	kernel, err := tracefstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tracefs.Find([]string{"/nowhere", kernel.Path}, kernel.Real())
	if err != nil {
		t.Fatal(err)
	}
	return kernel, root
}

func start(t *testing.T, root tracefs.Root) *tracefs.Instance {
	t.Helper()
	instance, err := root.Start(tracefs.Config{PID: pid, Netns: 4026531840, BufferKiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	return instance
}

func happen(t *testing.T, kernel *tracefstest.Kernel, event, payload string) {
	t.Helper()
	if err := kernel.Happen(event, payload); err != nil {
		t.Fatal(err)
	}
}

// drained gives everything that is left, without its prefixes.
func drained(t *testing.T, instance *tracefs.Instance) []string {
	t.Helper()
	var text strings.Builder
	for {
		piece, err := instance.Drain()
		if err != nil {
			t.Fatal(err)
		}
		if piece == nil {
			break
		}
		text.Write(piece)
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		_, payload, _ := strings.Cut(line, "12.345678: ")
		lines = append(lines, strings.TrimSpace(payload))
	}
	return lines
}

func instances(t *testing.T, kernel *tracefstest.Kernel) []string {
	t.Helper()
	names, err := kernel.Instances()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestARecordingIsOfItsOwnNamespaceAndEndsWithNothingLeft(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	happen(t, kernel, "tcp_monitor_window", mine)
	instance := start(t, root)
	for file, want := range map[string]string{"trace_clock": "mono", "buffer_size_kb": "64", "tracing_on": "1"} {
		if text, err := os.ReadFile(filepath.Join(kernel.Path, "instances", name, file)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	happen(t, kernel, "tcp_monitor_window", mine)
	happen(t, kernel, "tcp_monitor_window", others)
	happen(t, kernel, "tcp_monitor_event", "event=timeout "+mine)
	if text, err := instance.Read(); err != nil || !strings.Contains(string(text), mine) {
		t.Fatalf("%q, %v", text, err)
	}
	happen(t, kernel, "tcp_monitor_window", mine+" again")
	if err := instance.Stop(); err != nil {
		t.Fatal(err)
	}
	happen(t, kernel, "tcp_monitor_window", mine+" too late")
	if got, want := drained(t, instance), []string{"tcp_monitor_window: " + mine + " again"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
	if names := instances(t, kernel); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	instance.Interrupt() // comes too late and does no harm
}

func TestARecordingOfOneUser(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	uid := uint32(10074)
	instance, err := root.Start(tracefs.Config{PID: pid, Netns: 4026531840, UID: &uid, BufferKiB: 8})
	if err != nil {
		t.Fatal(err)
	}
	happen(t, kernel, "tcp_monitor_window", mine)
	happen(t, kernel, "tcp_monitor_window", strings.Replace(mine, "10073", "10074", 1))
	if got := drained(t, instance); len(got) != 1 || !strings.Contains(got[0], "uid=10074") {
		t.Errorf("%q", got)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestAReaderThatWaitsIsWokenByTextAndByInterrupt(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	instance := start(t, root)
	texts := make(chan string)
	go func() {
		defer close(texts)
		for {
			text, err := instance.Read()
			if text == nil || err != nil {
				return
			}
			texts <- string(text)
		}
	}()
	for range 3 {
		happen(t, kernel, "tcp_monitor_window", mine)
		select {
		case text := <-texts:
			if !strings.Contains(text, mine) {
				t.Errorf("%q", text)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("never woken by text")
		}
	}
	instance.Interrupt()
	select {
	case text, open := <-texts:
		if open {
			t.Errorf("%q", text)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("never woken by Interrupt")
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestAPipeThatCloses(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	instance := start(t, root)
	happen(t, kernel, "tcp_monitor_window", mine)
	if text, err := instance.Read(); err != nil || text == nil {
		t.Fatalf("%q, %v", text, err)
	}
	// The only writer goes: poll(2) says so for ever, and a reader that did not look would spin.
	if err := kernel.HangUp(name); err != nil {
		t.Fatal(err)
	}
	if text, err := instance.Read(); err == nil || !strings.Contains(err.Error(), "closed by the kernel") {
		t.Errorf("%q, %v", text, err)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAKilledRecordingLeftIsRemoved(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	calls := kernel.Real()
	for _, left := range []string{"airbound-70", "airbound-71", name, "airbound-x", "mine"} {
		if err := calls.Mkdir(filepath.Join(kernel.Path, "instances", left)); err != nil {
			t.Fatal(err)
		}
	}
	kernel.Living = []int{71, pid}
	removed, err := root.CleanUp(pid)
	if err != nil || removed != 2 {
		t.Errorf("%d, %v", removed, err)
	}
	// Of a process that lives, of somebody else; our own number was that of a process before us.
	if got := instances(t, kernel); !slices.Equal(got, []string{"airbound-71", "airbound-x", "mine"}) {
		t.Errorf("%v", got)
	}
}

func TestAnInstanceThatSomebodyReadsStays(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	instance := start(t, root)
	// In another namespace of processes the reader's number is that of nobody.
	if removed, err := root.CleanUp(1); err != nil || removed != 0 {
		t.Errorf("%d, %v", removed, err)
	}
	if got := instances(t, kernel); !slices.Equal(got, []string{name}) {
		t.Errorf("%v", got)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestAStartThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"tracing_on", "trace_clock", "buffer_size_kb", "events/tcp_monitor/tcp_monitor_event/enable"} {
		t.Run(without, func(t *testing.T) {
			t.Parallel()
			kernel, root := newKernel(t)
			kernel.Without = without
			_, err := root.Start(tracefs.Config{PID: pid})
			if err == nil || !strings.Contains(err.Error(), "set "+without+" to ") {
				t.Errorf("%v", err)
			}
			if got := instances(t, kernel); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
		})
	}
}

func TestAStartThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	kernel.MkdirError = syscall.EACCES
	if _, err := root.Start(tracefs.Config{PID: pid}); !errors.Is(err, syscall.EACCES) {
		t.Errorf("%v", err)
	}
}

func TestAMachineWithoutTracingSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	kernel := tracefs.RealKernel()
	if _, err := tracefs.Find([]string{"/nowhere", "/nowhere/else"}, kernel); err == nil ||
		!strings.Contains(err.Error(), "no tracefs at /nowhere or /nowhere/else; mount it with: mount -t tracefs tracefs /nowhere") {
		t.Errorf("%v", err)
	}
	unpatched := t.TempDir()
	if err := os.Mkdir(filepath.Join(unpatched, "instances"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := tracefs.Find([]string{unpatched}, kernel); err == nil ||
		!strings.Contains(err.Error(), "the kernel has no trace event tcp_monitor_window: it lacks Airbound's series") {
		t.Errorf("%v", err)
	}
}

func TestTheRealKernelKnowsWhoLives(t *testing.T) {
	t.Parallel()
	kernel := tracefs.RealKernel()
	if !kernel.Alive(os.Getpid()) || kernel.Alive(1<<30) {
		t.Error("wrong about this process, or about one that cannot be")
	}
	directory := filepath.Join(t.TempDir(), "instance")
	if err := errors.Join(kernel.Mkdir(directory), kernel.Rmdir(directory)); err != nil {
		t.Error(err)
	}
	if err := kernel.Rmdir(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
