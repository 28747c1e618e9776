// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"encoding/pem"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func decode(text []byte) (block, rest []byte) {
	decoded, rest := pem.Decode(text)
	if decoded == nil {
		return nil, nil
	}
	return decoded.Bytes, rest
}

func TestClocksThatAreWrong(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{
		"1970":             -time.Since(time.Unix(0, 0)),
		"six hours behind": -6 * time.Hour,
		"a minute behind":  -time.Minute,
		"40 minutes ahead": 40 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := newStreams()
			c := credentialstest.Start(t, served.register)
			cfg := credentials.WithWall(config(t, c), func() time.Time { return time.Now().Add(offset) })
			cfg.Token = c.Invite(identity.RoleTerminal, "x")
			d := start(t, cfg)
			expect(t, "state", d.connects, true)
			next(t, "stream", served.opened)
			d.stop()
			cfg.Token = ""
			again := start(t, cfg)
			next(t, "stream after a new start", served.opened)
			// Ahead, the new certificate is due; but not again and again.
			if got := c.Counts().Renewals; got > 2 || offset < 0 && got > 0 {
				t.Errorf("%d renewals", got)
			}
			again.stop()
		})
	}
}

func TestAClockThatIsFarAheadIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, newStreams().register)
	cfg := enrolled(t, c)
	offset := make(chan time.Duration, 1)
	offset <- 1000 * time.Hour
	wrong := credentials.WithWall(cfg, func() time.Time {
		current := <-offset
		offset <- current
		return time.Now().Add(current)
	})
	d := start(t, wrong)
	d.awaitError("has expired or is not yet valid")
	<-offset
	offset <- 0 // NTP has corrected it.
	expect(t, "state", d.connects, true)
	eventually(t, "no error", func() bool { return d.lastStatus().LastError == "" })
}

// A device whose clock stays in 1970 learns from the controllers' certificates that its own is due.
func TestADeviceWithoutAClockRenews(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := credentials.WithWall(config(t, c), func() time.Time { return time.Unix(0, 0) })
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	now := time.Now()
	// The device enrolled 25 days ago, the controller's certificate was renewed an hour ago.
	c.Set(func(b *credentialstest.Behaviour) {
		leaf := credentialstest.ControllerLeaf()
		leaf.NotBefore = now.AddDate(0, 0, -25)
		b.Server = b.Authority.Server(leaf)
		b.Alter = func(leaf *credentialstest.Leaf, _ *airboundv1.Credentials) {
			leaf.NotBefore, leaf.NotAfter = now.AddDate(0, 0, -25), now.AddDate(0, 0, 5)
		}
	})
	d := start(t, cfg)
	expect(t, "state", d.connects, true)
	if got := c.Counts().Renewals; got != 0 {
		t.Errorf("renewed %d times before it could know", got)
	}
	d.stop()
	cfg.Token = ""
	c.Set(func(b *credentialstest.Behaviour) {
		leaf := credentialstest.ControllerLeaf()
		leaf.NotBefore = now.Add(-time.Hour)
		b.Server, b.Alter = b.Authority.Server(leaf), nil
	})
	start(t, cfg)
	eventually(t, "renewed", func() bool { return c.Counts().Renewals == 1 })
}

// A certificate that ended before the device's own began is expired, whatever the device's clock says.
func TestAClockIn1970DoesNotMakeOldCertificatesValid(t *testing.T) {
	t.Parallel()
	c := credentialstest.Start(t, nil)
	cfg := enrolled(t, c)
	c.Set(func(b *credentialstest.Behaviour) {
		leaf := credentialstest.ControllerLeaf()
		leaf.NotBefore, leaf.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		b.Server = b.Authority.Server(leaf)
	})
	d := start(t, credentials.WithWall(cfg, func() time.Time { return time.Unix(0, 0) }))
	d.awaitError("expired")
}
