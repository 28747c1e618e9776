// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/applytest"
	"github.com/airbound/airbound/phone-agent/bounds"
)

func up(t *testing.T, kernel *applytest.Kernel) *apply.Procfs {
	t.Helper()
	backEnd := apply.NewProcfs(kernel)
	if _, err := backEnd.Up(); err != nil {
		t.Fatal(err)
	}
	kernel.Transactions = nil
	return backEnd
}

func holds(t *testing.T, kernel *applytest.Kernel, want string) {
	t.Helper()
	kernel.ReadError = nil
	if got, err := kernel.Read(); err != nil || string(got) != want {
		t.Errorf("the kernel holds %q, %v; want %q", got, err, want)
	}
}

func TestUpProbesTheKernel(t *testing.T) {
	t.Parallel()
	for _, knowsUID := range []bool{false, true} {
		kernel := &applytest.Kernel{KnowsUID: knowsUID}
		if err := kernel.Write([]byte("all 1 2\ndst 10.0.9.1/32 10 20\n")); err != nil {
			t.Fatal(err)
		}
		got, err := apply.NewProcfs(kernel).Up()
		want := bounds.Capabilities{
			Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, CanSelectUID: knowsUID, RulesMax: 256,
		}
		if err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		holds(t, kernel, "")
	}
}

