// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestADeviceEnrolsOnceAndNeedsNothingElse(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := config(t, c)
	tokenFile := filepath.Join(t.TempDir(), "token")
	write(t, tokenFile, c.Invite(identity.RoleTerminal, name)+"\nto be used once until 2026-11-23 14:16 UTC\n")
	cfg.TokenFile = tokenFile
	d := start(t, cfg)
	expect(t, "state", d.connects, true)
	first := next(t, "stream", served.opened)
	status := d.lastStatus()
	if status.ID != id || status.LastError != "" || !status.NotAfter.After(status.NextRenewal) ||
		!status.NextRenewal.After(time.Now()) {
		t.Errorf("%+v", status)
	}
	d.stop()
	want := map[string]os.FileMode{
		"key.pem": 0o600, "certificate.pem": 0o644, "authorities.pem": 0o644, "lock": 0o600,
	}
	if got := files(t, cfg.Directory); !maps.Equal(got, want) {
		t.Errorf("files: %v", got)
	}
	if info, err := os.Stat(cfg.Directory); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("%v, %v", info, err)
	}

	// Init scripts keep the flag; the file may be gone, and the controller's port for enrolment closed.
	if err := os.Remove(tokenFile); err != nil {
		t.Fatal(err)
	}
	again := start(t, cfg)
	expect(t, "state", again.connects, true)
	served.await(t, first)
	if !again.logged("enrolled already, the token is not used") {
		t.Error("not logged")
	}
	again.stop()
	cfg.TokenFile = ""
	without := start(t, cfg)
	served.await(t, first)
	if without.logged("token") {
		t.Error("a token was logged that is not there")
	}
	if got := c.Counts(); got.Enrolments != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAnAnswerThatWasLostIsAskedForWithTheSameKey(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	c.Set(func(b *credentialstest.Behaviour) { b.LoseAnswers = 1 << 20 })
	d := start(t, cfg)
	d.awaitError("enrol: the answer was lost")
	// The device loses power.
	d.stop()
	c.Set(func(b *credentialstest.Behaviour) { b.LoseAnswers = 1 })
	again := start(t, cfg)
	expect(t, "state", again.connects, true)
	eventually(t, "no error", func() bool { return again.lastStatus().LastError == "" })
	if got := files(t, cfg.Directory); len(got) != 4 {
		t.Errorf("files: %v", got)
	}
}

// A device whose token is refused does not ask again and again. It shows why, and takes another token at once.
func TestEnrolmentIsRefused(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	used := c.Invite(identity.RoleTerminal, name)
	first := config(t, c)
	first.Token = used
	finish(t, first)
	expired := c.Invite(identity.RoleTerminal, name)
	c.Expire(expired)
	for token, want := range map[string]struct {
		code identity.FailureCode
		text string
	}{
		used: {identity.TokenUsed, "enrol: the controller refused: the token was used (PermissionDenied)"},
		expired: {
			identity.TokenExpired, "enrol: the controller refused: the token has expired (PermissionDenied)",
		},
		c.Authority.Token(): {
			identity.TokenUnknown, "enrol: the controller refused: the token is unknown (PermissionDenied)",
		},
		c.Invite(identity.RoleAccessPoint, "roof"): {
			identity.TokenOfAnotherRole,
			"enrol: the controller refused: the token is for the role access-point (PermissionDenied)",
		},
	} {
		cfg := config(t, c)
		cfg.TokenFile = filepath.Join(t.TempDir(), "token")
		write(t, cfg.TokenFile, token)
		before := c.Counts()
		d := start(t, cfg)
		d.awaitError(want.text)
		if got := d.lastStatus(); got.ID != "" || got.LastErrorCode != want.code || got.LastError != want.text ||
			got.LastErrorCode.Advice() == "" {
			t.Errorf("%+v", got)
		}
		eventually(t, "what to do, in the log", func() bool {
			return d.logged("what_to_do=") && d.logged("level=ERROR")
		})
		write(t, cfg.TokenFile, "half a token")
		time.Sleep(100 * time.Millisecond) // ten looks at the file, and many times the back-off of other errors
		write(t, cfg.TokenFile, c.Invite(identity.RoleTerminal, name))
		eventually(t, "enrolled by another token", func() bool { return d.lastStatus().ID == id })
		after := c.Counts()
		asked := after.Enrolments + after.RefusedEnrolments - before.Enrolments - before.RefusedEnrolments
		if asked != 2 {
			t.Errorf("%s: asked %d times", want.code, asked)
		}
		if got := d.lastStatus(); got.LastErrorCode != "" {
			t.Errorf("%+v", got)
		}
		d.stop()
	}
}

