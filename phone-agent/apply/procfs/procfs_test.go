// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/apply/procfs/procfstest"
	"github.com/airbound/airbound/phone-agent/bounds"
)

func up(t *testing.T, kernel *procfstest.Kernel) *procfs.BackEnd {
	t.Helper()
	backEnd := procfs.New(kernel)
	if _, err := backEnd.Up(); err != nil {
		t.Fatal(err)
	}
	kernel.Transactions = nil
	return backEnd
}

func inForce(t *testing.T, kernel *procfstest.Kernel, want string) {
	t.Helper()
	kernel.ReadError = nil
	if got, err := kernel.Read(); err != nil || string(got) != want {
		t.Errorf("rules are %q, %v; want %q", got, err, want)
	}
}

func TestUpProbesTheKernel(t *testing.T) {
	t.Parallel()
	for _, accepts := range []struct{ uid, uidDestination bool }{{}, {uid: true}, {uid: true, uidDestination: true}} {
		kernel := &procfstest.Kernel{AcceptsUID: accepts.uid, AcceptsUIDDestination: accepts.uidDestination}
		if err := kernel.Write([]byte("all 1 2\ndst 10.0.9.1/32 10 20\n")); err != nil {
			t.Fatal(err)
		}
		got, err := procfs.New(kernel).Up()
		want := bounds.Capabilities{
			Name:                    "procfs",
			CanSetMax:               true,
			CanSetMin:               true,
			CanSelectDestination:    true,
			CanSelectUID:            accepts.uid,
			CanSelectUIDDestination: accepts.uidDestination,
			RulesMax:                256,
		}
		if err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		inForce(t, kernel, "")
	}
}

func TestUpFailsClearly(t *testing.T) {
	t.Parallel()
	missing := &fs.PathError{Op: "open", Path: "/proc/net/tcp_cwnd_bounds", Err: syscall.ENOENT}
	denied := &fs.PathError{Op: "open", Path: "/proc/net/tcp_cwnd_bounds", Err: syscall.EACCES}
	tests := map[string]struct {
		kernel  *procfstest.Kernel
		message string
	}{
		"not patched": {
			&procfstest.Kernel{WriteError: missing, ReadError: missing},
			"bring up back end procfs: the kernel is not patched: the kernel does not support it: " +
				"open /proc/net/tcp_cwnd_bounds: no such file or directory",
		},
		"not root": {
			&procfstest.Kernel{WriteError: denied, ReadError: denied},
			"restore the kernel's defaults: only root may: open /proc/net/tcp_cwnd_bounds: permission denied",
		},
		"unreadable": {&procfstest.Kernel{ReadError: syscall.EIO}, "bring up back end procfs: input/output error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := procfs.New(test.kernel).Up(); err == nil || err.Error() != test.message {
				t.Errorf("%v", err)
			}
		})
	}
}

// choosy is a kernel that answers transactions with a certain text with an error.
type choosy struct {
	procfstest.Kernel

	text   string
	answer error
}

func (c *choosy) Write(transaction []byte) error {
	if strings.Contains(string(transaction), c.text) {
		return c.answer
	}
	return c.Kernel.Write(transaction)
}

