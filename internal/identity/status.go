// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/json"
	"fmt"
	"time"
)

// Status is what `status` shows of an agent's certificate. A running agent writes it to a file of its state directory.
type Status struct {
	// PlainText means that the agent was started without certificates.
	PlainText bool `json:"plain_text"`
	// ID is the URI of the certificate; empty if the device is not enrolled.
	ID       string    `json:"id,omitempty"`
	NotAfter time.Time `json:"not_after,omitzero"`
	// NextRenewal is when renewal is tried next.
	NextRenewal time.Time `json:"next_renewal,omitzero"`
	// LastError is what went wrong last and has not succeeded since, LastErrorSince the first time that it did.
	LastError      string      `json:"last_error,omitempty"`
	LastErrorCode  FailureCode `json:"last_error_code,omitempty"`
	LastErrorSince time.Time   `json:"last_error_since,omitzero"`
}

// ParseStatus reads such a file.
func ParseStatus(text []byte) (Status, error) {
	var status Status
	if err := json.Unmarshal(text, &status); err != nil {
		return Status{}, fmt.Errorf("parse the status of the certificate: %w", err)
	}
	return status, nil
}

// timeFormat is that of times a person reads, in UTC.
const timeFormat = "2006-01-02 15:04:05 UTC"

// Describe prints the status for a person, one line at a time.
func (s *Status) Describe(line func(label, format string, values ...any)) {
	switch {
	case s == nil:
		return
	case s.PlainText:
		line("enrolled", "no: connections are plain text")
		return
	case s.ID == "":
		line("enrolled", "not yet")
	default:
		line("enrolled", "%s", s.ID)
		line("certificate", "until %s, next renewal %s", s.NotAfter.UTC().Format(timeFormat),
			s.NextRenewal.UTC().Format(timeFormat))
	}
	if s.LastError == "" {
		return
	}
	line("", "since %s: %s", s.LastErrorSince.UTC().Format(timeFormat), s.LastError)
	if advice := s.LastErrorCode.Advice(); advice != "" {
		line("to do", "%s", advice)
	}
}
