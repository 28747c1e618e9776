// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/backoff"
	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// callTimeout limits one attempt to enrol or renew. Where the RTT is seconds it takes four of them.
const callTimeout = 30 * time.Second

// refusedError is a controller's refusal, which does not change if it is asked again.
type refusedError struct {
	code   codes.Code
	reason string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the controller refused: %s (%s)", e.reason, e.code)
}

// answered makes an error of a call readable.
func answered(err error) error {
	if err == nil {
		return nil
	}
	var answer interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &answer) {
		return err
	}
	found := answer.GRPCStatus()
	switch found.Code() { //nolint:exhaustive // the other codes may pass
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition,
		codes.Unauthenticated:
		return &refusedError{found.Code(), found.Message()}
	}
	return errors.New(found.Message())
}

// enrol tries until the device is enrolled, ctx ends, or the controller refuses.
func (d *Device) enrol(ctx context.Context) error {
	wait := backoff.Backoff{Min: d.cfg.enrolWaitMin, Max: d.cfg.enrolWaitMax}
	for ctx.Err() == nil {
		err := d.replace(ctx)
		if d.current() != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the device is enrolled; a full disk is tried again beside the stream
		}
		if refused := (&refusedError{}); errors.As(err, &refused) {
			d.record(enrolling, err)
			return fmt.Errorf("enrol: %w", err)
		}
		d.retryIn(ctx, enrolling, err, wait.Next())
	}
	return nil
}

// retryIn records and logs an error, and waits.
func (d *Device) retryIn(ctx context.Context, operation string, err error, delay time.Duration) {
	isNews := d.record(operation, err)
	log := d.cfg.Logger.Debug
	if isNews {
		log = d.cfg.Logger.Warn
	}
	log("cannot "+operation, "error", err, "retry_in", delay.Round(time.Millisecond))
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
	key, err := d.directory.nextKey()
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
			err = fmt.Errorf("the certificate has ended, a new token is needed: %w", err)
		}
		return err
	}
	err = d.directory.install(got)
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
	response, err := airboundv1.NewEnrollmentServiceClient(conn).Enroll(ctx, &airboundv1.EnrollRequest{
		Token: token.Secret(), Request: request,
	})
	if err := errors.Join(answered(err), conn.Close()); err != nil {
		return nil, err
	}
	authority, trustDomain := pinned.verified()
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
	response, err := airboundv1.NewCertificateServiceClient(conn).Renew(ctx, &airboundv1.RenewRequest{Request: request})
	if err := errors.Join(answered(err), conn.Close()); err != nil {
		return nil, err
	}
	return checkAnswer(response.GetCredentials(), expected{key: key, id: current.id, now: d.clock.now()})
}