// A token that was put into the wrong device is still good for the right one.
func TestATokenForAnotherRoleIsNotUsedUp(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleAccessPoint, "roof")
	wrong := start(t, cfg)
	wrong.awaitError("the token is for the role access-point")
	wrong.stop()
	right := config(t, c)
	right.Role, right.Token = identity.RoleAccessPoint, cfg.Token
	d := start(t, right)
	eventually(t, "enrolled", func() bool {
		return d.lastStatus().ID == "spiffe://test.example/access-point/roof" && d.lastStatus().LastError == ""
	})
	if got := c.Counts(); got.Enrolments != 1 || got.RefusedEnrolments != 1 {
		t.Errorf("%+v", got)
	}
}

// An older controller does not know what a device needs: its answer is not taken.
func TestAControllerThatDoesNotLookAtTheRole(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	c.Set(func(b *credentialstest.Behaviour) { b.AnyRole = true })
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleAccessPoint, "roof")
	const want = "enrol: the token is one for the role access-point, not for the role terminal: the certificate in " +
		"the answer is that of spiffe://test.example/access-point/roof, want spiffe://test.example/terminal/"
	d := start(t, cfg)
	d.awaitError(want)
	got := d.lastStatus()
	if got.ID != "" || got.LastErrorCode != identity.TokenOfAnotherRole || got.LastError != want {
		t.Errorf("%+v", got)
	}
}

func TestATokenInTheConfigurationIsCorrectedAtTheNextStart(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := config(t, c)
	cfg.Token = c.Authority.Token()
	d := start(t, cfg)
	d.awaitError("the token is unknown")
	d.stop()
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	finish(t, cfg)
}

