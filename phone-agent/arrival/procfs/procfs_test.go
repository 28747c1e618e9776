// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/arrival/procfs"
	"github.com/airbound/airbound/phone-agent/arrival/procfs/procfstest"
)

func open(t *testing.T, kernel *procfstest.Kernel) *procfs.BackEnd {
	t.Helper()
	backEnd, err := procfs.Open(kernel)
	if err != nil {
		t.Fatal(err)
	}
	return backEnd
}

func TestOpenProbesTheKernel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err       error
		supported bool
	}{
		"not patched": {&fs.PathError{Op: "open", Path: "/proc/net/tcp_retransmit", Err: syscall.ENOENT}, false},
		"not allowed": {&fs.PathError{Op: "open", Path: "/proc/net/tcp_retransmit", Err: syscall.EACCES}, true},
	} {
		_, err := procfs.Open(&procfstest.Kernel{ProbeError: test.err})
		if !errors.Is(err, test.err) || errors.Is(err, arrival.ErrNotSupported) == test.supported {
			t.Errorf("%s: %v", name, err)
		}
	}
	kernel := &procfstest.Kernel{}
	if err := open(t, kernel).Close(); err != nil || len(kernel.Transactions) != 0 {
		t.Errorf("%v, %q", err, kernel.Transactions)
	}
}

func TestRequestNamesTheOutage(t *testing.T) {
	t.Parallel()
	for outage, want := range map[time.Duration]string{
		0: "all\n", -time.Second: "all\n", time.Microsecond: "all\n", time.Millisecond: "all 1\n",
		5200 * time.Millisecond: "all 5200\n", time.Hour: "all 3600000\n", math.MaxInt64: "all 3600000\n",
	} {
		if got := string(procfs.FormatRequest(outage)); got != want {
			t.Errorf("%s: %q", outage, got)
		}
	}
}

func TestEveryConnectionThatWaitsRetransmitsOnce(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{Connections: []*procfstest.Connection{
		{}, {Retransmits: 3, Backoff: 3, LostMS: 4000}, {Retransmits: 9, Backoff: 9, LostMS: 9000},
	}}
	backEnd := open(t, kernel)
	outcome, err := backEnd.Retransmit(5 * time.Second)
	if want := (arrival.Outcome{Unanswered: 2, AtOnce: 2}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	for i, want := range []struct {
		sent     int
		returned bool
	}{{0, false}, {1, true}, {1, false}} {
		if is := kernel.Connections[i]; is.Sent != want.sent || is.WindowReturned != want.returned {
			t.Errorf("%d: %+v", i, is)
		}
	}
	if outcome, err := backEnd.Retransmit(6 * time.Second); err != nil || outcome.AtOnce != 0 {
		t.Errorf("a second time: %+v, %v", outcome, err)
	}
	kernel.Connections[1].Expire()
	if outcome, err := backEnd.Retransmit(7 * time.Second); err != nil || outcome.AtOnce != 1 {
		t.Errorf("after the timer expired: %+v, %v", outcome, err)
	}
}

func TestNothingIsWrittenIfNothingWaits(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{Connections: []*procfstest.Connection{{}}}
	if outcome, err := open(t, kernel).Retransmit(0); err != nil || outcome != (arrival.Outcome{}) {
		t.Errorf("%+v, %v", outcome, err)
	}
	if len(kernel.Transactions) != 0 {
		t.Errorf("%q", kernel.Transactions)
	}
}

func TestMoreConnectionsThanAWriteMakesRetransmit(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	for range 600 {
		kernel.Connections = append(kernel.Connections, &procfstest.Connection{Retransmits: 1, Backoff: 1})
	}
	outcome, err := open(t, kernel).Retransmit(0)
	if want := (arrival.Outcome{Unanswered: 600, AtOnce: 600}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
	if !slices.Equal(kernel.Transactions, []string{"all\n", "all\n", "all\n"}) {
		t.Errorf("%q", kernel.Transactions)
	}
}

func TestASocketThatUserSpaceOwnsIsLeftToItsTimer(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{Connections: []*procfstest.Connection{
		{Retransmits: 1, Backoff: 1, IsOwned: true}, {Retransmits: 1, Backoff: 1},
	}}
	outcome, err := open(t, kernel).Retransmit(0)
	if want := (arrival.Outcome{Unanswered: 2, AtOnce: 1}); err != nil || outcome != want {
		t.Errorf("%+v, %v, not %+v", outcome, err, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	waiting := []*procfstest.Connection{{Retransmits: 1, Backoff: 1}}
	kernel := &procfstest.Kernel{Connections: waiting, RequestError: syscall.EAGAIN}
	outcome, err := open(t, kernel).Retransmit(0)
	if !errors.Is(err, syscall.EAGAIN) || outcome != (arrival.Outcome{Unanswered: 1}) {
		t.Errorf("%+v, %v", outcome, err)
	}
	// What cannot be counted is done all the same.
	kernel = &procfstest.Kernel{Connections: waiting, TablesError: syscall.EACCES}
	if outcome, err := open(t, kernel).Retransmit(0); !errors.Is(err, syscall.EACCES) ||
		outcome != (arrival.Outcome{}) || waiting[0].Sent != 1 {
		t.Errorf("%+v, %v, %+v", outcome, err, waiting[0])
	}
}

func TestTablesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"0: 0B00000A:9C40\n": "is not a line of the kernel's connections",

		"0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:0 1\n":                             "it has 7 columns, not 13",
		"0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:x 00000001 0 0 1 2 0 24 0 0 1 7\n": `"x" is not a number`,
		"0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:1 z 0 0 1 2 0 24 0 0 1 7\n":        `"z" is not a number`,
		"0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:1 00000001 0 0 1 2 0 -1 0 0 1 7\n": `"-1" is not a number`,
	} {
		kernel := &procfstest.Kernel{Text: []byte("header\n" + line)}
		if _, err := open(t, kernel).Retransmit(0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// FuzzTables: any text is read or refused, and the request is made or nothing waits.
func FuzzTables(f *testing.F) {
	f.Add([]byte("header\n   0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:00000010 00000003 0 0 1 2 0 48 0 0 1 7\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		kernel := &procfstest.Kernel{Text: text}
		outcome, err := open(t, kernel).Retransmit(time.Second)
		asked := outcome.Unanswered > 0 || err != nil
		if outcome.AtOnce > outcome.Unanswered || asked != (len(kernel.Transactions) > 0) {
			t.Errorf("%+v, %v, %q", outcome, err, kernel.Transactions)
		}
	})
}
