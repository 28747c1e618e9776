// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/trace"
	"github.com/airbound/airbound/phone-agent/trace/recording"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
	"github.com/airbound/airbound/phone-agent/trace/tracefs/tracefstest"
)

const (
	name    = "airbound-77"
	timeout = 30 * time.Second
	payload = "netns=4026531840 cookie=7 local=10.0.0.2:5001 remote=10.0.9.1:443 uid=10073 ca_state=open " +
		"cwnd_segs=10 " +
		"ssthresh_segs=2147483647 bound_min_segs=0 bound_max_segs=0 in_flight_segs=0 srtt_us=0 " +
		"last_rtt_us=0 min_rtt_us=0 " +
		"unsent_bytes=0 unacked_bytes=0"
)

// output collects what was flushed. While it is stuck, a write blocks; reached then gets a value.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
	err   error
	stuck chan struct{}

	reached chan struct{}
}

func (o *output) Write(text []byte) (int, error) {
	if o.stuck != nil {
		select {
		case o.reached <- struct{}{}:
		default:
		}
		<-o.stuck
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	return o.text.Write(text)
}

func (o *output) lines() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return strings.Count(o.text.String(), "\n")
}

func begin(t *testing.T, out *output, readAtEnd bool) (*tracefstest.Kernel, *recording.Recording[byte]) {
	t.Helper()
	kernel, err := tracefstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tracefs.Find([]string{kernel.Path}, kernel.Real())
	if err != nil {
		t.Fatal(err)
	}
	kernel.Dropped = 2
	instance, err := root.Start(tracefs.Config{PID: 77, Netns: 4026531840, BufferKiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	buffer := bufio.NewWriter(out)
	recorder := &trace.Recorder{Out: trace.NewJSON(buffer)}
	return kernel, &recording.Recording[byte]{
		Instance:  instance,
		Recorder:  recorder,
		Flush:     buffer.Flush,
		ReadAtEnd: readAtEnd,
	}
}

func happen(t *testing.T, kernel *tracefstest.Kernel) {
	t.Helper()
	if err := kernel.Happen("tcp_monitor_window", payload); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

// running starts Run; what it returns comes from the channel.
func running(ctx context.Context, r *recording.Recording[byte], abandon <-chan struct{}) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, abandon) }()
	return done
}

func ended(t *testing.T, kernel *tracefstest.Kernel, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		if names, listErr := kernel.Instances(); listErr != nil || len(names) != 0 {
			t.Errorf("left: %v, %v", names, listErr)
		}
		return err
	case <-time.After(timeout):
		t.Fatal("does not end")
		return nil
	}
}

func TestRecordsComeWhileItRunsAndAreAllThereAtTheEnd(t *testing.T) {
	t.Parallel()
	var out output
	kernel, r := begin(t, &out, false)
	ctx, cancel := context.WithCancel(t.Context())
	done := running(ctx, r, nil)
	for i := range 3 {
		happen(t, kernel)
		eventually(t, "a record while it runs", func() bool { return out.lines() == i+1 })
	}
	cancel()
	if err := ended(t, kernel, done); err != nil {
		t.Error(err)
	}
	recorder, _ := r.Recorder.(*trace.Recorder)
	if counts := recorder.Counts; counts.Records != 3 || counts.Lost != 2 || out.lines() != 4 {
		t.Errorf("%+v, %d lines", counts, out.lines())
	}
}

// Not parallel: another test's recording waits in the same functions.
func TestReadAtEndReadsNothingBefore(t *testing.T) { //nolint:paralleltest // see above
	var out output
	kernel, r := begin(t, &out, true)
	ctx, cancel := context.WithCancel(t.Context())
	done := running(ctx, r, nil)
	for range 3 {
		happen(t, kernel)
	}
	eventually(t, "it waits for the end and for nothing else", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		const waits = `goroutine \d+ \[chan receive[^\]]*\]:\n\S*recording\.\(\*Recording\[\.\.\.\]\)\.follow\(`
		return regexp.MustCompile(waits).Match(stacks)
	})
	if out.lines() != 0 {
		t.Error("read before the end")
	}
	cancel()
	if err := ended(t, kernel, done); err != nil || out.lines() != 4 {
		t.Errorf("%v, %d lines", err, out.lines())
	}
}

func TestAReaderThatHasSeenEnoughIsNoError(t *testing.T) {
	t.Parallel()
	out := output{err: syscall.EPIPE}
	kernel, r := begin(t, &out, false)
	done := running(t.Context(), r, nil)
	happen(t, kernel)
	if err := ended(t, kernel, done); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	out := output{err: syscall.ENOSPC}
	kernel, r := begin(t, &out, false)
	done := running(t.Context(), r, nil)
	happen(t, kernel)
	if err := ended(t, kernel, done); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

func TestADiskThatIsFullAtTheEndIsAnError(t *testing.T) {
	t.Parallel()
	out := output{err: syscall.ENOSPC}
	kernel, r := begin(t, &out, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := ended(t, kernel, running(ctx, r, nil))
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "end the recording: ") {
		t.Error(err)
	}
}

func TestAStuckOutputNeitherKeepsTheKernelRecordingNorTheProgram(t *testing.T) {
	t.Parallel()
	out := output{stuck: make(chan struct{}), reached: make(chan struct{}, 1)}
	kernel, r := begin(t, &out, false)
	ctx, cancel := context.WithCancel(t.Context())
	abandon := make(chan struct{})
	done := running(ctx, r, abandon)
	happen(t, kernel)
	// A reader that still waits for text would keep the pipe open, and so the instance.
	select {
	case <-out.reached:
	case <-time.After(timeout):
		t.Fatal("nothing was written")
	}
	cancel()
	on := filepath.Join(kernel.Path, "instances", name, "tracing_on")
	eventually(t, "the kernel stops recording", func() bool {
		text, err := os.ReadFile(on)
		return err == nil && string(text) == "0"
	})
	select {
	case err := <-done:
		t.Fatalf("ended by itself: %v", err)
	default:
	}
	close(abandon)
	if err := ended(t, kernel, done); !errors.Is(err, recording.ErrAbandoned) {
		t.Error(err)
	}
	close(out.stuck)
}