func TestUpFailsClearly(t *testing.T) {
	t.Parallel()
	missing := &fs.PathError{Op: "open", Path: "/proc/net/tcp_cwnd_bounds", Err: syscall.ENOENT}
	denied := &fs.PathError{Op: "open", Path: "/proc/net/tcp_cwnd_bounds", Err: syscall.EACCES}
	tests := map[string]struct {
		kernel  *applytest.Kernel
		message string
	}{
		"not patched": {
			&applytest.Kernel{WriteError: missing, ReadError: missing},
			"bring up back end procfs: the kernel is not patched: open /proc/net/tcp_cwnd_bounds: no such file or directory",
		},
		"not root": {
			&applytest.Kernel{WriteError: denied, ReadError: denied},
			"restore the kernel's defaults: only root may: open /proc/net/tcp_cwnd_bounds: permission denied",
		},
		"unreadable": {&applytest.Kernel{ReadError: syscall.EIO}, "bring up back end procfs: input/output error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := apply.NewProcfs(test.kernel).Up(); err == nil || err.Error() != test.message {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSetReplacesAndSkipsUnchanged(t *testing.T) {
	t.Parallel()
	kernel := &applytest.Kernel{}
	backEnd := up(t, kernel)
	steps := []struct {
		rules []bounds.Rule
		wrote bool
		want  string
	}{
		{nil, false, ""},
		{[]bounds.Rule{dst("10.0.9.1/32", 10, 20), everything(2, 90)}, true, "dst 10.0.9.1/32 10 20\nall 2 90\n"},
		{[]bounds.Rule{dst("10.0.9.1/32", 10, 20), everything(2, 90)}, false, "dst 10.0.9.1/32 10 20\nall 2 90\n"},
		{[]bounds.Rule{everything(2, 90), dst("10.0.9.1/32", 10, 20)}, false, "dst 10.0.9.1/32 10 20\nall 2 90\n"},
		{[]bounds.Rule{dst("10.0.9.1/32", 10, 21)}, true, "dst 10.0.9.1/32 10 21\n"},
		{nil, true, ""},
		{nil, false, ""},
	}
	writes := 0
	for i, step := range steps {
		outcome, err := backEnd.Set(step.rules)
		if err != nil || outcome != (apply.Outcome{Wrote: step.wrote}) {
			t.Errorf("step %d: %+v, %v", i, outcome, err)
		}
		if step.wrote {
			writes++
		}
		if len(kernel.Transactions) != writes {
			t.Errorf("step %d: %d transactions, want %d", i, len(kernel.Transactions), writes)
		}
		holds(t, kernel, step.want)
	}
}

func TestSetNoticesForeignChangesAndReplacesThem(t *testing.T) {
	t.Parallel()
	kernel := &applytest.Kernel{}
	backEnd := up(t, kernel)
	wanted := []bounds.Rule{dst("10.0.9.1/32", 10, 20)}
	if _, err := backEnd.Set(wanted); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Write([]byte("flush\nall 5 6\n")); err != nil {
		t.Fatal(err)
	}
	outcome, err := backEnd.Set(wanted)
	if err != nil || outcome != (apply.Outcome{Wrote: true, ForeignChange: true}) {
		t.Errorf("%+v, %v", outcome, err)
	}
	holds(t, kernel, "dst 10.0.9.1/32 10 20\n")
}

func TestASetThatFailsLeavesWhatHeld(t *testing.T) {
	t.Parallel()
	many := make([]bounds.Rule, 257)
	for i := range many {
		many[i] = dst(fmt.Sprintf("10.1.%d.%d/32", i/256, i%256), 1, 2)
	}
	tests := map[string]struct {
		rules   []bounds.Rule
		errno   syscall.Errno
		message string
	}{
		"malformed": {[]bounds.Rule{app(10073, 1, 2)}, syscall.EINVAL, "write 1 rules: the kernel finds the transaction malformed: invalid argument"},
		"range":     {[]bounds.Rule{everything(3, 2)}, syscall.ERANGE, "write 1 rules: the kernel finds a bound out of range: numerical result out of range"},
		"too many":  {many, syscall.ENOSPC, "write 257 rules: the kernel has no room for so many rules: no space left on device"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := &applytest.Kernel{}
			backEnd := up(t, kernel)
			if _, err := backEnd.Set([]bounds.Rule{everything(2, 90)}); err != nil {
				t.Fatal(err)
			}
			outcome, err := backEnd.Set(test.rules)
			if !errors.Is(err, test.errno) || err.Error() != test.message || outcome.Wrote {
				t.Errorf("%+v, %v", outcome, err)
			}
			holds(t, kernel, "all 2 90\n")
		})
	}
}

func TestSetFailsIfTheKernelHoldsSomethingElseAfterwards(t *testing.T) {
	t.Parallel()
	// A kernel that masks what it is given holds another rule than the one written.
	kernel := &applytest.Kernel{}
	outcome, err := up(t, kernel).Set([]bounds.Rule{dst("10.0.9.1/24", 10, 20)})
	if err == nil || !outcome.Wrote || !strings.HasPrefix(err.Error(), "read the rules back: the kernel holds 1 rules") {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestRulesThatCannotBeReadAreReplaced(t *testing.T) {
	t.Parallel()
	kernel := &applytest.Kernel{}
	backEnd := up(t, kernel)
	kernel.ReadError = syscall.EIO
	outcome, err := backEnd.Set([]bounds.Rule{everything(2, 90)})
	if !errors.Is(err, syscall.EIO) || !outcome.Wrote {
		t.Errorf("%+v, %v", outcome, err)
	}
	holds(t, kernel, "all 2 90\n")
}

func TestCloseAndCleanUpRestoreTheDefaults(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(*apply.Procfs) error{"close": (*apply.Procfs).Close, "clean up": (*apply.Procfs).CleanUp} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := &applytest.Kernel{}
			backEnd := up(t, kernel)
			if _, err := backEnd.Set([]bounds.Rule{everything(2, 90)}); err != nil {
				t.Fatal(err)
			}
			if err := restore(backEnd); err != nil {
				t.Fatal(err)
			}
			holds(t, kernel, "")
			if outcome, err := backEnd.Set(nil); err != nil || outcome != (apply.Outcome{}) {
				t.Errorf("afterwards: %+v, %v", outcome, err)
			}
			kernel.WriteError = syscall.EIO
			if err := restore(backEnd); !errors.Is(err, syscall.EIO) {
				t.Errorf("a failure: %v", err)
			}
		})
	}
}

func TestCleanUpAfterAnEarlierLife(t *testing.T) {
	t.Parallel()
	kernel := &applytest.Kernel{}
	if err := kernel.Write([]byte("all 1 2\n")); err != nil {
		t.Fatal(err)
	}
	if err := apply.NewProcfs(kernel).CleanUp(); err != nil {
		t.Fatal(err)
	}
	holds(t, kernel, "")
	missing := &applytest.Kernel{WriteError: fs.ErrNotExist}
	if err := apply.NewProcfs(missing).CleanUp(); err != nil {
		t.Errorf("on a kernel without the interface: %v", err)
	}
}

func TestEverySetIsOneTransaction(t *testing.T) {
	t.Parallel()
	kernel := &applytest.Kernel{}
	backEnd := up(t, kernel)
	rules := make([]bounds.Rule, 256)
	for i := range rules {
		rules[i] = dst(fmt.Sprintf("10.1.%d.0/24", i), 1, 2)
	}
	if _, err := backEnd.Set(rules); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kernel.Transactions, []string{string(apply.FormatTransaction(rules))}) {
		t.Errorf("%d transactions", len(kernel.Transactions))
	}
}
