// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
)

// enoughChanges is fewer than any enrolment or renewal makes: below that, the trace is not one.
const enoughChanges = 15

// An agent is killed when it is about to make its first change on the disk, then its second, and so on until it
// finishes. The next start finishes what it began, with the same token.
func TestAnEnrolmentThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	for number := 0; ; number++ {
		cfg := config(t, c)
		cfg.Token = c.Invite(identity.RoleTerminal, name)
		changes, killed := watch(t, filepath.Dir(cfg.Directory), roleOf(c, cfg, false), number)
		checkModes(t, cfg.Directory)
		finish(t, cfg)
		checkSet(t, cfg.Directory)
		if t.Failed() {
			t.Fatalf("killed before change %d, %v", number, last(changes))
		}
		if !killed {
			t.Logf("killed before each of %d changes", number)
			if number < enoughChanges {
				t.Error("too few")
			}
			return
		}
	}
}

// The same with a renewal. The device has no token any more; at each moment it has a certificate.
func TestARenewalThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	template := due(t, c)
	before := keyIn(t, template)
	for number := 0; ; number++ {
		cfg := config(t, c)
		copyDirectory(t, template, cfg.Directory)
		changes, killed := watch(t, filepath.Dir(cfg.Directory), roleOf(c, cfg, true), number)
		checkModes(t, cfg.Directory)
		if _, err := open(t, cfg); err != nil {
			t.Error(err)
		}
		finish(t, cfg)
		if key := checkSet(t, cfg.Directory); key == nil || key.Equal(before) {
			t.Error("the certificate was renewed with the same key")
		}
		if t.Failed() {
			t.Fatalf("killed before change %d, %v", number, last(changes))
		}
		if !killed {
			t.Logf("killed before each of %d changes", number)
			if number < enoughChanges {
				t.Error("too few")
			}
			return
		}
	}
}

func roleOf(c *credentialstest.Controller, cfg credentials.Config, renew bool) agentRole {
	return agentRole{cfg.Directory, cfg.Token, c.Streams, c.Enrolment, renew}
}

// due returns the directory of a device whose certificate is due for renewal, by a controller that would renew it.
func due(t *testing.T, c *credentialstest.Controller) string {
	t.Helper()
	c.Set(func(b *credentialstest.Behaviour) {
		b.Alter, b.RefuseRenewal = old(5*time.Minute), status.Error(codes.Unavailable, "not yet")
	})
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	watch(t, filepath.Dir(cfg.Directory), roleOf(c, cfg, false), -1)
	c.Set(func(b *credentialstest.Behaviour) { b.Alter, b.RefuseRenewal = nil, nil })
	if err := os.RemoveAll(filepath.Join(cfg.Directory, "next-key.pem")); err != nil { // of a renewal before its end
		t.Fatal(err)
	}
	checkSet(t, cfg.Directory)
	return cfg.Directory
}

// finish starts an agent on a directory, and returns when its certificate is on the disk and not due.
func finish(t *testing.T, cfg credentials.Config) {
	t.Helper()
	d := start(t, cfg)
	eventually(t, "enrolled and not due", func() bool {
		if len(d.ended) > 0 {
			t.Fatal(<-d.ended)
		}
		status := d.lastStatus()
		return status.ID == id && status.NextRenewal.After(time.Now()) && status.LastError == ""
	})
	d.stop()
}

// checkModes checks that whatever may be a key is private.
func checkModes(t *testing.T, directory string) {
	t.Helper()
	info, err := os.Stat(directory)
	if err != nil {
		return // It has not been made yet.
	}
	if info.Mode() != os.ModeDir|0o700 {
		t.Errorf("the directory's mode is %v", info.Mode())
	}
	for name, mode := range files(t, directory) {
		switch name {
		case "certificate.pem", "certificate.pem.new", "authorities.pem", "authorities.pem.new":
		default:
			if mode != 0o600 {
				t.Errorf("%s has mode %v", name, mode)
			}
		}
	}
}

// checkSet checks that a directory has a complete set and nothing else, and returns its key.
func checkSet(t *testing.T, directory string) *ecdsa.PrivateKey {
	t.Helper()
	want := map[string]os.FileMode{
		"key.pem": 0o600, "certificate.pem": 0o644, "authorities.pem": 0o644, "lock": 0o600,
	}
	if got := files(t, directory); !maps.Equal(got, want) {
		t.Errorf("files: %v", got)
		return nil
	}
	key := keyIn(t, directory)
	block, _ := pem.Decode([]byte(read(t, filepath.Join(directory, "certificate.pem"))))
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !key.PublicKey.Equal(certificate.PublicKey) {
		t.Errorf("the certificate has another key: %v", err)
	}
	return key
}

func keyIn(t *testing.T, directory string) *ecdsa.PrivateKey {
	t.Helper()
	block, _ := pem.Decode([]byte(read(t, filepath.Join(directory, "key.pem"))))
	if block == nil {
		t.Fatal("the key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("the key is a %T", key)
	}
	return private
}

func copyDirectory(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range files(t, from) { // CopyFS adds rights.
		if err := os.Chmod(filepath.Join(to, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func last(changes []change) string {
	if len(changes) == 0 {
		return "the first"
	}
	done := changes[len(changes)-1]
	return "after " + done.call + " " + done.path
}
