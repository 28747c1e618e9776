// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/identity"
)

// examined runs `doctor` and returns what is not ok, as "PART: FOUND" by level, and the exit code.
func (p *phone) examined(arguments ...string) (notOK map[diagnosis.Level]string, code int) {
	p.t.Helper()
	command := p.command(append([]string{"doctor", "--json"}, arguments...)...)
	text, err := command.Output()
	var answer struct{ Findings []diagnosis.Finding }
	if jsonErr := json.Unmarshal(text, &answer); jsonErr != nil || len(answer.Findings) == 0 {
		p.t.Fatalf("%v, %v, %s", err, jsonErr, text)
	}
	notOK = map[diagnosis.Level]string{}
	for _, finding := range answer.Findings {
		if finding.Level != diagnosis.OK {
			notOK[finding.Level] += finding.Part + ": " + finding.Found + "\n"
		}
	}
	return notOK, command.ProcessState.ExitCode()
}

// The whole life of a phone's agent, as doctor shows it.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	c, secure, flags := startSecure(t)
	base := append(lines(flags), "mac = 02:00:00:00:01:0a")
	if text, code := p.examined("--config", configuration(t, base...)); code != 1 ||
		text[diagnosis.Failure] != "certificate: none, and no token to get one\n" {
		t.Errorf("without a token: %d, %v", code, text)
	}
	token := tokenFile(t, secure.Invite(identity.RoleTerminal, "phone-7"))
	path := configuration(t, append(base, "token-file = "+token)...)
	if text, code := p.examined("--config", path); code != 0 || text[diagnosis.Failure] != "" ||
		!strings.Contains(text[diagnosis.Warning], "agent: not running\n") {
		t.Errorf("before the first start: %d, %v", code, text)
	}
	agent := p.startWith(t.Output(), append(flags, "--token-file", token)...)
	stream := c.stream(t)
	if err := stream.Send(setBounds(1, 60000, destination("10.0.4.1/32", 100, 150))); err != nil {
		t.Fatal(err)
	}
	p.awaitTransaction("flush\ndst 10.0.4.1/32 100 150\n")
	if text, code := p.examined("--config", path); code != 0 ||
		strings.Contains(text[diagnosis.Warning], "agent: ") ||
		!strings.Contains(text[diagnosis.Warning], "not needed any more") {
		t.Errorf("beside the agent: %d, %v", code, text)
	}
	if p.rules() != "flush\ndst 10.0.4.1/32 100 150\n" {
		t.Errorf("the bounds in force are %q", p.rules())
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	secure.Set(nothingTrusted(t))
	if err := os.Remove(filepath.Join(p.root, "net", "tcp_cwnd_bounds")); err != nil {
		t.Fatal(err)
	}
	text, code := p.examined("--config", path)
	if code != 1 || !strings.Contains(text[diagnosis.Failure], "back end: procfs: ") ||
		!strings.Contains(text[diagnosis.Failure], "TLS: remote error: tls: ") {
		t.Errorf("another kernel, another authority: %d, %v", code, text)
	}
}

func TestDoctorOfATableOfApplications(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	table := filepath.Join(t.TempDir(), "applications")
	if err := os.WriteFile(table, []byte("live package com.example\nlively uid 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, _ := p.examined("--plain-text", "--controller", "127.0.67.9:1", "--mac", "02:00:00:00:01:0a",
		"--applications", table, "--packages-list", table+".none")
	for _, want := range []string{"line 2: \"lively\"", "there is no file " + table + ".none", "1 packages of"} {
		warnings := text[diagnosis.Warning]
		if !strings.Contains(warnings, "applications: ") || !strings.Contains(warnings, want) {
			t.Errorf("%q is not in %s", want, text[diagnosis.Warning])
		}
	}
}

func TestDoctorOfAConfigurationThatIsWrong(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	c := startController(t, "127.0.0.1:0")
	path := configuration(t, "controller = "+c.address, "plain-text = true", "mac = 02:00:00:00:01:0a",
		"intervall = 1s")
	text, code := p.examined("--config", path)
	if want := "configuration: " + path + ": line 4: no such key \"intervall\"; did you mean interval?\n"; code != 1 ||
		text[diagnosis.Failure] != want {
		t.Errorf("%d, %v", code, text)
	}
	// A person reads text.
	command := p.command("doctor", "--config", path)
	output, _ := command.Output()
	if !strings.HasPrefix(string(output), "failed   configuration "+path+": line 4: ") ||
		!strings.HasSuffix(string(output), ", 1 failed\n") {
		t.Errorf("%s", output)
	}
}

func TestDoctorOfAStatusThatIsDamaged(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	c := startController(t, "127.0.0.1:0")
	path := configuration(t, "controller = "+c.address, "plain-text = true", "mac = 02:00:00:00:01:0a",
		"state-dir = "+p.stateDir)
	damaged := filepath.Join(p.stateDir, "state.json")
	if err := errors.Join(os.MkdirAll(p.stateDir, 0o700), os.WriteFile(damaged, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	text, code := p.examined("--config", path)
	if want := "agent: its status cannot be read: " + damaged + ": "; code != 1 ||
		!strings.HasPrefix(text[diagnosis.Failure], want) {
		t.Errorf("%d, %v", code, text)
	}
	if !strings.Contains(text[diagnosis.Warning], "agent: not running\n") {
		t.Errorf("%v", text)
	}
}

// nothingTrusted makes a controller deny the certificates that it signed until now.
func nothingTrusted(t *testing.T) func(*credentialstest.Behaviour) {
	t.Helper()
	authority := credentialstest.NewAuthority(t, "new")
	return func(b *credentialstest.Behaviour) { b.Trusted = []*credentialstest.Authority{authority} }
}
