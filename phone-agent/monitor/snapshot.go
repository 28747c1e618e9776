// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"errors"
	"fmt"

	"github.com/airbound/airbound/phone-agent/proctext"
)

// Source is where snapshots come from: a way to ask the kernel for its TCP connections.
type Source interface {
	// Snapshot returns every connection of the network namespace now. An error that wraps ErrMalformed means that the
	// kernel answered something that cannot be read, any other that it could not be asked.
	Snapshot() (Snapshot, error)
}

// Marker knows the DSCPs of connections where the Source does not.
type Marker interface {
	// Mark fills in the DSCPs of a snapshot; that of a connection that has just begun or ended may be missing. After an
	// error all are.
	Mark(snapshot *Snapshot) error
}

// ErrMalformed is wrapped by errors of a Source about what the kernel returned.
var ErrMalformed = errors.New("malformed monitor data")

// Snapshot is one reading of the kernel's connections.
type Snapshot struct {
	Connections []Connection
	// RefusedTotal is how many entries were refused; Refused has the first few of them.
	RefusedTotal uint64
	Refused      []Refusal
}

// Refusal is an entry that was refused. In a file, line 1 is the header.
type Refusal struct {
	Line   int
	Reason string
}

func (r Refusal) String() string { return fmt.Sprintf("line %d: %s", r.Line, r.Reason) }

// Refuse counts an entry that could not be read.
func (s *Snapshot) Refuse(line int, reason string) {
	s.RefusedTotal++
	if len(s.Refused) < proctext.RefusalsKept {
		s.Refused = append(s.Refused, Refusal{Line: line, Reason: reason})
	}
}
