// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"crypto/x509"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// old makes answers contain certificates that are due for renewal at once, and end after some time.
func old(left time.Duration) func(*credentialstest.Leaf, *airboundv1.Credentials) {
	return func(leaf *credentialstest.Leaf, _ *airboundv1.Credentials) {
		leaf.NotBefore, leaf.NotAfter = time.Now().Add(-4*left), time.Now().Add(left)
	}
}

func TestACertificateIsRenewedUnderAnOpenStream(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	c.Set(func(b *credentialstest.Behaviour) {
		b.Alter, b.RefuseRenewal = old(time.Minute), status.Error(codes.Unavailable, "not yet")
	})
	d := start(t, cfg)
	expect(t, "state", d.connects, true)
	c.Set(func(b *credentialstest.Behaviour) { b.Alter, b.RefuseRenewal = nil, nil })
	renewed := func() bool { return c.Counts().Renewals == 1 && d.lastStatus().NextRenewal.After(time.Now()) }
	eventually(t, "renewed", renewed)
	// The stream may have begun with either certificate; in the end there is one, with the new one.
	eventually(t, "the new certificate is on the disk", func() bool {
		return files(t, cfg.Directory)["next-key.pem"] == 0
	})
	serial := serialIn(t, cfg.Directory)
	for next(t, "stream", served.opened) != serial {
		next(t, "end of the stream with the old one", served.ended)
	}
	d.stop()
	if got := c.Counts(); got.Renewals != 1 {
		t.Errorf("%+v", got)
	}
	cfg.Token = ""
	start(t, cfg)
	served.await(t, serial)
}

func TestEachRenewalHasANewKey(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	c.Set(func(b *credentialstest.Behaviour) { b.Alter = old(time.Hour) })
	cfg := enrolled(t, c)
	before := read(t, filepath.Join(cfg.Directory, "key.pem"))
	c.Set(func(b *credentialstest.Behaviour) { b.Alter = nil })
	start(t, cfg)
	eventually(t, "renewed", func() bool {
		key := files(t, cfg.Directory)["key.pem"]
		return key == 0o600 && read(t, filepath.Join(cfg.Directory, "key.pem")) != before
	})
}

func TestARenewalThatIsRefusedIsTriedAgainAndTheStreamGoesOn(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	c.Set(func(b *credentialstest.Behaviour) {
		b.Alter = old(5 * time.Minute)
		b.RefuseRenewal = status.Error(codes.PermissionDenied, "not now")
	})
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	d := start(t, cfg)
	next(t, "stream", served.opened)
	d.awaitError("renew the certificate: the controller refused: not now (PermissionDenied)")
	if got := d.lastStatus(); got.ID != id || got.LastErrorSince.IsZero() || len(served.ended) > 0 {
		t.Errorf("%+v", got)
	}
	c.Set(func(b *credentialstest.Behaviour) { b.Alter, b.RefuseRenewal = nil, nil })
	eventually(t, "renewed", func() bool { return c.Counts().Renewals == 1 && d.lastStatus().LastError == "" })
	next(t, "end of the stream with the old certificate", served.ended)
	next(t, "stream with the new certificate", served.opened)
}

func TestWrongAnswersToARenewalAreRefused(t *testing.T) {
	t.Parallel()
	other := credentialstest.NewAuthority(t, "other")
	tests := map[string]struct {
		alter func(*credentialstest.Leaf, *airboundv1.Credentials)
		want  string
	}{
		"another name": {func(leaf *credentialstest.Leaf, _ *airboundv1.Credentials) {
			leaf.URIs = []string{id + "x"}
		}, "is that of " + id + "x, want " + id},
		"another role": {func(leaf *credentialstest.Leaf, _ *airboundv1.Credentials) {
			leaf.URIs = []string{"spiffe://test.example/operator/" + name}
		}, "want " + id},
		"expired": {old(-time.Second), "expired"},
		"another authority": {func(leaf *credentialstest.Leaf, answer *airboundv1.Credentials) {
			answer.Certificate = other.Issue(*leaf).Raw
		}, "unknown authority"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := credentialstest.Start(t, nil)
			c.Set(func(b *credentialstest.Behaviour) {
				b.Alter, b.RefuseRenewal = old(time.Minute), status.Error(codes.Unavailable, "not yet")
			})
			cfg := config(t, c)
			cfg.Token = c.Invite(identity.RoleTerminal, "phone-7")
			d := start(t, cfg)
			eventually(t, "enrolled", func() bool { return d.lastStatus().ID != "" })
			eventually(t, "written", func() bool { return files(t, cfg.Directory)["key.pem"] != 0 })
			serial := serialIn(t, cfg.Directory)
			c.Set(func(b *credentialstest.Behaviour) { b.Alter, b.RefuseRenewal = test.alter, nil })
			d.awaitError(test.want)
			if got := serialIn(t, cfg.Directory); got != serial {
				t.Error("the certificate was replaced")
			}
		})
	}
}

