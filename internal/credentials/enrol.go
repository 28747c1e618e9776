// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/airbound/airbound/internal/backoff"
	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// callTimeout limits one attempt to enrol or renew. Where the RTT is seconds it takes four of them.
const callTimeout = 30 * time.Second

// enrol tries until the device is enrolled or ctx ends.
//
// A refusal does not change if the same token is tried again soon. The agent does not end, since whatever starts agents
// would start it again, and it would ask again, every few seconds and for ever; and its status says what is wrong.
func (d *Device) enrol(ctx context.Context) error {
	wait := backoff.Backoff{Min: d.cfg.enrolWaitMin, Max: d.cfg.enrolWaitMax}
	refusals := backoff.Backoff{Min: d.cfg.refusedWaitMin, Max: d.cfg.refusedWaitMax}
	for ctx.Err() == nil {
		err := d.asWellAsDamaged(d.replace(ctx))
		if d.current() != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the device is enrolled; a full disk is tried again beside the stream
		}
		if isRefusal(err) {
			d.waitForToken(ctx, err, refusals.Next())
			continue
		}
		d.retryIn(ctx, enrolling, err, wait.Next())
	}
	return nil
}

func isRefusal(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) || codeOf(err) == identity.TokenOfAnotherRole
}

// waitForToken records a refusal, and waits: for so long, or until the file has another token.
func (d *Device) waitForToken(ctx context.Context, err error, delay time.Duration) {
	log := d.cfg.Logger.Debug
	if d.record(enrolling, err) {
		log = d.cfg.Logger.Error
	}
	log("this device is not enrolled", "error", err, "code", codeOf(err), "what_to_do", codeOf(err).Advice(),
		"retry_in", delay.Round(time.Millisecond))
	refused, _ := d.token()
	for end := time.Now().Add(delay); time.Now().Before(end) && ctx.Err() == nil; {
		backoff.Sleep(ctx, min(time.Until(end), d.cfg.pollInterval))
		if found, err := d.token(); err == nil && found != refused {
			return
		}
	}
}

// retryIn records and logs an error, and waits.
func (d *Device) retryIn(ctx context.Context, operation string, err error, delay time.Duration) {
	isNews := d.record(operation, err)
	log := d.cfg.Logger.Debug
	if isNews {
		log = d.cfg.Logger.Warn
	}
	log("cannot "+operation, "error", err, "code", codeOf(err), "retry_in", delay.Round(time.Millisecond))
	backoff.Sleep(ctx, delay)
}

// replace gets a certificate: by enrolment if there is none, or one that has ended and a token; otherwise by renewal.
func (d *Device) replace(ctx context.Context) (err error) {
	if err := d.directory.create(); err != nil {
		return err
	}
	unlock, err := d.directory.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	current := d.current()
	// Another agent of the device may have been first.
	loaded, loadErr := d.load()
	if loadErr == nil && loaded != nil && (current == nil || isNewer(loaded, current)) {
		d.taken(loaded, "took over the certificate that another agent of this device got")
		return nil
	}
	if mustStay(loadErr) {
		return loadErr
	}
	key, err := d.directory.nextKey(current)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var got *set
	operation := "renewed the certificate"
	if current == nil || d.ended() && d.hasReadableToken() {
		operation = "enrolled"
		got, err = d.callEnroll(ctx, key)
	} else {
		got, err = d.callRenew(ctx, key, current)
	}
	if err != nil {
		if current != nil && d.ended() {
			// Also if the controller is not reached: then that the clock is wrong is as probable.
			err = withCode(identity.CertificateEnded,
				fmt.Errorf("the certificate has ended, a new token is needed: %w", err))
		}
		return err
	}
	if loadErr != nil {
		err = d.directory.keepDamaged()
	}
	if err == nil {
		err = d.directory.install(got)
	}
	// The device can connect even if the disk is full.
	d.setUnsaved(err != nil)
	d.taken(got, operation)
	return err
}

// hasReadableToken reports whether enrolment can be tried; an operator may have put a new token into the file.
func (d *Device) hasReadableToken() bool {
	_, err := d.token()
	return err == nil
}

func isNewer(one, other *set) bool { return one.certificate.NotAfter.After(other.certificate.NotAfter) }

func (d *Device) taken(s *set, what string) {
	d.take(s)
	d.damaged = nil
	d.record(enrolling, nil)
	d.record(renewing, nil)
	d.report()
	d.cfg.Logger.Info(what, "id", s.id, "until", s.certificate.NotAfter.UTC())
}

func (d *Device) callEnroll(ctx context.Context, key crypto.Signer) (*set, error) {
	token, err := d.token()
	if err != nil {
		return nil, err
	}
	request, err := signingRequest(key)
	if err != nil {
		return nil, err
	}
	pinned := &pin{token: token, clock: &d.clock}
	conn, err := controllerclient.NewConnection(controllerclient.Config{
		Addresses: d.cfg.Enrolment, TLS: tlsVerifiedBy(pinned.verify), Logger: d.cfg.Logger, Dialed: d.cfg.Dialed,
	})
	if err != nil {
		return nil, err
	}
	var trailer metadata.MD
	response, err := airboundv1.NewEnrollmentServiceClient(conn).Enroll(ctx, &airboundv1.EnrollRequest{
		Token: token.Secret(), Request: request, Role: d.cfg.Role,
	}, grpc.Trailer(&trailer))
	authority, trustDomain, pinErr := pinned.verified()
	err = answered(err, trailer)
	if err != nil && pinErr != nil {
		err = &failedError{codeOf(pinErr), err} // TLS passes the text on only.
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		return nil, err
	}
	return checkAnswer(response.GetCredentials(), expected{
		key: key, id: identity.ID{TrustDomain: trustDomain, Role: d.cfg.Role}, pinned: authority, now: d.clock.now(),
	})
}

func (d *Device) callRenew(ctx context.Context, key crypto.Signer, current *set) (*set, error) {
	request, err := signingRequest(key)
	if err != nil {
		return nil, err
	}
	conn, err := controllerclient.NewConnection(controllerclient.Config{
		Addresses: d.cfg.Controllers, TLS: d.TLS(), Logger: d.cfg.Logger, Dialed: d.cfg.Dialed,
	})
	if err != nil {
		return nil, err
	}
	var trailer metadata.MD
	response, err := airboundv1.NewCertificateServiceClient(conn).Renew(ctx,
		&airboundv1.RenewRequest{Request: request}, grpc.Trailer(&trailer))
	if err := errors.Join(answered(err, trailer), conn.Close()); err != nil {
		return nil, err
	}
	return checkAnswer(response.GetCredentials(), expected{key: key, id: current.id, now: d.clock.now()})
}
