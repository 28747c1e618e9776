// SPDX-License-Identifier: Apache-2.0

package monitor

// Tracked is how many destinations are remembered.
func (a *Aggregator) Tracked() int { return len(a.destinations) }
