// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// startSecure runs a controller with mutual TLS, and returns the flags for it without a token.
func startSecure(t *testing.T) (c *controller, secure *credentialstest.Controller, flags []string) {
	t.Helper()
	c = newController()
	secure = credentialstest.Start(t, func(server *grpc.Server) {
		airboundv1.RegisterTerminalServiceServer(server, c)
	})
	return c, secure, []string{
		"--controller", secure.Streams, "--enroll", secure.Enrolment,
		"--credentials-dir", filepath.Join(t.TempDir(), "credentials"),
	}
}

func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAPhoneEnrolsAtItsFirstStart(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	c, secure, flags := startSecure(t)
	token := secure.Invite(identity.RoleTerminal, "phone-7")
	var log strings.Builder
	agent := p.startWith(&log, append(flags, "--token-file", tokenFile(t, token))...)
	c.report(t, "first", func(report *airboundv1.TerminalReport) bool { return report.GetAgent() != nil })
	text, code := p.status()
	for _, want := range []string{
		"enrolled     spiffe://test.example/terminal/phone-7\n", "certificate  until 2", " UTC, next renewal 2",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, text)
		}
	}
	text, _ = p.status("--json")
	var view struct{ Credentials identity.Status }
	if err := json.Unmarshal([]byte(text), &view); err != nil || !view.Credentials.NotAfter.After(time.Now()) ||
		view.Credentials.ID != "spiffe://test.example/terminal/phone-7" {
		t.Errorf("%v, %s", err, text)
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	if strings.Contains(log.String(), token) {
		t.Errorf("the log has the token:\n%s", &log)
	}
	// The next start needs no token.
	p.startWith(t.Output(), flags...)
	c.report(t, "first of the second start", func(report *airboundv1.TerminalReport) bool {
		return report.GetAgent() != nil
	})
}

func TestAPhoneWithoutACertificate(t *testing.T) {
	t.Parallel()
	_, secure, flags := startSecure(t)
	tests := map[string]struct {
		arguments []string
		code      int
		message   string
		status    identity.FailureCode
	}{
		"and without a token": {nil, 1, "enrol it: run `airbound enroll terminal NAME`", identity.NotEnrolled},
		"and half a token": {
			[]string{"--token", "half"}, 1, "the token has 4 characters, want 66", identity.TokenMalformed,
		},
		"and no token file": {
			[]string{"--token-file", "/nowhere"}, 1, "read the token: open /nowhere", identity.TokenUnreadable,
		},
		"and two tokens":   {[]string{"--token-file", "x", "--token", "x"}, 2, "exclude each other", ""},
		"and plain text":   {[]string{"--token", "x", "--plain-text"}, 2, "--plain-text excludes --token", ""},
		"and an odd place": {[]string{"--enroll", "x"}, 2, `--enroll "x" is not ADDR:PORT`, ""},
		"and an odd directory": {
			[]string{"--token", secure.Invite(identity.RoleTerminal, "x"), "--credentials-dir", "/dev/null"},
			1, "/dev/null is not a directory", identity.FilesUnreadable,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPhone(t)
			p.writeFile("tcp_cwnd_bounds", "flush\ndst 10.0.4.1/32 100 150\n") // of an agent that was killed
			arguments := append([]string{"run", "--mac", "02:00:00:00:01:0a"}, flags...)
			command := p.command(append(arguments, test.arguments...)...)
			output, err := command.CombinedOutput()
			if command.ProcessState.ExitCode() != test.code || !strings.Contains(string(output), test.message) {
				t.Errorf("%v, %s", err, output)
			}
			if test.code == 1 && p.rules() != "flush\n" {
				t.Errorf("rules are %q", p.rules())
			}
			if test.code != 1 {
				return
			}
			if text, code := p.status(); code != 3 || !strings.Contains(text, test.message) {
				t.Errorf("status %d\n%s", code, text)
			}
			text, _ := p.status("--json")
			var view struct{ Credentials identity.Status }
			if err := json.Unmarshal([]byte(text), &view); err != nil || view.Credentials.LastErrorCode != test.status {
				t.Errorf("%v, %s", err, text)
			}
		})
	}
}

