// SPDX-License-Identifier: Apache-2.0

package starts_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/trace/starts"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
	"github.com/airbound/airbound/phone-agent/trace/tracefs/tracefstest"
)

const (
	pid, netns = 77, 4026531840
	timeout    = 30 * time.Second
	first      = "netns=4026531840 cookie=7 cwnd_segs=10 ssthresh_segs=2147483647 unacked_bytes=0"
)

type watched struct {
	t      *testing.T
	kernel *tracefstest.Kernel
	// Each pause after a notice; closing the channel ends it.
	pauses chan chan time.Time
	*starts.Watch
}

func watch(t *testing.T) watched {
	t.Helper()
	kernel, err := tracefstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tracefs.Find([]string{kernel.Path}, kernel.Real())
	if err != nil {
		t.Fatal(err)
	}
	pauses := make(chan chan time.Time, 1)
	started, err := starts.Start(root, pid, netns, func() <-chan time.Time {
		pause := make(chan time.Time)
		pauses <- pause
		return pause
	})
	if err != nil {
		t.Fatal(err)
	}
	return watched{t, kernel, pauses, started}
}

func (w watched) happen(payload string) {
	w.t.Helper()
	if err := w.kernel.Happen("tcp_monitor_window", payload); err != nil {
		w.t.Error(err)
	}
}

// awaitSeen waits for a notice, and returns the pause that it begins.
func (w watched) awaitSeen() chan time.Time {
	w.t.Helper()
	select {
	case <-w.Seen():
		return <-w.pauses
	case err := <-w.Failed():
		w.t.Fatal(err)
	case <-time.After(timeout):
		w.t.Fatal("nothing seen")
	}
	return nil
}

func (w watched) nothingSeen(when string) {
	w.t.Helper()
	select {
	case <-w.Seen():
		w.t.Error("seen " + when)
	default:
	}
}

func (w watched) close() {
	w.t.Helper()
	if err := w.Close(); err != nil {
		w.t.Error(err)
	}
	if names, err := w.kernel.Instances(); err != nil || len(names) != 0 {
		w.t.Errorf("left: %v, %v", names, err)
	}
}

func TestEachStartIsSeen(t *testing.T) {
	t.Parallel()
	w := watch(t)
	for range 5 {
		w.happen(first)
		close(w.awaitSeen())
	}
	w.close()
	w.nothingSeen("more often than it happened")
}

func TestWhatHappensInAPauseIsOneNoticeAtItsEnd(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.happen(first)
	pause := w.awaitSeen()
	for range 100 {
		w.happen(first)
	}
	w.nothingSeen("in a pause")
	close(pause)
	close(w.awaitSeen())
	w.close()
	w.nothingSeen("twice")
}

// TestNoStartIsLost has connections begin to send at any moment of the watch's own. What happens last, in a pause, must
// be seen whatever was read or noticed before.
func TestNoStartIsLost(t *testing.T) {
	t.Parallel()
	w := watch(t)
	for range 50 {
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for range 5 {
					w.happen(first)
				}
			})
		}
		close(w.awaitSeen()) // of some of them
		senders.Wait()
		w.happen(first)
		pause := w.awaitSeen()
		w.happen(first)
		close(pause)
		close(w.awaitSeen())
	}
	w.close()
}

func TestAWatchEndsInAPauseAndWithANoticeThatNobodyTook(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.happen(first)
	close(<-w.pauses)
	w.happen(first)
	<-w.pauses
	w.close()
}

func TestAPipeThatFailsIsReportedOnce(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.happen(first)
	close(w.awaitSeen())
	if err := w.kernel.HangUp("airbound-77"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-w.Failed():
		if !strings.Contains(err.Error(), "wait for trace events: ") || !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	case <-time.After(timeout):
		t.Fatal("no error")
	}
	w.close()
}

func TestWithoutAnInstanceThereIsNoWatch(t *testing.T) {
	t.Parallel()
	kernel, err := tracefstest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kernel.Without = "trace_pipe"
	root, err := tracefs.Find([]string{kernel.Path}, kernel.Real())
	if err != nil {
		t.Fatal(err)
	}
	if w, err := starts.Start(root, pid, netns, nil); w != nil || err == nil {
		t.Errorf("%v, %v", w, err)
	}
	if names, err := kernel.Instances(); err != nil || len(names) != 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}
