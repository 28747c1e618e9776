// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/identity"
)

// reasonKey is where a controller's trailing metadata have the code of its reason.
const reasonKey = "airbound-reason"

// failedError is an error with a code.
type failedError struct {
	code identity.FailureCode
	err  error
}

func (e *failedError) Error() string { return e.err.Error() }

func (e *failedError) Unwrap() error { return e.err }

// withCode adds a code to an error that has none.
func withCode(code identity.FailureCode, err error) error {
	var failed *failedError
	if err == nil || errors.As(err, &failed) {
		return err
	}
	return &failedError{code, err}
}

// codeOf is the code of an error; empty for nil.
func codeOf(err error) identity.FailureCode {
	var failed *failedError
	var refused *refusedError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failed):
		return failed.code
	case errors.As(err, &refused):
		return refused.code()
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return identity.DiskFull
	case errors.Is(err, unix.EROFS):
		return identity.DiskReadOnly
	default:
		return identity.Failed
	}
}

// refusedError is a controller's refusal, which does not change if it is asked again.
type refusedError struct {
	status       codes.Code
	text, reason string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the controller refused: %s (%s)", e.text, e.status)
}

func (e *refusedError) code() identity.FailureCode {
	if e.reason == "" {
		return identity.Refused
	}
	return identity.FailureCode(e.reason)
}

// answered makes an error of a call readable. The trailer is that of the call; nil if it is not known.
func answered(err error, trailer metadata.MD) error {
	if err == nil {
		return nil
	}
	var answer interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &answer) {
		return err
	}
	found := answer.GRPCStatus()
	reason := ""
	if values := trailer.Get(reasonKey); len(values) > 0 {
		reason = values[0]
	}
	switch found.Code() { //nolint:exhaustive // the other codes may pass
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition,
		codes.Unauthenticated:
		return &refusedError{found.Code(), found.Message(), reason}
	}
	code := identity.FailureCode(reason)
	if reason == "" {
		code = identity.ControllerUnreachable
	}
	return withCode(code, errors.New(found.Message()))
}