// Whatever starts agents would start it again and again if it ended.
func TestAPhoneWhoseTokenIsRefusedShowsWhatToDo(t *testing.T) {
	t.Parallel()
	c, secure, flags := startSecure(t)
	p := newPhone(t)
	path := tokenFile(t, secure.Authority.Token())
	agent := p.startWith(t.Output(), append(flags, "--token-file", path)...)
	text := ""
	eventually(t, "a refusal", func() bool {
		text, _ = p.status()
		return strings.Contains(text, "the controller refused: the token is unknown (PermissionDenied)\n")
	})
	for _, want := range []string{"enrolled     not yet\n", "to do        the controller never made this token, "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text, code := p.status("--json")
	var view struct{ Credentials identity.Status }
	if err := json.Unmarshal([]byte(text), &view); err != nil || code != 0 ||
		view.Credentials.LastErrorCode != identity.TokenUnknown {
		t.Errorf("%v, %d, %s", err, code, text)
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	if err := os.WriteFile(path, []byte(secure.Invite(identity.RoleTerminal, "phone-7")), 0o600); err != nil {
		t.Fatal(err)
	}
	p.startWith(t.Output(), append(flags, "--token-file", path)...)
	c.report(t, "first", func(report *airboundv1.TerminalReport) bool { return report.GetAgent() != nil })
}

// A phone in plain text connects to no controller that wants TLS, and the other way round.
func TestPlainTextIsNeverAFallback(t *testing.T) {
	t.Parallel()
	_, secure, flags := startSecure(t)
	plain := startController(t, "127.0.0.1:0")
	p := newPhone(t)
	agent := p.startWith(t.Output(), append(flags, "--token", secure.Invite(identity.RoleTerminal, "x"))...)
	eventually(t, "enrolled", func() bool {
		text, _ := p.status()
		return strings.Contains(text, "enrolled     spiffe://")
	})
	_ = agent.Process.Kill()
	_ = agent.Wait()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p.startWith(log, append(flags, "--controller", plain.address)[2:]...)
	eventually(t, "a handshake that failed", func() bool {
		text, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(text), "authentication handshake failed")
	})
	if len(plain.streams) > 0 {
		t.Error("connected in plain text")
	}
}

// Certificates that last 20 s are renewed every 10 to 13 s. Each time the stream moves to another connection; bounds
// with a lease, which is long enough for a machine that is busy, stay in force all the time.
func TestRenewalsOfTheCertificateReleaseNoBounds(t *testing.T) {
	t.Parallel()
	const (
		life, leaseMS, renewals = 20 * time.Second, 15_000, 2
		bounds                  = "flush\ndst 10.0.4.1/32 100 150\n"
	)
	p := newPhone(t)
	c, secure, flags := startSecure(t)
	secure.Set(func(b *credentialstest.Behaviour) { b.Life = life })
	p.startWith(t.Output(), append(flags, "--token", secure.Invite(identity.RoleTerminal, "x"))...)
	serials := map[string]bool{}
	inForce := false
	var stream grpc.BidiStreamingServer[request, response]
	var lastSent, lastReport time.Time
	deadline := time.Now().Add(timeout + 10*life)
	for len(serials) <= renewals {
		if time.Now().After(deadline) {
			t.Fatalf("%d certificates", len(serials))
		}
		select {
		case stream = <-c.streams:
			presented, err := credentialstest.Presented(stream.Context())
			if err != nil {
				t.Fatal(err)
			}
			serials[presented.SerialNumber.String()] = true
			if err := stream.Send(setBounds(1, leaseMS, destination("10.0.4.1/32", 100, 150))); err != nil {
				t.Fatal(err)
			}
			lastSent = time.Now()
			if inForce {
				t.Logf("new stream %v after the last report", time.Since(lastReport).Round(time.Millisecond))
			}
		case <-c.reports:
			lastReport = time.Now()
		case <-time.After(5 * time.Millisecond):
		}
		if stream != nil && time.Since(lastSent) > 2*time.Second {
			_ = stream.Send(renewal(1, leaseMS)) // The stream may have moved in this moment.
			lastSent = time.Now()
		}
		switch rules := p.rules(); {
		case rules == bounds:
			inForce = true
		case inForce && rules != "":
			t.Fatalf("after %d certificates the last transaction is %q", len(serials), rules)
		}
	}
	if got := secure.Counts(); got.Enrolments != 1 || got.Renewals < renewals {
		t.Errorf("%+v", got)
	}
}
