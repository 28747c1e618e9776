// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// TestOneStringJoins: what `join` writes is all that the agent needs beside what is special here.
func TestOneStringJoins(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	c, secure, flags := startSecure(t)
	values := map[string]string{}
	for i := 0; i+1 < len(flags); i += 2 {
		values[flags[i]] = flags[i+1]
	}
	host, port, err := net.SplitHostPort(values["--controller"])
	if err != nil {
		t.Fatal(err)
	}
	_, enrolmentPort, err := net.SplitHostPort(values["--enroll"])
	if err != nil {
		t.Fatal(err)
	}
	path := configuration(t, "# mine", "controller = 192.0.2.1:50051", "token-file = /nowhere",
		"credentials-dir = "+values["--credentials-dir"], "mac = 02:00:00:00:01:0a", "state-dir = "+p.stateDir,
		"proc-root = "+p.root, "no-tracing = true", "heartbeat = 1s")
	token := secure.Invite(identity.RoleTerminal, "phone-7")
	join := p.command("join")
	join.Args = []string{join.Path, "join", "--config", path, "-"}
	join.Stdin = strings.NewReader(fmt.Sprintf("airbound1:%s:%s:%s:%s\n", host, port, enrolmentPort, token))
	output, err := join.CombinedOutput()
	if err != nil || strings.Contains(string(output), token) {
		t.Fatalf("%v, %s", err, output)
	}
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
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "# mine\ncredentials-dir") {
		t.Errorf("%v, %s", err, text)
	}
}

func TestAJoinThatIsWrongChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	path := configuration(t, "controller = 192.0.2.1:50051")
	for argument, want := range map[string]string{
		"airbound1:x:1:2:AAAA": "the token has 4 characters", "x": "not what `airbound enroll` prints",
		"-": "standard input is empty",
	} {
		join := p.command("join")
		join.Args = []string{join.Path, "join", "--config", path, argument}
		output, err := join.CombinedOutput()
		if join.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v, %s", argument, err, output)
		}
	}
	for _, arguments := range [][]string{{"join"}, {"join", "a", "b"}, {"join", "--config", "", "a"}} {
		join := p.command("join")
		join.Args = append([]string{join.Path}, arguments...)
		if output, err := join.CombinedOutput(); join.ProcessState.ExitCode() != 2 {
			t.Errorf("%q: %v, %s", arguments, err, output)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "controller = 192.0.2.1:50051\n" {
		t.Errorf("%v, %q", err, text)
	}
}
