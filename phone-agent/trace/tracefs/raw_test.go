// SPDX-License-Identifier: Apache-2.0

package tracefs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/trace/ring"
	"github.com/airbound/airbound/phone-agent/trace/ring/ringtest"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
	"github.com/airbound/airbound/phone-agent/trace/tracefs/tracefstest"
)

var issue = ringtest.NewLayout("block_rq_issue", 12, ringtest.Field{Name: "dev", Type: "dev_t", Size: 4})

func rawKernel(t *testing.T) (*tracefstest.Kernel, tracefs.Root) {
	t.Helper()
	kernel, root := newKernel(t)
	if err := kernel.AddEvent("block", "block_rq_issue", issue.Text); err != nil {
		t.Fatal(err)
	}
	return kernel, root
}

func rawConfig() tracefs.RawConfig {
	return tracefs.RawConfig{
		PID: pid, BufferKiB: 64, Every: time.Millisecond,
		Events: []tracefs.Event{
			{System: "block", Name: "block_rq_issue", Filter: tracefs.FilterDevices([]uint32{7, 8})},
		},
	}
}

func startRaw(t *testing.T, root tracefs.Root) *tracefs.Raw {
	t.Helper()
	raw, err := root.StartRaw(rawConfig())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// page has one event at that time, of a device.
func page(timeNS, device uint64) []byte {
	p := ringtest.NewPage(timeNS)
	p.Add(timeNS, issue.Data(map[string]any{"dev": device}))
	return p.Bytes(0)
}

func TestARawRecording(t *testing.T) {
	t.Parallel()
	kernel, root := rawKernel(t)
	raw := startRaw(t, root)
	for file, want := range map[string]string{
		"trace_clock": "mono", "buffer_size_kb": "64", "tracing_on": "1", "events/block/block_rq_issue/enable": "1",
		"events/block/block_rq_issue/filter":           "dev == 7 || dev == 8",
		"events/tcp_monitor/tcp_monitor_window/enable": "0\n",
	} {
		text, err := os.ReadFile(filepath.Join(kernel.Path, "instances", name, file))
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if err := errors.Join(kernel.WritePage(name, 0, page(2, 20)), kernel.WritePage(name, 1, page(1, 10)),
		kernel.WritePage(name, 1, page(3, 30))); err != nil {
		t.Fatal(err)
	}
	var devices []byte
	for ticked := false; !ticked; {
		events, err := raw.Read()
		if err != nil || len(events) == 0 {
			t.Fatalf("%+v, %v", events, err)
		}
		for _, event := range events {
			if ticked = event.Kind == ring.Now; !ticked {
				devices = append(devices, event.Data[8])
			}
		}
	}
	if string(devices) != "\x0a\x14\x1e" {
		t.Errorf("%v", devices)
	}
	if err := errors.Join(raw.Stop(), kernel.WritePage(name, 0, page(4, 40))); err != nil {
		t.Fatal(err)
	}
	if events, err := raw.Drain(); err != nil || len(events) != 1 || events[0].Data[8] != 40 {
		t.Errorf("%+v, %v", events, err)
	}
	if events, err := raw.Drain(); err != nil || events != nil {
		t.Errorf("%+v, %v", events, err)
	}
	if err := raw.Remove(); err != nil {
		t.Fatal(err)
	}
	if names := instances(t, kernel); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	raw.Interrupt() // comes too late and does no harm
	if there, err := raw.Next(0, make([]byte, 4096)); there || !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v, %v", there, err)
	}
}

func TestLossesOfWhichAPageHasNoNumberAreCounted(t *testing.T) {
	t.Parallel()
	kernel, root := rawKernel(t)
	kernel.Dropped = 3
	raw := startRaw(t, root)
	full := ringtest.NewPage(4)
	for full.Add(4, issue.Data(map[string]any{"dev": uint64(40)})) {
	}
	last := ringtest.NewPage(5)
	last.Add(5, issue.Data(map[string]any{"dev": uint64(50)}))
	// Of the 7 that the kernel overwrote 2 are reported by number, and the first full page reports at least 1.
	if err := errors.Join(raw.Stop(), kernel.WritePage(name, 0, full.Bytes(5)),
		kernel.WritePage(name, 0, last.Bytes(2))); err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	for {
		events, err := raw.Drain()
		if err != nil {
			t.Fatal(err)
		}
		if events == nil {
			break
		}
		for _, event := range events {
			if event.Kind == ring.Lost {
				lost += event.Times
			}
		}
	}
	if unreported, err := raw.LostUnreported(); err != nil || lost != 1+2 || unreported != 7-(1+2)+3 {
		t.Errorf("%d, then %d, %v", lost, unreported, err)
	}
	if err := raw.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestAnInterruptEndsARawRead(t *testing.T) {
	t.Parallel()
	_, root := rawKernel(t)
	raw := startRaw(t, root)
	done := make(chan error)
	go func() {
		for {
			events, err := raw.Read()
			if events == nil {
				done <- err
				return
			}
		}
	}()
	raw.Interrupt()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := raw.Remove(); err != nil {
		t.Fatal(err)
	}
}

func TestARawRecordingThatCannotStartLeavesNothing(t *testing.T) {
	t.Parallel()
	for without, message := range map[string]string{
		"trace_pipe_raw":                     "no per_cpu/cpu*/trace_pipe_raw",
		"events/block/block_rq_issue/enable": "set events/block/block_rq_issue/enable",
		"trace_clock":                        "set trace_clock",
	} {
		kernel, root := rawKernel(t)
		kernel.Without = without
		if _, err := root.StartRaw(rawConfig()); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("without %s: %v", without, err)
		}
		if names := instances(t, kernel); len(names) != 0 {
			t.Errorf("without %s: left %v", without, names)
		}
	}
	kernel, root := rawKernel(t)
	header := filepath.Join(kernel.Path, "events", "header_page")
	for _, text := range []string{"", "nonsense"} {
		if err := os.WriteFile(header, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		const message = "read the layout of a page"
		if _, err := root.StartRaw(rawConfig()); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.Remove(header); err != nil {
		t.Fatal(err)
	}
	if _, err := root.StartRaw(rawConfig()); !errors.Is(err, fs.ErrNotExist) || len(instances(t, kernel)) != 0 {
		t.Errorf("%v", err)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	kernel, root := rawKernel(t)
	if format, err := root.Format("block", "block_rq_issue"); err != nil || format.ID != 12 {
		t.Errorf("%+v, %v", format, err)
	}
	_, err := root.Format("f2fs", "f2fs_sync_file_enter")
	if !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "the kernel has no trace event f2fs_sync_file_enter") {
		t.Error(err)
	}
	format := filepath.Join(kernel.Path, "events", "block", "block_rq_issue", "format")
	if err := errors.Join(os.Remove(format), os.Mkdir(format, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Format("block", "block_rq_issue"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestTracefsWithoutTheMonitorsEvents(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	if err := os.Mkdir(filepath.Join(place, "instances"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := tracefs.Mounted([]string{place}, tracefs.RealKernel()); err != nil {
		t.Error(err)
	}
	if _, err := tracefs.Find([]string{place}, tracefs.RealKernel()); err == nil {
		t.Error("has the monitor's events")
	}
	if got := tracefs.FilterDevices(nil); got != "" {
		t.Error(got)
	}
}
