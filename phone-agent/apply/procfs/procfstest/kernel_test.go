// SPDX-License-Identifier: Apache-2.0

package procfstest_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply/procfs/procfstest"
)

func TestTheFakeInterpretsTheGrammar(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 257 {
		fmt.Fprintf(&many, "dst 10.1.%d.%d/32 1 2\n", i/256, i%256)
	}
	tests := map[string]struct {
		transaction string
		errno       error
		want        string
	}{
		"adds":             {"dst 10.0.9.1/32 10 20\n", nil, "all 3 4\ndst 10.0.9.1/32 10 20\n"},
		"replaces a range": {"all 5 6\n", nil, "all 5 6\n"},
		"flush and add":    {"flush\ndst 2001:db8::/32 1 65535\n", nil, "dst 2001:db8::/32 1 65535\n"},
		"add and flush":    {"all 5 6\nflush\n", nil, ""},
		"all or nothing":   {"flush\nall 5 6\nnonsense\n", syscall.EINVAL, "all 3 4\n"},
		"empty":            {"", syscall.EINVAL, "all 3 4\n"},
		"no newline":       {"all 5 6", syscall.EINVAL, "all 3 4\n"},
		"column missing":   {"all 5\n", syscall.EINVAL, "all 3 4\n"},
		"bad prefix":       {"dst 10.0.9.1/33 1 2\n", syscall.EINVAL, "all 3 4\n"},
		"unknown uid":      {"uid 5 1 2\n", syscall.EINVAL, "all 3 4\n"},
		"uid with a destination": {
			"uid 5 dst 10.0.9.1/32 1 2\n", syscall.EINVAL, "all 3 4\n",
		},
		"min 0":         {"all 0 2\n", syscall.ERANGE, "all 3 4\n"},
		"max beyond":    {"all 1 65536\n", syscall.ERANGE, "all 3 4\n"},
		"min above max": {"all 2 1\n", syscall.ERANGE, "all 3 4\n"},
		"too many":      {many.String(), syscall.ENOSPC, "all 3 4\n"},
		"negative":      {"all -1 2\n", syscall.EINVAL, "all 3 4\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kernel procfstest.Kernel
			if err := kernel.Write([]byte("all 3 4\n")); err != nil {
				t.Fatal(err)
			}
			if err := kernel.Write([]byte(test.transaction)); !errors.Is(err, test.errno) {
				t.Errorf("%v", err)
			}
			if got, err := kernel.Read(); err != nil || string(got) != test.want {
				t.Errorf("rules %q, %v", got, err)
			}
		})
	}
}

func TestTheFakeTakesSelectorsOfUIDAndDestination(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{AcceptsUID: true, AcceptsUIDDestination: true}
	const rules = "uid 7 1 2\nuid 7 dst 10.0.9.1/32 3 4\nuid 8 dst 10.0.9.1/32 5 6\n"
	if err := kernel.Write([]byte(rules)); err != nil {
		t.Fatal(err)
	}
	if got, err := kernel.Read(); err != nil || string(got) != rules {
		t.Errorf("rules %q, %v", got, err)
	}
	for _, text := range []string{
		"uid 7 dst 1 2\n", "uid x dst 10.0.9.1/32 1 2\n", "uid 7 dst 10.0.9.1 1 2\n", "uid 7 uid 8 1 2\n",
		"dst 10.0.9.1/32 uid 7 1 2\n", "uid 7 src 10.0.9.1/32 1 2\n",
	} {
		if err := kernel.Write([]byte(text)); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
