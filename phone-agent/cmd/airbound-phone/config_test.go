// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// configuration writes a configuration file.
func configuration(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "airbound.conf")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines are flags as lines of a configuration file.
func lines(flags []string) (lines []string) {
	for i := 0; i+1 < len(flags); i += 2 {
		lines = append(lines, strings.TrimPrefix(flags[i], "--")+" = "+flags[i+1])
	}
	return lines
}

func TestAPhoneIsConfiguredByAFile(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	c, secure, flags := startSecure(t)
	path := configuration(t, append(lines(flags),
		"token = "+secure.Invite(identity.RoleTerminal, "phone-7"), "mac = 02:00:00:00:01:0a",
		"state-dir = "+p.stateDir, "proc-root = "+p.root, "no-tracing = true", "heartbeat = 1s")...)
	run := p.command("run")
	run.Args, run.Stderr = []string{run.Path, "run", "--config", path}, t.Output()
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	c.report(t, "first", func(report *airboundv1.TerminalReport) bool { return report.GetAgent() != nil })
	status := p.command("status")
	status.Args = []string{status.Path, "status", "--config", path}
	text, err := status.Output()
	if err != nil || !strings.Contains(string(text), "spiffe://test.example/terminal/phone-7") {
		t.Errorf("%v, %s", err, text)
	}
}

func TestAConfigurationThatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	for _, command := range []string{"run", "status"} {
		path := configuration(t, "plain-text = true", "controler = 192.0.2.1:50051")
		program := p.command(command, "--config", path)
		output, err := program.CombinedOutput()
		want := "airbound-phone " + command + ": " + path + ": line 2: no such key \"controler\"; " +
			"did you mean controller?\n"
		if program.ProcessState.ExitCode() != 2 || string(output) != want {
			t.Errorf("%v, %s", err, output)
		}
	}
}
