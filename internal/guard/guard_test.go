// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/guard"
)

// What this program is when a test has set kindVariable; markVariable names a file.
const (
	kindVariable = "AIRBOUND_TEST_GUARD"
	markVariable = "AIRBOUND_TEST_GUARD_MARK"
)

func TestMain(m *testing.M) {
	switch os.Getenv(kindVariable) {
	case "":
		os.Exit(m.Run())
	case "slow":
		time.Sleep(300 * time.Millisecond)
		mark()
		restore := func(bool) error { return os.Remove(os.Getenv(markVariable)) }
		if guard.Watch(os.Stdin, os.Stdout, func() int64 { return nowUS }, restore, slog.Default()) != nil {
			os.Exit(1)
		}
	case "ends at once":
	case "never ready":
		mark()
		_, _ = os.Stdin.Read(make([]byte, 100)) // The deadline does not come before it is ready: this is the end.
	case "of another version":
		_, _ = os.Stdout.WriteString("?")
	}
}

func mark() {
	if err := os.WriteFile(os.Getenv(markVariable), nil, 0o600); err != nil {
		panic(err)
	}
}

// startOf returns a guard of a kind, and the file that it makes.
func startOf(t *testing.T, kind string) (*guard.Guard, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mark")
	t.Setenv(kindVariable, kind)
	t.Setenv(markVariable, path)
	protecting := guard.New()
	protecting.ReadyWithin(time.Minute) // Nothing depends on how long a program takes to start.
	return protecting, path
}

// Whatever is set after Protect is restored, however soon the agent is killed: the guard has what it needs.
func TestAGuardIsReadyWhenProtectReturns(t *testing.T) {
	protecting, path := startOf(t, "slow")
	if err := protecting.Protect(nowUS + 60_000_000); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if err := protecting.Protect(nowUS + 61_000_000); err != nil || protecting.Started() != 1 {
		t.Errorf("%v, started %d times", err, protecting.Started())
	}
	// The clock of this guard stands still, at a moment far beyond this deadline.
	if err := protecting.Protect(1); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("never restored")
		}
	}
	protecting.Release()
}

func TestAGuardThatDoesNotBecomeReadyProtectsNothing(t *testing.T) {
	for kind, want := range map[string]string{
		"ends at once":       "start the guard: it ended before it was ready",
		"never ready":        "start the guard: wait until it is ready: ",
		"of another version": "start the guard: it is ready with 63, not 1: another version",
	} {
		protecting, _ := startOf(t, kind)
		if kind == "never ready" {
			protecting.ReadyWithin(300 * time.Millisecond)
		}
		err := protecting.Protect(nowUS + 60_000_000)
		if err == nil || !strings.HasPrefix(err.Error(), want) || protecting.Started() != 0 {
			t.Errorf("%s: %v, started %d times", kind, err, protecting.Started())
		}
	}
}
