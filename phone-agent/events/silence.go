// SPDX-License-Identifier: Apache-2.0

package events

// Silence notices the first datagram down after a time in which some were expected and none came: the sign of a
// completed handover that needs no event of the system (Hayakawa, Yamaguchi and Oguchi's survey of handovers: what was
// lost and what waited comes back in both directions at the same moment).
type Silence struct {
	// LimitUS is how long a silence has to be.
	LimitUS int64
	// IsPeriodic is set if the peer sends by itself; then each datagram is expected after the one before. Otherwise
	// one is expected after each Expect.
	IsPeriodic bool

	sinceUS  int64
	expected bool
}

// Expect says that a datagram should come. The first call of those without an answer counts.
func (s *Silence) Expect(nowUS int64) {
	if !s.expected {
		s.sinceUS, s.expected = nowUS, true
	}
}

// Forget says that nothing is expected any more: there is another connection, or none.
func (s *Silence) Forget() { s.expected = false }

// Receive takes a datagram over. It returns how long the silence was that it ends; 0 if that is less than the limit, or
// nothing was expected.
func (s *Silence) Receive(nowUS int64) (silentUS int64) {
	if s.expected && nowUS-s.sinceUS >= s.LimitUS {
		silentUS = nowUS - s.sinceUS
	}
	s.expected, s.sinceUS = s.IsPeriodic, nowUS
	return silentUS
}
