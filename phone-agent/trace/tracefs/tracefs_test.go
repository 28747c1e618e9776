// SPDX-License-Identifier: Apache-2.0

package tracefs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/trace/tracefs"
	"github.com/airbound/airbound/phone-agent/trace/tracefs/tracefstest"
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
		text, err := os.ReadFile(filepath.Join(kernel.Path, "instances", name, file))
		if err != nil || string(text) != want {
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
	var path *os.PathError
	if text, err := instance.Drain(); text != nil || !errors.Is(err, os.ErrClosed) || !errors.As(err, &path) ||
		path.Op != "read" || path.Path != filepath.Join(kernel.Path, "instances", name, "trace_pipe") {
		t.Errorf("after the end: %q, %v", text, err)
	}
}

func TestWhatAnotherTracerHasSetIsNotTakenOver(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	kernel.Options = map[string]string{
		"overwrite":      "0",
		"context-info":   "0",
		"raw":            "1",
		"hex":            "1",
		"bin":            "1",
		"verbose":        "1",
		"latency-format": "1",
		"block":          "1",
		"stacktrace":     "1",
		"userstacktrace": "1",
		"fields":         "1",
		"record-tgid":    "1",
	}
	instance := start(t, root)
	options := filepath.Join(kernel.Path, "instances", name, "options")
	for option, other := range kernel.Options {
		want := map[string]string{"1": "0", "0": "1"}[other]
		if option == "record-tgid" {
			want = other + "\n" // no harm
		}
		if text, err := os.ReadFile(filepath.Join(options, option)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", option, text, err)
		}
	}
	happen(t, kernel, "tcp_monitor_window", mine)
	if got, want := drained(t, instance), []string{"tcp_monitor_window: " + mine}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestLossesThatTheTextDoesNotReport(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	kernel.Dropped = 3
	instance := start(t, root)
	// What was overwritten (overrun) is reported in the text.
	if lost, err := instance.LostUnreported(); err != nil || lost != 3 {
		t.Errorf("%d, %v", lost, err)
	}
	stats := filepath.Join(kernel.Path, "instances", name, "per_cpu/cpu0/stats")
	for text, message := range map[string]string{
		"commit overrun: many\n": "per_cpu/cpu0/stats: commit overrun: ", "": "",
	} {
		if err := os.WriteFile(stats, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if lost, err := instance.LostUnreported(); lost != 0 || (err == nil) != (message == "") ||
			(err != nil && !strings.Contains(err.Error(), message)) {
			t.Errorf("%q: %d, %v", text, lost, err)
		}
	}
	if err := os.Remove(stats); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.LostUnreported(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestTwoProcessesOfTheSameNumber(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	first, second := start(t, root), start(t, root)
	if got := instances(t, kernel); !slices.Equal(got, []string{name, name + "-1"}) {
		t.Errorf("%v", got)
	}
	happen(t, kernel, "tcp_monitor_window", mine)
	for _, instance := range []*tracefs.Instance{first, second} {
		if got := drained(t, instance); len(got) != 1 {
			t.Errorf("%q", got)
		}
	}
	if err := errors.Join(first.Remove(), second.Remove()); err != nil {
		t.Fatal(err)
	}
}

func TestEightProcessesOfTheSameNumberAreEnough(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	for range 8 {
		started := start(t, root)
		t.Cleanup(func() {
			if err := started.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := root.Start(tracefs.Config{PID: pid}); !errors.Is(err, os.ErrExist) || len(instances(t, kernel)) != 8 {
		t.Errorf("a ninth: %v", err)
	}
}

func TestAnInstanceThatCannotBeRemovedRecordsNothing(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	instance := start(t, root)
	path := filepath.Join(kernel.Path, "instances", name)
	other, err := os.OpenFile(filepath.Join(path, "trace_pipe"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.Remove(); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("%v", err)
	}
	for _, file := range []string{
		"tracing_on", "events/tcp_monitor/tcp_monitor_window/enable", "events/tcp_monitor/tcp_monitor_event/enable",
	} {
		if text, err := os.ReadFile(filepath.Join(path, file)); err != nil || string(text) != "0" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestOnlyWindowChangesWithWhichAConnectionMayBeginToSend(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	instance, err := root.Start(tracefs.Config{PID: pid, Netns: 4026531840, StartsOnly: true, BufferKiB: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		what    string
		payload string
		passes  bool
	}{
		{"first window", "cwnd_segs=10 ssthresh_segs=2147483647 unacked_bytes=0", true},
		{"first window, with an earlier connection's threshold", "cwnd_segs=10 ssthresh_segs=30 unacked_bytes=0", true},
		{"first acknowledgement", "cwnd_segs=20 ssthresh_segs=2147483647 unacked_bytes=14480", true},
		{"later", "cwnd_segs=21 ssthresh_segs=2147483647 unacked_bytes=28960", false},
		{"after a loss", "cwnd_segs=11 ssthresh_segs=10 unacked_bytes=14480", false},
		{"after an idle time", "cwnd_segs=10 ssthresh_segs=40 unacked_bytes=0", true},
	} {
		happen(t, kernel, "tcp_monitor_window", mine+" "+change.payload)
		happen(t, kernel, "tcp_monitor_window", others+" "+change.payload)
		if got := drained(t, instance); (len(got) == 1) != change.passes || len(got) > 1 {
			t.Errorf("%s: %q", change.what, got)
		}
	}
	happen(t, kernel, "tcp_monitor_event", mine+" event=timeout cwnd_segs=1 ssthresh_segs=2147483647 unacked_bytes=0")
	if got := drained(t, instance); len(got) != 0 {
		t.Errorf("events: %q", got)
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

// TestASignalDoesNotEndTheWait sends one that Go's runtime ignores to the thread that waits in poll(2).
func TestASignalDoesNotEndTheWait(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	instance := start(t, root)
	threads := make(chan int, 1)
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		threads <- unix.Gettid()
		text, err := instance.Read()
		if err == nil && !strings.Contains(string(text), mine) {
			err = fmt.Errorf("read %q", text)
		}
		ended <- err
	}()
	thread := <-threads
	for range 3 {
		waitForPoll(t, thread)
		if err := unix.Tgkill(os.Getpid(), thread, unix.SIGURG); err != nil {
			t.Fatal(err)
		}
	}
	waitForPoll(t, thread)
	happen(t, kernel, "tcp_monitor_window", mine)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := instance.Remove(); err != nil {
		t.Fatal(err)
	}
}

// waitForPoll waits until a thread of this process is in poll(2), where it must stay for any time.
func waitForPoll(t *testing.T, thread int) {
	t.Helper()
	for range 3000 {
		call, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", thread))
		if err != nil {
			t.Fatal(err)
		}
		// The number of the system call and its arguments; poll has milliseconds, ppoll the address of a timespec.
		words := append(strings.Fields(string(call)), "")
		const poll = "7" // of x86-64; later architectures have ppoll only
		ppoll := strconv.Itoa(unix.SYS_PPOLL)
		switch {
		case words[0] == ppoll && words[3] == "0x0", words[0] == poll && strings.HasSuffix(words[3], "ffffffff"):
			return
		case words[0] == ppoll, words[0] == poll:
			t.Fatalf("waits in poll(2) for some time only: %s", call)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the thread never waits in poll(2)")
}

func TestAPipeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	kernel.Unreadable = true
	instance := start(t, root)
	for name, read := range map[string]func() ([]byte, error){"read": instance.Read, "drain": instance.Drain} {
		if text, err := read(); text != nil || !errors.Is(err, syscall.EISDIR) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
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
	// The only writer closes: poll(2) reports that for ever, and a reader that ignored it would spin.
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
	for _, left := range []string{"airbound-70", "airbound-70-1", "airbound-71", name, "airbound-x", "mine"} {
		if err := calls.Mkdir(filepath.Join(kernel.Path, "instances", left)); err != nil {
			t.Fatal(err)
		}
	}
	kernel.Living = []int{71, pid}
	removed, err := root.CleanUp(pid)
	if err != nil || removed != 3 {
		t.Errorf("%d, %v", removed, err)
	}
	// Kept: that of a process that exists, and those of other programs. Our own PID was that of a process before us.
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
	for _, without := range []string{
		"tracing_on", "trace_clock", "buffer_size_kb", "events/tcp_monitor/tcp_monitor_event/enable", "trace_pipe",
	} {
		t.Run(without, func(t *testing.T) {
			t.Parallel()
			kernel, root := newKernel(t)
			kernel.Without = without
			want := "set " + without + " to "
			if without == "trace_pipe" {
				want = "open " + filepath.Join(kernel.Path, "instances", name, without)
			}
			_, err := root.Start(tracefs.Config{PID: pid})
			if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if got := instances(t, kernel); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
		})
	}
}

func TestASettingThatTheKernelRefusesEndsTheStart(t *testing.T) {
	t.Parallel()
	kernel, root := newKernel(t)
	kernel.Full = "buffer_size_kb" // as for a buffer larger than the memory
	_, err := root.Start(tracefs.Config{PID: pid, BufferKiB: 64})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), `set buffer_size_kb to "64": `) {
		t.Errorf("%v", err)
	}
	if got := instances(t, kernel); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// Not parallel: the limit is that of the whole process.
func TestAStartThatFindsNoDescriptorForItsInterruptLeavesNothingOpen(t *testing.T) { //nolint:paralleltest // see above
	kernel, root := newKernel(t)
	if err := start(t, root).Remove(); err != nil { // What the runtime opens once is open now.
		t.Fatal(err)
	}
	free, err := unix.Open("/", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Close(free); err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	one := unix.Rlimit{Cur: uint64(free) + 1, Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &one); err != nil {
		t.Fatal(err)
	}
	_, err = root.Start(tracefs.Config{PID: pid})
	if restoreErr := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); restoreErr != nil {
		t.Fatal(restoreErr)
	}
	if !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), "make an eventfd: ") {
		t.Errorf("%v", err)
	}
	// To remove the directory the fake kernel needs a descriptor as well. It would refuse now if the pipe were open.
	if err := kernel.Real().Rmdir(filepath.Join(kernel.Path, "instances", name)); err != nil {
		t.Error(err)
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

func TestTheErrorWithoutTracingNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	kernel := tracefs.RealKernel()
	if _, err := tracefs.Find([]string{"/nowhere", "/nowhere/else"}, kernel); err == nil ||
		!strings.Contains(
			err.Error(),
			"no tracefs at /nowhere or /nowhere/else; mount it with: mount -t tracefs tracefs /nowhere",
		) {
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

// Not parallel: between fork and exec a child has every descriptor of this process, and an instance whose pipe somebody
// has open is busy.
func TestTheRealKernelReportsWhichProcessesExist(t *testing.T) { //nolint:paralleltest // see above
	kernel := tracefs.RealKernel()
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if !kernel.Alive(os.Getpid()) || kernel.Alive(1<<30) || kernel.Alive(other.Process.Pid) {
		t.Error("wrong about this process, about one that cannot be, or about one of another program")
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	directory := filepath.Join(t.TempDir(), "instance")
	if err := kernel.Mkdir(directory); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := kernel.Rmdir(directory); err != nil {
		t.Error(err)
	}
	if err := kernel.Rmdir(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
