// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/status"
)

const secondUS = 1_000_000

func running() *status.State {
	return &status.State{
		Schema: status.Schema, Version: "1.2", PID: 42, WrittenUS: 100 * secondUS, Controller: "10.0.9.9:50051", Connected: true,
		Interface: "wlan1", MAC: "02:00:00:00:01:0a",
		BackEnd:    status.BackEnd{Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, RulesMax: 256},
		Generation: 7, Rules: []status.Rule{{Selector: "dst 10.0.4.1/32", MinSegs: 10, MaxSegs: 20}, {Selector: "all", MinSegs: 2, MaxSegs: 90}},
		Reason: "n 5, paper JB", LeaseEndsUS: 108 * secondUS,
		Counters:    status.Counters{MonitorLinesRefused: 1, CommandsRefused: 2, SetsApplied: 3, LeasesEnded: 4},
		LastRefusal: "command: set_bounds: generation is 0",
	}
}

func TestADirectoryIsOneAgents(t *testing.T) {
	t.Parallel()
	directory := status.NewDirectory(filepath.Join(t.TempDir(), "deep", "down"))
	isRunning := func(want bool) {
		t.Helper()
		if got, err := directory.Running(); err != nil || got != want {
			t.Errorf("running %v, %v", got, err)
		}
	}
	isRunning(false)
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	isRunning(true)
	if _, err := directory.Lock(); !errors.Is(err, status.ErrRunning) {
		t.Errorf("a second lock: %v", err)
	}
	isRunning(true)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	isRunning(false)
	if unlock, err = directory.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func TestLookingForAnAgentKeepsNoneFromStarting(t *testing.T) {
	t.Parallel()
	directory := status.NewDirectory(t.TempDir())
	stop, looked := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				looked <- nil
				return
			default:
			}
			if _, err := directory.Running(); err != nil {
				looked <- err
				return
			}
		}
	}()
	for range 5000 {
		unlock, err := directory.Lock()
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-looked; err != nil {
		t.Error(err)
	}
}

func TestAStateIsReadAsItWasSaved(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	directory := status.NewDirectory(path)
	if got, err := directory.Load(); got != nil || err != nil {
		t.Errorf("before any: %v, %v", got, err)
	}
	for _, generation := range []uint64{7, 8} {
		want := running()
		want.Generation = generation
		if err := directory.Save(*want); err != nil {
			t.Fatal(err)
		}
		if got, err := directory.Load(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAStateFileThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"":             "parse the state file: unexpected end of JSON input",
		`{"schema":1`:  "parse the state file: unexpected end of JSON input",
		`{"schema":2}`: "parse the state file: its schema is 2, this program reads 1",
		`{}`:           "parse the state file: its schema is 0, this program reads 1",
		`{"pid":"x"}`:  "parse the state file: json: cannot unmarshal string into Go struct field State.pid of type int",
	} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := status.NewDirectory(path).Load()
		if err == nil || err.Error() != filepath.Join(path, "state.json")+": "+message {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestADirectoryThatCannotBeIsAnError(t *testing.T) {
	t.Parallel()
	directory := status.NewDirectory("/dev/null/state")
	if _, err := directory.Lock(); err == nil {
		t.Error("locked")
	}
	if err := directory.Save(*running()); err == nil {
		t.Error("saved")
	}
	if _, err := directory.Load(); err == nil {
		t.Error("loaded")
	}
	if _, err := directory.Running(); err == nil {
		t.Error("knows whether an agent runs")
	}
}

func FuzzParseState(f *testing.F) {
	text, err := json.Marshal(running())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":1,"rules":[{"min_segs":4294967295}],"lease_ends_boottime_us":-9223372036854775808,"bounds_generation":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		state, err := status.ParseState(text)
		if err != nil {
			return
		}
		view := status.NewView(true, &state, nil, nil, 1<<62)
		if view.LeaseLeftMS < 0 || view.Text() == "" {
			t.Fatalf("%+v", view)
		}
	})
}

func TestRulesAreShownInTheGrammar(t *testing.T) {
	t.Parallel()
	got := status.Rules([]bounds.Rule{
		{Selector: bounds.Selector{Kind: bounds.Destination, Prefix: netip.MustParsePrefix("10.0.4.1/32")}, MinSegs: 10, MaxSegs: 20},
	})
	if !reflect.DeepEqual(got, []status.Rule{{Selector: "dst 10.0.4.1/32", MinSegs: 10, MaxSegs: 20}}) {
		t.Errorf("%+v", got)
	}
	if text, err := json.Marshal(status.NewView(false, nil, status.Rules(nil), nil, 0)); err != nil || !strings.Contains(string(text), `"live_rules":[]`) {
		t.Errorf("no rules: %s, %v", text, err)
	}
}

func TestWhoOnlyReadsTheLockIsNoAgent(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	directory := status.NewDirectory(path)
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if running, err := directory.Running(); !running || err != nil {
		t.Errorf("%v, %v", running, err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	// Anybody may open it for reading, and lock it so.
	reader, err := os.Open(filepath.Join(path, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(reader.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		t.Fatal(err)
	}
	if running, err := directory.Running(); running || err != nil {
		t.Errorf("%v, %v", running, err)
	}
	if _, err := directory.Lock(); err == nil || errors.Is(err, status.ErrRunning) {
		t.Errorf("%v", err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
}
