// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"strings"
)

// Silence is about the connections that wait for their retransmission timers at one moment: whether one of them has
// been answered since. It goes by /proc/net/tcp and tcp6, which every kernel has.
type Silence struct{ waiting map[ends]struct{} }

// NewSilence reads the tables of the moment. The error is about a line that cannot be read.
func NewSilence(tables [][]byte) (*Silence, error) {
	found := map[ends]timer{}
	for _, table := range tables {
		if err := parse(table, found); err != nil {
			return nil, fmt.Errorf("list the connections that wait: %w", err)
		}
	}
	made := &Silence{make(map[ends]struct{}, len(found))}
	for each := range found {
		made.waiting[each] = struct{}{}
	}
	return made, nil
}

// Waiting is how many of the connections wait still, as the last tables had them.
func (s *Silence) Waiting() int { return len(s.waiting) }

// States in which all that was sent is acknowledged: FIN_WAIT2 and TIME_WAIT.
var acknowledged = map[string]bool{"05": true, "06": true}

// Answered reports whether one of the connections has been answered: something that it had sent was acknowledged.
// Connections that are gone were given up, and are no longer waited for.
func (s *Silence) Answered(tables [][]byte) (bool, error) {
	answered := false
	listed := make(map[ends]struct{}, len(s.waiting))
	for _, table := range tables {
		err := eachConnection(table, func(columns []string) error {
			connection := ends{columns[localColumn], columns[remoteColumn]}
			if _, waited := s.waiting[connection]; !waited {
				return nil
			}
			state := columns[stateColumn]
			switch {
			case acknowledged[state]:
				answered = true
			case !canWait[state]:
			case len(columns) <= retransmitsColumn:
				return fmt.Errorf("it has %d columns, not %d", len(columns), columnsMin)
			case strings.Trim(columns[retransmitsColumn], "0") == "":
				answered = true
			default:
				listed[connection] = struct{}{}
			}
			return nil
		})
		if err != nil {
			return false, fmt.Errorf("look for answers: %w", err)
		}
	}
	s.waiting = listed
	return answered, nil
}
