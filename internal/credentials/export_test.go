// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto"
	"crypto/x509"
	"time"

	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Quick returns cfg with waits for a test.
func Quick(cfg Config) Config {
	cfg.enrolWaitMin, cfg.enrolWaitMax, cfg.pollInterval = time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	cfg.refusedWaitMin, cfg.refusedWaitMax = time.Hour, time.Hour
	return cfg
}

// WithWall returns cfg with another clock.
func WithWall(cfg Config, wall func() time.Time) Config {
	cfg.wall = wall
	return cfg
}

// RenewAt returns when renewal is due.
func (d *Device) RenewAt() time.Time {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.renewAt
}

// RenewWaits returns the shortest and the longest wait between two attempts to renew.
func RenewWaits(life time.Duration) (shortest, longest time.Duration) {
	wait := renewWaits(life)
	return wait.Min, wait.Max
}

// CheckAnswer returns whose certificate is in an answer, if all of it is right.
func CheckAnswer(
	answer *airboundv1.Credentials, key crypto.Signer, id identity.ID, authority []byte,
) (identity.ID, error) {
	pinned, err := x509.ParseCertificate(authority)
	if err != nil {
		return identity.ID{}, err
	}
	got, err := checkAnswer(answer, expected{key: key, id: id, pinned: pinned, now: time.Now()})
	if err != nil {
		return identity.ID{}, err
	}
	return got.id, nil
}