func TestUpOfAKernelThatAcceptsLess(t *testing.T) {
	t.Parallel()
	can := func(destination, uid, both bool) bounds.Capabilities {
		return bounds.Capabilities{
			Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: destination, CanSelectUID: uid,
			CanSelectUIDDestination: both, RulesMax: 256,
		}
	}
	for name, test := range map[string]struct {
		text    string
		answer  error
		want    bounds.Capabilities
		message string
	}{
		"not all": {
			"all ", syscall.EINVAL,
			bounds.Capabilities{},
			`bring up back end procfs: the kernel does not accept the rule "all 1 65535"`,
		},
		"no destinations": {"dst ", syscall.EINVAL, can(false, true, false), ""},
		"no users":        {"uid ", syscall.EINVAL, can(true, false, false), ""},
		"none together":   {" dst ", syscall.EINVAL, can(true, true, false), ""},
		"broken at all": {
			"all ", syscall.EIO, bounds.Capabilities{}, `probe the kernel for "all 1 65535": input/output error`,
		},
		"broken at destinations": {
			"dst ", syscall.EIO,
			bounds.Capabilities{},
			`probe the kernel for "dst 192.0.2.1/32 1 65535": input/output error`,
		},
		"broken at users": {
			"uid ", syscall.EIO,
			bounds.Capabilities{},
			`probe the kernel for "uid 4294967294 1 65535": input/output error`,
		},
		"broken at both together": {
			" dst ", syscall.EIO,
			bounds.Capabilities{},
			`probe the kernel for "uid 4294967294 dst 192.0.2.1/32 1 65535": input/output error`,
		},
	} {
		fake := procfstest.Kernel{AcceptsUID: true, AcceptsUIDDestination: true}
		kernel := &choosy{Kernel: fake, text: test.text, answer: test.answer}
		got, err := procfs.New(kernel).Up()
		if got != test.want || (err == nil) != (test.message == "") || (err != nil && err.Error() != test.message) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestSetReplacesAndSkipsUnchanged(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
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
		inForce(t, kernel, step.want)
	}
}

func TestSetOfAUIDAndADestinationTogether(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{AcceptsUID: true, AcceptsUIDDestination: true}
	backEnd := up(t, kernel)
	rules := []bounds.Rule{dst("10.0.9.1/32", 2, 20), app(10073, 2, 50), appTo(10073, "10.0.9.1/32", 40, 80)}
	for _, wrote := range []bool{true, false} {
		if outcome, err := backEnd.Set(rules); err != nil || outcome != (apply.Outcome{Wrote: wrote}) {
			t.Errorf("%+v, %v", outcome, err)
		}
	}
	inForce(t, kernel, "dst 10.0.9.1/32 2 20\nuid 10073 2 50\nuid 10073 dst 10.0.9.1/32 40 80\n")
	kernel.Limit("uid 10073 dst 10.0.9.1/32", 3, 4)
	live, err := backEnd.Live()
	if err != nil || !slices.Equal(live.RulesOf(), rules) ||
		*live.Rules[2].Effect != (apply.Effect{Raised: 3, Lowered: 4}) {
		t.Errorf("%+v, %v", live, err)
	}
}

func TestSetDetectsExternalChangesAndReplacesThem(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	backEnd := up(t, kernel)
	wanted := []bounds.Rule{dst("10.0.9.1/32", 10, 20)}
	if _, err := backEnd.Set(wanted); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Write([]byte("flush\nall 5 6\n")); err != nil {
		t.Fatal(err)
	}
	outcome, err := backEnd.Set(wanted)
	if err != nil || outcome != (apply.Outcome{Wrote: true, ExternalChange: true}) {
		t.Errorf("%+v, %v", outcome, err)
	}
	inForce(t, kernel, "dst 10.0.9.1/32 10 20\n")
}

func TestASetThatFailsLeavesTheRulesFromBefore(t *testing.T) {
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
		"malformed": {
			[]bounds.Rule{app(10073, 1, 2)},
			syscall.EINVAL,
			"write 1 rules: the kernel refuses the transaction as malformed: invalid argument",
		},
		"range": {
			[]bounds.Rule{everything(3, 2)},
			syscall.ERANGE,
			"write 1 rules: the kernel refuses a bound as out of range: numerical result out of range",
		},
		"too many": {
			many, syscall.ENOSPC, "write 257 rules: the kernel takes fewer rules: no space left on device",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := &procfstest.Kernel{}
			backEnd := up(t, kernel)
			if _, err := backEnd.Set([]bounds.Rule{everything(2, 90)}); err != nil {
				t.Fatal(err)
			}
			outcome, err := backEnd.Set(test.rules)
			if !errors.Is(err, test.errno) || err.Error() != test.message || outcome.Wrote {
				t.Errorf("%+v, %v", outcome, err)
			}
			inForce(t, kernel, "all 2 90\n")
		})
	}
}

