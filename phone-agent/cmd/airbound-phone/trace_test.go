// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What `trace` records is tested in phone-agent/trace and its packages with a fake kernel and in
// lab/tests/test_trace_uml.py with a real one; here, its errors.

// traced runs `airbound-phone trace`.
func traced(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	return started(t, append([]string{"trace"}, arguments...)...)
}

// started runs a command of airbound-phone and returns its exit code and its output.
func started(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, arguments...)
	var output, errorOutput strings.Builder
	command.Stdout, command.Stderr = &output, &errorOutput
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), output.String(), errorOutput.String()
}

func TestTraceRefusesWrongUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		arguments []string
		message   string
	}{
		"remote": {
			[]string{"--remote", "phone"},
			`invalid value "phone" for flag -remote: not an address or prefix`,
		},
		"remote bits": {
			[]string{"--remote", "10.0.9.1/24"},
			"bits beyond the prefix length; did you mean 10.0.9.0/24?",
		},
		"remote zone":  {[]string{"--remote", "fe80::1%wlan0"}, "not an address or prefix"},
		"uid":          {[]string{"--uid", "4294967296"}, "not a user id"},
		"seconds":      {[]string{"--seconds", "-1"}, "--seconds -1 is not within 0 and 31622400"},
		"not a number": {[]string{"--seconds", "NaN"}, "--seconds NaN is not within 0 and 31622400"},
		"two formats":  {[]string{"--json", "--csv"}, "--json and --csv exclude each other"},
		"buffer":       {[]string{"--buffer-kib", "7"}, "--buffer-kib 7 is not within 8 and 1048576"},
		"argument":     {[]string{"now"}, `unexpected argument "now"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := traced(t, test.arguments...)
			if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "airbound-phone trace: ") ||
				!strings.Contains(stderr, test.message) {
				t.Errorf("%d, %q, %q", code, stdout, stderr)
			}
		})
	}
}

func TestTheHelpOfTraceHasExamples(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := traced(t, "--help")
	const example = "airbound-phone trace --seconds 30 --remote 192.0.2.7 --csv --out history.csv"
	if code != 0 || !strings.Contains(stdout, example) || stderr != "" {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}

func TestTraceReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	code, _, stderr := traced(t, "--tracefs", "/nowhere")
	if code != 1 ||
		!strings.Contains(stderr, "no tracefs at /nowhere; mount it with: mount -t tracefs tracefs /nowhere") {
		t.Errorf("%d, %q", code, stderr)
	}
	code, _, stderr = traced(t, "--proc-root", "/nowhere")
	if code != 1 || !strings.Contains(stderr, "find out the network namespace") {
		t.Errorf("%d, %q", code, stderr)
	}
}

// A directory that is no tracefs: the new instance stays empty.
func TestTraceLeavesNothingWhereItCannotRecord(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	instances := filepath.Join(root, "instances")
	for _, directory := range []string{
		"instances", "events/tcp_monitor/tcp_monitor_window", "events/tcp_monitor/tcp_monitor_event",
	} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(root, "out.csv")
	if err := os.WriteFile(out, []byte("an earlier history\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := traced(t, "--tracefs", root, "--csv", "--out", out)
	if code != 1 || !strings.Contains(stderr, `set tracing_on to "0"`) {
		t.Errorf("%d, %q", code, stderr)
	}
	if entries, err := os.ReadDir(instances); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "an earlier history\n" {
		t.Errorf("%q, %v", text, err)
	}
	code, _, stderr = traced(t, "--tracefs", root, "--out", filepath.Join(root, "nowhere", "out.csv"))
	if code != 1 || !strings.Contains(stderr, "write the records: open ") {
		t.Errorf("%d, %q", code, stderr)
	}
}
