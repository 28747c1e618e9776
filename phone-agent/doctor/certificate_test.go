// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/phone-agent/doctor"
)

func TestCertificate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	controller := credentialstest.Start(t, nil)
	directory := controller.Enrolled(t, identity.RoleTerminal)
	token := controller.Invite(identity.RoleTerminal, "other")
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token+"\nhow to use it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(e doctor.Enrolment, now time.Time) []doctor.Finding {
		findings, _, _ := doctor.Certificate(e, now)
		return findings
	}
	const id = "spiffe://test.example/terminal/phone-7"
	expect(t, "there", of(doctor.Enrolment{Directory: directory}, now), "ok "+id+", until ")
	expect(t, "the file of its token removed", of(doctor.Enrolment{Directory: directory, TokenFile: "/nowhere"}, now),
		"ok "+id)
	expect(t, "with a token", of(doctor.Enrolment{Directory: directory, Token: token}, now), "ok "+id,
		"warning the token is not needed any more")
	expect(t, "with a file", of(doctor.Enrolment{Directory: directory, TokenFile: tokenFile}, now), "ok "+id,
		"warning the token is not needed any more")
	expect(t, "ended", of(doctor.Enrolment{Directory: directory}, now.Add(2*time.Hour)), "failed "+id+", ended ")
	expect(t, "plain text", of(doctor.Enrolment{PlainText: true, Directory: directory}, now), "warning plain text")

	none := filepath.Join(t.TempDir(), "none")
	expect(t, "nothing", of(doctor.Enrolment{Directory: none}, now), "failed none, and no token to get one")
	expect(t, "a token", of(doctor.Enrolment{Directory: none, Token: token}, now), "ok the agent enrols when it starts")
	expect(t, "a file", of(doctor.Enrolment{Directory: none, TokenFile: tokenFile}, now), "ok the agent enrols")
	expect(t, "half a token", of(doctor.Enrolment{Directory: none, Token: token[:9]}, now),
		"failed the token has 9 characters")
	expect(t, "no such file", of(doctor.Enrolment{Directory: none, TokenFile: "/nowhere"}, now),
		"failed the token cannot be read: open /nowhere")

	accessPoint := controller.Enrolled(t, identity.RoleAccessPoint)
	expect(t, "of an access point", of(doctor.Enrolment{Directory: accessPoint}, now), "failed not of role terminal")
	if err := os.WriteFile(filepath.Join(directory, "key.pem"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := of(doctor.Enrolment{Directory: directory}, now)
	expect(t, "damaged", damaged, "failed key.pem")
	if strings.Contains(damaged[0].Found, "enrol it") {
		t.Errorf("%+v", damaged[0])
	}
}

// connections are the findings about connections with the directory's certificate, or with a token.
func connections(t *testing.T, controller, port string, e doctor.Enrolment) []doctor.Finding {
	t.Helper()
	_, _, device := doctor.Certificate(e, time.Now())
	return doctor.Connections(t.Context(), []string{controller}, []string{port}, e, device, time.Now())
}

func TestConnections(t *testing.T) {
	t.Parallel()
	controller := credentialstest.Start(t, nil)
	directory := doctor.Enrolment{Directory: controller.Enrolled(t, identity.RoleTerminal)}
	fresh := doctor.Enrolment{Directory: "/nowhere", Token: controller.Invite(identity.RoleTerminal, "x")}
	streams, port := controller.Streams, controller.Enrolment
	expect(t, "enrolled", connections(t, streams, port, directory), "ok controller "+streams+": TCP in ")
	expect(t, "not enrolled yet", connections(t, streams, port, fresh),
		"ok controller ", "ok enrolment at "+port+": TCP in ")
	expect(t, "no token", connections(t, streams, port, doctor.Enrolment{Directory: "/nowhere"}), "ok controller ")
	expect(t, "plain text", connections(t, streams, port, doctor.Enrolment{PlainText: true}), "ok controller ")
	expect(t, "another's token", connections(t, streams, port, doctor.Enrolment{
		Directory: "/nowhere", Token: credentialstest.NewAuthority(t, "other").Token(),
	}), "ok controller ", "failed no certificate that the server sent has the fingerprint in the token")
	if counts := controller.Counts(); counts.Enrolments != 1 {
		t.Errorf("%+v", counts) // The token was not used.
	}

	// One that does not accept the phone's certificate, as the authority was replaced.
	controller.Set(func(b *credentialstest.Behaviour) {
		b.Trusted = []*credentialstest.Authority{credentialstest.NewAuthority(t, "new")}
	})
	denied := connections(t, streams, port, directory)
	expect(t, "denied", denied, "failed remote error: tls: ")
	if !strings.Contains(denied[0].Do, "enrol again") {
		t.Errorf("%+v", denied[0])
	}
	other := credentialstest.Start(t, nil)
	expect(t, "another controller", connections(t, other.Streams, port, directory), "failed TLS: ")
	other.Set(func(b *credentialstest.Behaviour) { b.VersionMax = tls.VersionTLS12 })
	expect(t, "an old TLS", connections(t, other.Streams, port, directory), "failed protocol version")
}

func TestAControllerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	e := doctor.Enrolment{Directory: credentialstest.Start(t, nil).Enrolled(t, identity.RoleTerminal)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("220 no controller\r\n"))
		}
	}()
	plain := connections(t, listener.Addr().String(), "", e)
	expect(t, "plain text", plain, "failed first record does not look like a TLS handshake")
	if !strings.Contains(plain[0].Do, "no TLS is spoken there") {
		t.Errorf("%+v", plain[0])
	}
	for address, want := range map[string][2]string{
		"127.0.0.1:1":                   {"failed connection refused", "start the controller, or check the port"},
		"no..name:50051":                {"failed lookup no..name", "name a DNS server with --dns"},
		"127.0.0.1:no-such-port-at-all": {"failed lookup tcp/no-such-port-at-all", "check the name"},
	} {
		got := connections(t, address, "", e)
		expect(t, address, got, want[0])
		if !strings.Contains(got[0].Do, want[1]) {
			t.Errorf("%+v", got[0])
		}
	}
}
