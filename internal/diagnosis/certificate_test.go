// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/identity"
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
	of := func(e diagnosis.Enrolment, now time.Time) []diagnosis.Finding {
		e.Device = phone
		findings, _, _ := diagnosis.Certificate(e, now)
		return findings
	}
	const id = "spiffe://test.example/terminal/phone-7"
	expect(t, "there", of(diagnosis.Enrolment{Directory: directory}, now), "ok "+id+", until ")
	expect(t, "no file of its token", of(diagnosis.Enrolment{Directory: directory, TokenFile: "/nowhere"}, now),
		"ok "+id)
	expect(t, "with a token", of(diagnosis.Enrolment{Directory: directory, Token: token}, now), "ok "+id,
		"warning the token is not needed any more")
	expect(t, "with a file", of(diagnosis.Enrolment{Directory: directory, TokenFile: tokenFile}, now), "ok "+id,
		"warning the token is not needed any more")
	expect(t, "ended", of(diagnosis.Enrolment{Directory: directory}, now.Add(2*time.Hour)), "failed "+id+", ended ")
	expect(t, "plain text", of(diagnosis.Enrolment{PlainText: true, Directory: directory}, now), "warning plain text")

	none := filepath.Join(t.TempDir(), "none")
	expect(t, "nothing", of(diagnosis.Enrolment{Directory: none}, now), "failed none, and no token to get one")
	expect(t, "a token", of(diagnosis.Enrolment{Directory: none, Token: token}, now), "ok the agent enrols when it")
	expect(t, "a file", of(diagnosis.Enrolment{Directory: none, TokenFile: tokenFile}, now), "ok the agent enrols")
	expect(t, "half a token", of(diagnosis.Enrolment{Directory: none, Token: token[:9]}, now),
		"failed the token has 9 characters")
	expect(t, "no such file", of(diagnosis.Enrolment{Directory: none, TokenFile: "/nowhere"}, now),
		"failed none, and no token: read the token: open /nowhere")

	if err := os.Chmod(tokenFile, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, "others read it", of(diagnosis.Enrolment{Directory: none, TokenFile: tokenFile}, now),
		"failed is open to others: its mode is 0644")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, "a pipe", of(diagnosis.Enrolment{Directory: none, TokenFile: pipe}, now), "failed "+pipe+" is no file")

	accessPoint := controller.Enrolled(t, identity.RoleAccessPoint)
	expect(t, "of an access point", of(diagnosis.Enrolment{Directory: accessPoint}, now), "failed not of role terminal")
	if err := os.WriteFile(filepath.Join(directory, "key.pem"), []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := of(diagnosis.Enrolment{Directory: directory}, now)
	expect(t, "damaged", damaged, "failed key.pem")
	if strings.Contains(damaged[0].Found, "enrol it") {
		t.Errorf("%+v", damaged[0])
	}
}