// An operator replaces the authority: both are trusted, the controller and the devices change one after the other, then
// the old one is dropped.
func TestAuthoritiesAreReplaced(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	c.Set(func(b *credentialstest.Behaviour) { b.Alter = old(time.Hour) })
	cfg := enrolled(t, c)
	before := c.Authority
	after := credentialstest.NewAuthority(t, "after")
	c.Set(func(b *credentialstest.Behaviour) {
		b.Alter, b.Authority, b.Trusted = nil, after, []*credentialstest.Authority{after, before}
	})
	d := start(t, cfg)
	eventually(t, "renewed", func() bool { return c.Counts().Renewals == 1 })
	serial := ""
	eventually(t, "a certificate of the new authority", func() bool {
		serial = serialIn(t, cfg.Directory)
		return files(t, cfg.Directory)["next-key.pem"] == 0 && len(authoritiesIn(t, cfg.Directory)) == 2
	})
	served.await(t, serial)
	// The controller's own certificate follows. New handshakes succeed, the stream in use is not concerned.
	c.Set(func(b *credentialstest.Behaviour) {
		b.Server = after.Server(credentialstest.ControllerLeaf())
		b.Trusted = []*credentialstest.Authority{after}
	})
	d.stop()
	again := start(t, cfg)
	served.await(t, serial)
	again.stop()
	if got := authoritiesIn(t, cfg.Directory); !slices.ContainsFunc(got, after.Certificate.Equal) {
		t.Error("the new authority is missing")
	}
}

func authoritiesIn(t *testing.T, directory string) []*x509.Certificate {
	t.Helper()
	var found []*x509.Certificate
	rest := []byte(read(t, filepath.Join(directory, "authorities.pem")))
	for len(rest) > 0 {
		block, more := decode(rest)
		certificate, err := x509.ParseCertificate(block)
		if err != nil {
			t.Fatal(err)
		}
		found, rest = append(found, certificate), more
	}
	return found
}

func TestACertificateThatHasEnded(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, newStreams().register)
	cfg := enrolled(t, c)
	later := time.Now().Add(90 * time.Minute)
	// Of the controller and the authority none has ended; the phone lay in a drawer.
	c.Set(func(b *credentialstest.Behaviour) {
		leaf := credentialstest.ControllerLeaf()
		leaf.NotAfter = later.Add(time.Hour)
		b.Server, b.Life = b.Authority.Server(leaf), 2*time.Hour
	})
	cfg = credentials.WithWall(cfg, func() time.Time { return later })

	t.Run("is renewed if the controller still takes it", func(t *testing.T) {
		d := start(t, cfg)
		eventually(t, "renewed", func() bool { return c.Counts().Renewals == 1 })
		eventually(t, "until later", func() bool { return d.lastStatus().NotAfter.After(later) })
		d.stop()
	})
	again := later.Add(100 * time.Hour)
	cfg = credentials.WithWall(cfg, func() time.Time { return again })
	t.Run("is replaced by enrolment with a new token", func(t *testing.T) {
		c.Set(func(b *credentialstest.Behaviour) {
			leaf := credentialstest.ControllerLeaf()
			leaf.NotAfter = again.Add(time.Hour)
			b.Server, b.Life = b.Authority.Server(leaf), time.Until(again)+time.Hour
			b.RefuseRenewal = status.Error(codes.PermissionDenied, "ended")
		})
		cfg := cfg
		cfg.TokenFile = filepath.Join(t.TempDir(), "token") // The one of the first enrolment was removed.
		d := start(t, cfg)
		d.awaitError("the certificate has ended, a new token is needed: the controller refused: ended")
		write(t, cfg.TokenFile, c.Invite(identity.RoleTerminal, "again"))
		eventually(t, "enrolled again", func() bool {
			return d.lastStatus().ID == "spiffe://test.example/terminal/again"
		})
	})
}

func TestADeviceThatIsDeniedShowsIt(t *testing.T) {
	t.Parallel()
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	served.refusal.Store(new("the certificate is revoked"))
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	d := start(t, cfg)
	d.awaitError("connect: the controller refused: the certificate is revoked (PermissionDenied)")
	served.refusal.Store(nil)
	eventually(t, "no error", func() bool { return d.lastStatus().LastError == "" })
}

func TestRenewalsAreSpread(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := enrolled(t, c)
	seen := map[time.Time]bool{}
	for range 20 {
		d, err := open(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		at := d.RenewAt()
		seen[at] = true
		// The certificate is valid for an hour from a moment ago on.
		if part := time.Until(at); part < 29*time.Minute || part > 41*time.Minute {
			t.Errorf("renewal is due in %v", part)
		}
	}
	if len(seen) < 15 {
		t.Errorf("of 20 devices only %d renew at different times", len(seen))
	}
}

func TestWaitsBetweenRenewals(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration][2]time.Duration{
		30 * 24 * time.Hour: {time.Minute, time.Hour},
		24 * time.Hour:      {time.Minute, 864 * time.Second},
		time.Hour:           {3600 * time.Millisecond, 36 * time.Second},
		time.Second:         {100 * time.Millisecond, 100 * time.Millisecond},
	} {
		if shortest, longest := credentials.RenewWaits(life); shortest != want[0] || longest != want[1] {
			t.Errorf("%v: %v to %v", life, shortest, longest)
		}
	}
}