func TestSetFailsIfOtherRulesAreInForceAfterwards(t *testing.T) {
	t.Parallel()
	// A kernel that masks a prefix has another rule than the one written.
	kernel := &procfstest.Kernel{}
	outcome, err := up(t, kernel).Set([]bounds.Rule{dst("10.0.9.1/24", 10, 20)})
	if err == nil || !outcome.Wrote || !strings.HasPrefix(err.Error(), "read the rules back: the kernel has 1 rules") {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestRulesThatCannotBeReadAreReplaced(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	backEnd := up(t, kernel)
	kernel.ReadError = syscall.EIO
	outcome, err := backEnd.Set([]bounds.Rule{everything(2, 90)})
	if !errors.Is(err, syscall.EIO) || !outcome.Wrote {
		t.Errorf("%+v, %v", outcome, err)
	}
	inForce(t, kernel, "all 2 90\n")
}

func TestCloseAndCleanUpRestoreTheDefaults(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(*procfs.BackEnd) error{
		"close": (*procfs.BackEnd).Close, "clean up": (*procfs.BackEnd).CleanUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := &procfstest.Kernel{}
			backEnd := up(t, kernel)
			if _, err := backEnd.Set([]bounds.Rule{everything(2, 90)}); err != nil {
				t.Fatal(err)
			}
			if err := restore(backEnd); err != nil {
				t.Fatal(err)
			}
			inForce(t, kernel, "")
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

func TestCleanUpAfterAnEarlierRun(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	if err := kernel.Write([]byte("all 1 2\n")); err != nil {
		t.Fatal(err)
	}
	if err := procfs.New(kernel).CleanUp(); err != nil {
		t.Fatal(err)
	}
	inForce(t, kernel, "")
	missing := &procfstest.Kernel{WriteError: fs.ErrNotExist}
	if err := procfs.New(missing).CleanUp(); err != nil {
		t.Errorf("on a kernel without the interface: %v", err)
	}
}

func TestEverySetIsOneTransaction(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	backEnd := up(t, kernel)
	rules := make([]bounds.Rule, 256)
	for i := range rules {
		rules[i] = dst(fmt.Sprintf("10.1.%d.0/24", i), 1, 2)
	}
	if _, err := backEnd.Set(rules); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kernel.Transactions, []string{string(procfs.FormatTransaction(rules))}) {
		t.Errorf("%d transactions", len(kernel.Transactions))
	}
}

func TestLiveReturnsTheRulesAndHowOftenTheyChangedAWindow(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	backEnd := up(t, kernel)
	rules := []bounds.Rule{dst("10.0.9.1/32", 10, 20), everything(2, 90)}
	if _, err := backEnd.Set(rules); err != nil {
		t.Fatal(err)
	}
	kernel.Limit("dst 10.0.9.1/32", 3, 591)
	want := []apply.LiveRule{
		{Rule: rules[0], Effect: &apply.Effect{Raised: 3, Lowered: 591}}, {Rule: rules[1], Effect: &apply.Effect{}},
	}
	transactions := len(kernel.Transactions)
	// Another process reads them as well.
	for _, reader := range []*procfs.BackEnd{backEnd, procfs.New(kernel)} {
		got, err := reader.Live()
		if err != nil || got.NoEffects != "" || !reflect.DeepEqual(got.Rules, want) {
			t.Errorf("%+v, %v", got, err)
		}
		if !slices.Equal(got.RulesOf(), rules) {
			t.Errorf("%v", got.RulesOf())
		}
	}
	if len(kernel.Transactions) != transactions {
		t.Error("Live writes")
	}
	if _, err := backEnd.Set([]bounds.Rule{dst("10.0.9.1/32", 11, 21)}); err != nil {
		t.Fatal(err)
	}
	if got, err := backEnd.Live(); err != nil || *got.Rules[0].Effect != (apply.Effect{Raised: 3, Lowered: 591}) {
		t.Errorf("another range: %+v, %v", got, err)
	}
}

func TestLiveWithoutCounts(t *testing.T) {
	t.Parallel()
	missing := &fs.PathError{Op: "open", Path: "/proc/net/tcp_cwnd_bounds_stat", Err: syscall.ENOENT}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no such file": {
			missing, "the kernel does not count how often rules change windows: open /proc/net/tcp_cwnd_bounds_stat",
		},
		"unreadable": {syscall.EIO, "read how often rules changed windows: input/output error"},
	} {
		kernel := &procfstest.Kernel{StatError: test.err}
		backEnd := up(t, kernel)
		if _, err := backEnd.Set([]bounds.Rule{everything(2, 90)}); err != nil {
			t.Fatal(err)
		}
		got, err := backEnd.Live()
		if err != nil || len(got.Rules) != 1 || got.Rules[0].Effect != nil ||
			!strings.HasPrefix(got.NoEffects, test.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestLiveOfAKernelWithoutRules(t *testing.T) {
	t.Parallel()
	got, err := procfs.New(&procfstest.Kernel{}).Live()
	if err != nil || len(got.Rules) != 0 || got.NoEffects != "" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = procfs.New(&procfstest.Kernel{ReadError: fs.ErrNotExist}).Live()
	if !errors.Is(err, apply.ErrNotSupported) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not patched: %v", err)
	}
}