// OpenWrt's agent runs as user network, and who looks is root.
func TestTheCertificateOfAnAgentWithAUserOfItsOwn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files to another user; `make test` as root runs it")
	}
	const other = 12345
	directory := credentialstest.Start(t, nil).Enrolled(t, identity.RoleTerminal)
	left := filepath.Join(directory, "certificate.pem.new")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(directory, "lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	give := func(uid int, names ...string) {
		for _, name := range names {
			if err := os.Chown(filepath.Join(directory, name), uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	give(other, "", "key.pem", "certificate.pem", "authorities.pem", "certificate.pem.new")
	look := func() []diagnosis.Finding {
		findings, _, _ := diagnosis.Certificate(diagnosis.Enrolment{Device: phone, Directory: directory}, time.Now())
		return findings
	}
	expect(t, "of another user", look(), "ok spiffe://test.example/terminal/phone-7, until ")
	if _, err := os.Stat(left); err != nil {
		t.Errorf("who looks has removed a file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(directory, "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("who looks has made a lock that the agent cannot open: %v", err)
	}
	give(0, "key.pem")
	expect(t, "a key of root's", look(), "failed key.pem belongs to user 0, the agent runs as user 12345")
}

// connections are the findings about connections with the directory's certificate, or with a token.
func connections(t *testing.T, controller, port string, e diagnosis.Enrolment) []diagnosis.Finding {
	t.Helper()
	e.Device = phone
	_, _, device := diagnosis.Certificate(e, time.Now())
	return diagnosis.Connections(t.Context(), []string{controller}, []string{port}, e, device, time.Now())
}

func TestConnections(t *testing.T) {
	t.Parallel()
	controller := credentialstest.Start(t, nil)
	directory := diagnosis.Enrolment{Directory: controller.Enrolled(t, identity.RoleTerminal)}
	fresh := diagnosis.Enrolment{Directory: "/nowhere", Token: controller.Invite(identity.RoleTerminal, "x")}
	streams, port := controller.Streams, controller.Enrolment
	expect(t, "enrolled", connections(t, streams, port, directory), "ok controller "+streams+": TCP in ")
	expect(t, "not enrolled yet", connections(t, streams, port, fresh),
		"ok controller ", "ok enrolment at "+port+": TCP in ")
	expect(t, "no token", connections(t, streams, port, diagnosis.Enrolment{Directory: "/nowhere"}), "ok controller ")
	told := connections(t, streams, port, diagnosis.Enrolment{PlainText: true})
	expect(t, "plain text at TLS", told, "failed TLS is spoken there: remove plain-text")
	expect(t, "another's token", connections(t, streams, port, diagnosis.Enrolment{
		Directory: "/nowhere", Token: credentialstest.NewAuthority(t, "other").Token(),
	}), "ok controller ", "failed no certificate that the server sent has the fingerprint in the token")
	wrong := connections(t, port, port, directory)
	expect(t, "the port of enrolment", wrong, "failed it asks for no certificate: not the port of agents")
	expectStep(t, "the port of enrolment", wrong[0], "agents connect to 50051")
	wrong = connections(t, port, streams, fresh)
	expect(t, "both ports changed places", wrong, "failed it asks for no certificate",
		"failed it asks for a certificate: not the port of enrolment")
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
	e := diagnosis.Enrolment{Directory: credentialstest.Start(t, nil).Enrolled(t, identity.RoleTerminal)}
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
		"127.0.0.1:1":                   {"failed connection refused", "start the controller, or check address and"},
		"no..name:50051":                {"failed lookup no..name", "has a DNS server"},
		"127.0.0.1:no-such-port-at-all": {"failed lookup tcp/no-such-port-at-all", "check the name"},
	} {
		got := connections(t, address, "", e)
		expect(t, address, got, want[0])
		if !strings.Contains(got[0].Do, want[1]) {
			t.Errorf("%+v", got[0])
		}
	}
}

// A controller in plain text, and others that are none.
func TestServersInPlainText(t *testing.T) {
	t.Parallel()
	plain := diagnosis.Enrolment{PlainText: true}
	secure := diagnosis.Enrolment{
		Directory: credentialstest.Start(t, nil).Enrolled(t, identity.RoleTerminal),
	}
	controller := grpc.NewServer()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = controller.Serve(listener) }()
	defer controller.Stop()
	address := listener.Addr().String()
	expect(t, "plain text", connections(t, address, "", plain), "ok plain text")
	told := connections(t, address, "", secure)
	expect(t, "TLS at plain text", told, "failed but TLS: ")
	expectStep(t, "TLS at plain text", told[0], "no TLS is spoken there: check the port")

	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	address = web.Listener.Addr().String()
	told = connections(t, address, "", plain)
	expect(t, "a web server", told, "failed not as a controller in plain text: it answers \"HTTP/1.1 ")
	expectStep(t, "a web server", told[0], "check the port")
	told = connections(t, address, "", secure)
	expect(t, "TLS at a web server", told, "failed but TLS: ")
	expectStep(t, "TLS at a web server", told[0], "no TLS is spoken there")
}

// The certificate of a controller that its operator did not renew.
func TestAControllerWhoseCertificateHasEnded(t *testing.T) {
	t.Parallel()
	controller := credentialstest.Start(t, nil)
	e := diagnosis.Enrolment{Directory: controller.Enrolled(t, identity.RoleTerminal)}
	controller.Set(func(b *credentialstest.Behaviour) {
		ended := credentialstest.ControllerLeaf()
		ended.NotBefore, ended.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		b.Server = b.Authority.Server(ended)
	})
	told := connections(t, controller.Streams, "", e)
	expect(t, "ended", told, "failed certificate has expired")
	expectStep(t, "ended", told[0], "renew the controller's certificate")
}