// Each of these is tried again: the device may be in another network, or the controller be repaired.
func TestWrongServersGetNoToken(t *testing.T) {
	t.Parallel()
	leaf := func(change func(*credentialstest.Leaf)) func(*credentialstest.Behaviour) {
		return func(b *credentialstest.Behaviour) {
			leaf := credentialstest.ControllerLeaf()
			change(&leaf)
			b.Server = b.Authority.Server(leaf)
		}
	}
	tests := map[string]struct {
		change func(*credentialstest.Behaviour)
		want   string
	}{
		"another authority": {func(b *credentialstest.Behaviour) {
			b.Server = credentialstest.NewAuthority(t, "other").Server(credentialstest.ControllerLeaf())
		}, "has the fingerprint in the token"},
		"the authority is sent, another one signed": {func(b *credentialstest.Behaviour) {
			other := credentialstest.NewAuthority(t, "other").Server(credentialstest.ControllerLeaf())
			other.Certificate[1] = b.Authority.Certificate.Raw
			b.Server = other
		}, "unknown authority"},
		"the authority is not sent": {func(b *credentialstest.Behaviour) {
			b.Server.Certificate = b.Server.Certificate[:1]
		}, "has the fingerprint in the token"},
		"a terminal": {leaf(func(leaf *credentialstest.Leaf) { leaf.URIs = []string{id} }), "not of a controller"},
		"a client": {
			leaf(func(leaf *credentialstest.Leaf) { leaf.Usage = x509.ExtKeyUsageClientAuth }),
			"incompatible key usage",
		},
		"expired": {
			leaf(func(leaf *credentialstest.Leaf) { leaf.NotAfter = time.Now().Add(-time.Second) }), "expired",
		},
		"no URI":  {leaf(func(leaf *credentialstest.Leaf) { leaf.URIs = nil }), "has no URI"},
		"TLS 1.2": {func(b *credentialstest.Behaviour) { b.VersionMax = tls.VersionTLS12 }, "protocol version"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := credentialstest.Start(t, nil)
			cfg := config(t, c)
			cfg.Token = c.Invite(identity.RoleTerminal, "x")
			right := c.Server
			copied := *right
			c.Set(func(b *credentialstest.Behaviour) {
				b.Server = &copied
				test.change(b)
			})
			d := start(t, cfg)
			d.awaitError(test.want)
			c.Set(func(b *credentialstest.Behaviour) { b.Server, b.VersionMax = right, 0 })
			eventually(t, "enrolled by the right one", func() bool { return d.lastStatus().ID != "" })
			if got := c.Counts(); got.Enrolments != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWrongAnswersAreRefused(t *testing.T) {
	t.Parallel()
	leaf := func(change func(*credentialstest.Leaf)) func(*credentialstest.Leaf, *airboundv1.Credentials) {
		return func(leaf *credentialstest.Leaf, _ *airboundv1.Credentials) { change(leaf) }
	}
	other := credentialstest.NewAuthority(t, "other")
	otherKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		alter func(*credentialstest.Leaf, *airboundv1.Credentials)
		want  string
	}{
		"another key": {
			leaf(func(leaf *credentialstest.Leaf) { leaf.Public = otherKey.Public() }), "is for another key",
		},
		"another trust domain": {leaf(func(leaf *credentialstest.Leaf) {
			leaf.URIs = []string{"spiffe://other.example/terminal/x"}
		}), "is that of spiffe://other.example/terminal/x, want spiffe://test.example/terminal/"},
		"two URIs": {leaf(func(leaf *credentialstest.Leaf) { leaf.URIs = append(leaf.URIs, id) }), "2 URIs"},
		"no URI":   {leaf(func(leaf *credentialstest.Leaf) { leaf.URIs = nil }), "no URI"},
		"for servers": {
			leaf(func(leaf *credentialstest.Leaf) { leaf.Usage = x509.ExtKeyUsageServerAuth }),
			"incompatible key usage",
		},
		"expired": {leaf(func(leaf *credentialstest.Leaf) {
			leaf.NotBefore, leaf.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(-time.Second)
		}), "expired"},
		"another authority signed": {func(leaf *credentialstest.Leaf, answer *airboundv1.Credentials) {
			answer.Certificate = other.Issue(*leaf).Raw
		}, "unknown authority"},
		"the token's authority is left out": {func(leaf *credentialstest.Leaf, answer *airboundv1.Credentials) {
			answer.Certificate, answer.Authorities = other.Issue(*leaf).Raw, [][]byte{other.Certificate.Raw}
		}, "the authority in the token is not among"},
		"garbage": {func(_ *credentialstest.Leaf, answer *airboundv1.Credentials) {
			answer.Certificate = []byte("garbage")
		}, "read the certificate in the answer"},
		"garbage as authority": {func(_ *credentialstest.Leaf, answer *airboundv1.Credentials) {
			answer.Authorities = [][]byte{{}}
		}, "read authority 1 in the answer"},
		"too many authorities": {func(_ *credentialstest.Leaf, answer *airboundv1.Credentials) {
			answer.Authorities = make([][]byte, 17)
		}, "has 17 authorities"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := credentialstest.Start(t, nil)
			cfg := config(t, c)
			cfg.Token = c.Invite(identity.RoleTerminal, "x")
			c.Set(func(b *credentialstest.Behaviour) { b.Alter = test.alter })
			d := start(t, cfg)
			d.awaitError(test.want)
			if got := files(t, cfg.Directory); got["certificate.pem"] != 0 {
				t.Errorf("written: %v", got)
			}
			c.Set(func(b *credentialstest.Behaviour) { b.Alter = nil })
			eventually(t, "enrolled by the right answer", func() bool { return d.lastStatus().ID != "" })
		})
	}
}

func TestWithoutACertificateAndATokenTheErrorSaysHowToEnrol(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := config(t, c)
	d, err := open(t, cfg)
	if got := d.lastStatus(); got.LastErrorCode != identity.NotEnrolled || got.LastError != "start: "+err.Error() {
		t.Errorf("%+v", got)
	}
	if !errors.Is(err, credentials.ErrNotEnrolled) ||
		!strings.Contains(err.Error(), "`airbound enroll terminal NAME`") ||
		!strings.Contains(err.Error(), "--token-file FILE") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(cfg.Directory); err == nil {
		t.Error("a directory was made")
	}
	for text, want := range map[string]string{
		"":          "the token has 0 characters",
		"something": "the token has 9 characters",
	} {
		cfg.TokenFile = filepath.Join(t.TempDir(), "token")
		write(t, cfg.TokenFile, text)
		d, err := open(t, cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if got := d.lastStatus(); got.LastErrorCode != identity.TokenMalformed {
			t.Errorf("%+v", got)
		}
	}
	cfg.TokenFile = "/nowhere/token"
	d, err = open(t, cfg)
	if err == nil || !strings.Contains(err.Error(), "read the token: open /nowhere/token") {
		t.Errorf("%v", err)
	}
	if got := d.lastStatus(); got.LastErrorCode != identity.TokenUnreadable {
		t.Errorf("%+v", got)
	}
}

func TestAFileWithATokenIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := config(t, c)
	cfg.TokenFile = filepath.Join(t.TempDir(), "token")
	write(t, cfg.TokenFile, c.Invite(identity.RoleTerminal, name))
	refused := func(want string) {
		t.Helper()
		d, err := open(t, cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if got := d.lastStatus(); got.LastErrorCode != identity.TokenUnreadable {
			t.Errorf("%+v", got)
		}
	}
	for _, mode := range []os.FileMode{0o604, 0o602, 0o620, 0o666, 0o601} {
		if err := os.Chmod(cfg.TokenFile, mode); err != nil {
			t.Fatal(err)
		}
		refused(fmt.Sprintf("is open to others: its mode is %#o; make a new token, and chmod 600", mode))
	}
	for _, mode := range []os.FileMode{0o640, 0o400} {
		if err := os.Chmod(cfg.TokenFile, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, cfg); err != nil {
			t.Errorf("%#o: %v", mode, err)
		}
	}
	cfg.TokenFile = t.TempDir()
	refused("is no file")
	cfg.TokenFile = filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(cfg.TokenFile, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("is no file")
	cfg.TokenFile = filepath.Join(t.TempDir(), "large")
	write(t, cfg.TokenFile, strings.Repeat("x", 65_537))
	refused("has more than 65536 bytes")
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	otherKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	other := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	truncate := func(name string) func(t *testing.T, directory string) {
		return func(t *testing.T, directory string) {
			t.Helper()
			path := filepath.Join(directory, name)
			write(t, path, read(t, path)[:100])
		}
	}
	content := func(name, text string) func(t *testing.T, directory string) {
		return func(t *testing.T, directory string) {
			t.Helper()
			write(t, filepath.Join(directory, name), text)
		}
	}
	tests := map[string]struct {
		damage func(t *testing.T, directory string)
		want   string
	}{
		"truncated certificate": {truncate("certificate.pem"), "certificate.pem is truncated"},
		"truncated authorities": {truncate("authorities.pem"), "authorities.pem is truncated"},
		"truncated key":         {truncate("key.pem"), "key.pem is truncated"},
		"empty certificate":     {content("certificate.pem", ""), "certificate.pem is empty"},
		"another key":           {content("key.pem", other), "has another key than"},
		"garbage in PEM": {
			content("certificate.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "malformed",
		},
		"no key": {func(t *testing.T, directory string) {
			t.Helper()
			if err := os.Remove(filepath.Join(directory, "key.pem")); err != nil {
				t.Fatal(err)
			}
		}, "read the key: "},
		"the key is for everyone": {func(t *testing.T, directory string) {
			t.Helper()
			if err := os.Chmod(filepath.Join(directory, "key.pem"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "key.pem is not private to its owner: its mode is 0644; chmod go= "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := enrolled(t, c)
			test.damage(t, cfg.Directory)
			before := contents(t, cfg.Directory)
			d, err := open(t, cfg)
			if got := d.lastStatus(); got.LastErrorCode != identity.FilesDamaged {
				t.Errorf("%+v", got)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "enrol it: ") {
				t.Errorf("%v", err)
			}
			// With a token that was used long ago, as one that stays in the configuration was.
			cfg.Token = c.Authority.Token()
			d = start(t, cfg)
			d.awaitError("the token is unknown")
			if got := d.lastStatus(); got.LastErrorCode != identity.TokenUnknown ||
				!strings.Contains(got.LastError, "cannot be used: ") || !strings.Contains(got.LastError, test.want) {
				t.Errorf("%+v", got)
			}
			d.stop()
			if got := contents(t, cfg.Directory); !maps.Equal(got, before) {
				t.Errorf("changed: %v, were %v", slices.Collect(maps.Keys(got)), slices.Collect(maps.Keys(before)))
			}
			cfg.Token = c.Invite(identity.RoleTerminal, "again")
			d = start(t, cfg)
			eventually(t, "enrolled again", func() bool { return strings.HasSuffix(d.lastStatus().ID, "/again") })
			for name, content := range before {
				if got := contents(t, cfg.Directory)[name+".damaged"]; got != content {
					t.Errorf("%s was not kept: %q", name, got)
				}
			}
		})
	}
}

// contents returns what is in the files of a directory, but for the key that was asked for and the lock.
func contents(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name := range files(t, directory) {
		if name != "lock" && name != "next-key.pem" {
			found[name] = read(t, filepath.Join(directory, name))
		}
	}
	return found
}

// Neither is it replaced if there is a token: it is that of another agent.
func TestTheCertificateOfAnotherRoleIsRefused(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := enrolled(t, c)
	before := contents(t, cfg.Directory)
	cfg.Role = identity.RoleAccessPoint
	const want = "is the certificate of " + id + ", not of role access-point"
	for _, token := range []string{"", c.Invite(identity.RoleAccessPoint, "roof")} {
		cfg.Token = token
		d, err := open(t, cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
		if got := d.lastStatus(); got.LastErrorCode != identity.CertificateOfOtherRole {
			t.Errorf("%+v", got)
		}
	}
	if got := contents(t, cfg.Directory); !maps.Equal(got, before) {
		t.Error("changed")
	}
}

func TestADirectoryThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	cfg := enrolled(t, credentialstest.Start(t, nil))
	for _, mode := range []os.FileMode{0o755, 0o710, 0o701, 0o770} {
		if err := os.Chmod(cfg.Directory, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, cfg); err == nil || !strings.Contains(err.Error(), "is not private to its owner") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	cfg.Directory = file
	if _, err := open(t, cfg); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("%v", err)
	}
	cfg.Directory, cfg.Token = "/dev/null/credentials", cfg.Directory
	if _, err := open(t, cfg); err == nil {
		t.Error("no error")
	}
}

// A directory in the way of a file stands for a full disk.
func TestADiskThatTakesNoKeyDelaysEnrolment(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	inTheWay := filepath.Join(cfg.Directory, "next-key.pem.new", "x")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, cfg)
	d.awaitError("enrol: write " + filepath.Join(cfg.Directory, "next-key.pem"))
	if got := c.Counts(); got.Enrolments != 0 {
		t.Errorf("asked without a key on the disk: %+v", got)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	eventually(t, "enrolled", func() bool { return d.lastStatus().ID == id })
}

func TestADiskThatTakesNoCertificateDoesNotStopTheAgent(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	inTheWay := filepath.Join(cfg.Directory, "certificate.pem.new", "x")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, cfg)
	expect(t, "state", d.connects, true)
	d.awaitError("write " + filepath.Join(cfg.Directory, "certificate.pem"))
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	eventually(t, "written", func() bool { return files(t, cfg.Directory)["certificate.pem"] == 0o644 })
	eventually(t, "no error", func() bool { return d.lastStatus().LastError == "" })
	d.stop()
	cfg.Token = ""
	again := start(t, cfg)
	expect(t, "state", again.connects, true)
	if got := c.Counts(); got.Enrolments != 1 || got.Renewals != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAgentsOfOneDeviceEnrolOnce(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	var serials []string
	for range 5 {
		start(t, cfg)
	}
	for range 5 {
		serials = append(serials, next(t, "stream", served.opened))
	}
	for _, serial := range serials {
		if serial != serials[0] {
			t.Errorf("certificates %v", serials)
		}
	}
	if got := c.Counts(); got.Enrolments != 1 {
		t.Errorf("%+v", got)
	}
}

// The end of an agent between two writes of an enrolment or renewal.
func TestEveryMomentOfAReplacementCanBeRead(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := enrolled(t, c)
	serial := serialIn(t, cfg.Directory)
	key := read(t, filepath.Join(cfg.Directory, "key.pem"))
	// The key has not been written yet; there is none, or the one before.
	otherDirectory := enrolled(t, c).Directory
	for _, before := range []string{"", read(t, filepath.Join(otherDirectory, "key.pem"))} {
		write(t, filepath.Join(cfg.Directory, "next-key.pem"), key)
		write(t, filepath.Join(cfg.Directory, "key.pem"), before)
		d := start(t, cfg)
		served.await(t, serial)
		d.stop()
		if got := read(t, filepath.Join(cfg.Directory, "key.pem")); got != key {
			t.Error("the next key has not become the key")
		}
	}
	// A file that was being written.
	write(t, filepath.Join(cfg.Directory, "next-key.pem"), "-----BEGIN")
	write(t, filepath.Join(cfg.Directory, "next-key.pem.new"), "-----BEGIN")
	start(t, cfg)
	served.await(t, serial)
}

func TestPlainTextNeedsNoDevice(t *testing.T) {
	t.Parallel()
	err := credentials.RunStream(t.Context(), nil, controllerclient.Config{},
		controllerclient.Stream[request, response]{})
	if err == nil || !strings.Contains(err.Error(), "controller address is empty") {
		t.Errorf("%v", err)
	}
}
