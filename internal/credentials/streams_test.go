// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
)

// Several streams have one certificate, one enrolment and one renewal, after which each moves to a connection with the
// new certificate.
func TestARenewalMovesAllStreams(t *testing.T) {
	t.Parallel()
	const streamsTotal = 3
	served := newStreams()
	c := credentialstest.Start(t, served.register)
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	c.Set(func(b *credentialstest.Behaviour) {
		b.Alter, b.RefuseRenewal = old(time.Minute), status.Error(codes.Unavailable, "not yet")
	})
	d, err := open(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	go func() {
		finished <- credentials.RunStreams(ctx, d.Device, func(ctx context.Context) error {
			var group sync.WaitGroup
			for range streamsTotal {
				group.Go(func() {
					// Its only errors are those of the configuration.
					_ = credentials.ConnectStream(ctx, d.Device, controllerclient.Config{
						Addresses: cfg.Controllers, Logger: d.cfg.Logger, BackoffMin: time.Millisecond,
						BackoffMax: 20 * time.Millisecond,
					}, controllerclient.Stream[request, response]{
						Open: connect, Outgoing: make(chan *request),
						Handle: func(*response) {}, OnState: func(bool) {},
					})
				})
			}
			group.Wait()
			return nil
		})
	}()
	first := next(t, "stream", served.opened)
	for range streamsTotal - 1 {
		if serial := next(t, "stream", served.opened); serial != first {
			t.Errorf("%s and %s", serial, first)
		}
	}
	c.Set(func(b *credentialstest.Behaviour) { b.Alter, b.RefuseRenewal = nil, nil })
	eventually(t, "the new certificate is on the disk", func() bool {
		return c.Counts().Renewals == 1 && files(t, cfg.Directory)["next-key.pem"] == 0
	})
	serial := serialIn(t, cfg.Directory)
	for range streamsTotal {
		if got := next(t, "stream with the new certificate", served.opened); got != serial || got == first {
			t.Errorf("%s, want %s", got, serial)
		}
		next(t, "end of a stream with the old one", served.ended)
	}
	cancel()
	if err := <-finished; err != nil {
		t.Error(err)
	}
	if got := c.Counts(); got.Enrolments != 1 || got.Renewals != 1 {
		t.Errorf("%+v", got)
	}
}
