// SPDX-License-Identifier: Apache-2.0

package guard

import "time"

// ReadyWithin shortens the wait for a guard that does not become ready.
func (g *Guard) ReadyWithin(limit time.Duration) { g.readyTimeout = limit }
