// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What `io` makes of the kernel's events is tested in phone-agent/blockio with events of its own and in
// io_kernel_test.go with this machine's kernel; here, its errors.

func TestIORefusesWrongUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		arguments []string
		message   string
	}{
		"two formats":     {[]string{"--json", "--csv"}, "--json and --csv exclude each other"},
		"summary of rows": {[]string{"--summary", "--csv"}, "--json, --csv, --summary and --top exclude each other"},
		"two views":       {[]string{"--summary", "--top"}, "--json, --csv, --summary and --top exclude each other"},
		"late view":       {[]string{"--top", "--read-at-end"}, "--top and --read-at-end exclude each other"},
		"seconds":         {[]string{"--seconds", "-1"}, "--seconds -1 is not within 0 and 31622400"},
		"buffer":          {[]string{"--buffer-kib", "7"}, "--buffer-kib 7 is not within 8 and 1048576"},
		"argument":        {[]string{"sda"}, `unexpected argument "sda"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := started(t, append([]string{"io"}, test.arguments...)...)
			if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "airbound-phone io: ") ||
				!strings.Contains(stderr, test.message) {
				t.Errorf("%d, %q, %q", code, stdout, stderr)
			}
		})
	}
}

func TestTheHelpOfIOHasExamples(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := started(t, "io", "--help")
	if code != 0 || !strings.Contains(stdout, "airbound-phone io --device /data --seconds 30") || stderr != "" {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

func TestIOReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "instances"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		arguments []string
		message   string
	}{
		"no tracefs": {
			[]string{"--tracefs", "/nowhere"},
			"no tracefs at /nowhere; mount it with: mount -t tracefs tracefs /nowhere",
		},
		"no block events": {
			[]string{"--tracefs", root}, "the kernel has no trace event block_rq_issue: ",
		},
		"no such device": {
			[]string{"--tracefs", root, "--device", "nosuch"}, "no block device nosuch: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := started(t, append([]string{"io"}, test.arguments...)...)
			if code != 1 || !strings.Contains(stderr, test.message) {
				t.Errorf("%d, %q", code, stderr)
			}
		})
	}
}
