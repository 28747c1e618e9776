// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"log/slog"
	"regexp"
)

// causes decides how loud an error is logged: as a warning the first time, later for who looks for it.
type causes struct{ seen map[string]bool }

// causesMax is how many are remembered.
const causesMax = 16

// localAddress is the part of an error that is another one at each attempt.
var localAddress = regexp.MustCompile(`[^ ]+->`)

func (c *causes) level(err error) slog.Level {
	cause := localAddress.ReplaceAllString(err.Error(), "")
	if c.seen[cause] {
		return slog.LevelDebug
	}
	if c.seen == nil || len(c.seen) == causesMax {
		c.seen = map[string]bool{}
	}
	c.seen[cause] = true
	return slog.LevelWarn
}

// forget makes every error a new one.
func (c *causes) forget() { c.seen = nil }
