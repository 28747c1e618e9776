// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/guard"
)

const timeout = 30 * time.Second

// watched is a guard in this process, with a clock that stands still.
type watched struct {
	t        *testing.T
	pipe     *io.PipeWriter
	restored atomic.Int32
	// How many of them while the agent lived.
	withAgent atomic.Int32
	// How many tries fail.
	failures atomic.Int32
	ended    chan error
}

const nowUS = int64(1_000_000_000)

func watch(t *testing.T) *watched {
	t.Helper()
	reader, writer := io.Pipe()
	w := &watched{t: t, pipe: writer, ended: make(chan error, 1)}
	restore := func(agentLives bool) error {
		if w.failures.Add(-1) >= 0 {
			return errors.New("connection reset")
		}
		w.restored.Add(1)
		if agentLives {
			w.withAgent.Add(1)
		}
		return nil
	}
	go func() {
		w.ended <- guard.Watch(
			reader, io.Discard, func() int64 { return nowUS }, restore, slog.New(slog.DiscardHandler),
		)
	}()
	return w
}

func (w *watched) send(deadlineUS int64) {
	w.t.Helper()
	if _, err := w.pipe.Write(binary.LittleEndian.AppendUint64(nil, uint64(deadlineUS))); err != nil {
		w.t.Fatal(err)
	}
}

// end waits for the end of the guard.
func (w *watched) end() error {
	w.t.Helper()
	select {
	case err := <-w.ended:
		return err
	case <-time.After(timeout):
		w.t.Fatal("the guard does not end")
		return nil
	}
}

func TestAGuardThatIsReleasedRestoresNothing(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.send(nowUS + 60_000_000)
	w.send(nowUS + 62_000_000)
	w.send(0)
	if err := w.end(); err != nil || w.restored.Load() != 0 {
		t.Errorf("%v, restored %d times", err, w.restored.Load())
	}
}

func TestTheEndOfThePipeRestores(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *watched){
		"before any deadline": func(*watched) {},
		"with a deadline":     func(w *watched) { w.send(nowUS + 60_000_000) },
		"in a message": func(w *watched) {
			if _, err := w.pipe.Write([]byte{1, 2, 3}); err != nil {
				t.Error(err)
			}
		},
		"after failures": func(w *watched) { w.failures.Store(2) },
	} {
		w := watch(t)
		end(w)
		if err := w.pipe.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.end(); err != nil || w.restored.Load() != 1 {
			t.Errorf("%s: %v, restored %d times", name, err, w.restored.Load())
		}
		if w.withAgent.Load() != 0 {
			t.Errorf("%s: would have kept the record", name)
		}
	}
}

func TestADeadlineThatPassesRestores(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.failures.Store(1)
	w.send(nowUS + 60_000_000)
	w.send(nowUS - 1_000_000) // Passed, with the agent's second of grace.
	for deadline := time.Now().Add(timeout); w.restored.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never restored")
		}
	}
	// The agent goes on: the guard has another deadline, and nothing to do before it.
	w.send(nowUS + 60_000_000)
	w.send(0)
	if err := w.end(); err != nil || w.restored.Load() != 1 {
		t.Errorf("%v, restored %d times", err, w.restored.Load())
	}
	if w.withAgent.Load() != 1 {
		t.Error("would have removed the record that an agent which goes on may have written meanwhile")
	}
}
