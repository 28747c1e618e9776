// SPDX-License-Identifier: Apache-2.0

package placefile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/placefile"
)

const timeout = 30 * time.Second

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

type followed struct {
	reports chan events.Report
	refused chan error
	ended   chan error
	cancel  context.CancelFunc
}

func follow(t *testing.T, path string) followed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	made := followed{make(chan events.Report, 100), make(chan error, 100), make(chan error, 1), cancel}
	watched := make(chan struct{})
	client := placefile.New(path)
	client.Watched = func() { close(watched) }
	go func() {
		made.ended <- client.Follow(ctx, func(report events.Report) { made.reports <- report },
			func(err error) { made.refused <- err })
	}()
	t.Cleanup(cancel)
	receive(t, watched)
	return made
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(timeout):
		t.Fatal("nothing came")
		panic("never")
	}
}

func TestAFileThatIsWrittenOrReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "place")
	write(t, path, "440-10-1\n")
	got := follow(t, path)
	write(t, path, "440-10-2\n")
	if report := receive(t, got.reports); report != (events.Report{Kind: events.BaseStation, Place: "440-10-2"}) {
		t.Errorf("%+v", report)
	}
	write(t, path+".new", "440-10-3\n")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if report := receive(t, got.reports); report.Place != "440-10-3" {
		t.Errorf("%+v", report)
	}
	write(t, path, "not a place\n")
	if err := receive(t, got.refused); !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	write(t, path, "440-10-4")
	if report := receive(t, got.reports); report.Place != "440-10-4" {
		t.Errorf("%+v", report)
	}
	got.cancel()
	if err := receive(t, got.ended); err != nil || len(got.reports) > 0 {
		t.Errorf("%v, %d reports more", err, len(got.reports))
	}
}

func TestAFolderThatIsReplaced(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	path := filepath.Join(folder, "place")
	got := follow(t, path)
	fill := func(folder, place string) {
		t.Helper()
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "place"), place)
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	fill(folder+".first", "440-10-1")
	move(folder+".first", folder)
	fill(folder+".second", "440-10-2")
	move(folder, folder+".old")
	move(folder+".second", folder)
	for {
		if report := receive(t, got.reports); report.Place == "440-10-2" {
			break
		}
	}
	got.cancel()
	if err := receive(t, got.ended); err != nil {
		t.Error(err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	long, pipe := filepath.Join(folder, "long"), filepath.Join(folder, "pipe")
	write(t, long, "1\n"+strings.Repeat("x", 5000))
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{long, pipe, folder} {
		if place, err := placefile.Read(path); err == nil || place != "" || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q, %v", path, place, err)
		}
	}
	if place, err := placefile.Read(filepath.Join(folder, "none")); err != nil || place != "" {
		t.Errorf("%q, %v", place, err)
	}
}
