// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"testing"

	"github.com/airbound/airbound/phone-agent/handover/core"
)

// No record is lost, delivered twice, or out of order, whatever happens to connections, datagrams and the server.
func TestEveryRecordIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*session){
		"faults":          func(*session) {},
		"restarts":        func(s *session) { s.restarts = true },
		"newest first":    func(s *session) { s.settings.NewestFirst, s.serving.NewestFirst = true, true },
		"newest, restart": func(s *session) { s.settings.NewestFirst, s.restarts = true, true },
		"forgetful":       func(s *session) { s.restarts, s.forgetful = true, true },
		"no UDP":          func(s *session) { s.noUDP = true },
		"no side channel": func(s *session) { s.settings.NoUDP, s.settings.NoNotices = true, true },
		"irregular":       func(s *session) { s.settings.Periodic, s.serving.Periodic = false, false },
		"paper alone":     func(s *session) { s.settings.AtOnce = false },
		"little memory": func(s *session) {
			s.settings.OutboxBytes, s.settings.InboxBytes = 700, 400
			s.serving.OutboxBytes, s.serving.InboxBytes = 700, 300
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var total core.Stats
			const seeds = 20
			for seed := range uint64(seeds) {
				s := newSession(t, seed, change)
				s.faults = true
				const steps = 1000
				for range steps {
					s.step()
				}
				s.finish()
				s.check(&s.up, "up")
				s.check(&s.down, "down")
				checkMemory(t, s)
				checkCounts(t, s)
				stats := s.phone.Stats()
				total.Failovers += stats.Failovers
				total.SwitchesAtOnce += stats.SwitchesAtOnce
				total.SwitchesByNotice += stats.SwitchesByNotice
				total.SwitchesBySilence += stats.SwitchesBySilence
				total.ServerRestarts += stats.ServerRestarts
				total.Resent += stats.Resent
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("switches: %d at once, %d by notice, %d by silence, %d since a connection broke; %d restarts, "+
				"%d records sent again", total.SwitchesAtOnce, total.SwitchesByNotice, total.SwitchesBySilence,
				total.Failovers, total.ServerRestarts, total.Resent)
		})
	}
}

func checkMemory(t *testing.T, s *session) {
	t.Helper()
	phone, server := s.phone.Stats(), s.server.Stats()
	if phone.OutboxBytes != 0 || phone.InboxBytes != 0 || server.OutboxBytes != 0 || server.InboxBytes != 0 {
		t.Errorf("memory that is left: phone %+v, server %+v", phone, server)
	}
	if phone.RefusedFrames != 0 || server.RefusedFrames != 0 || phone.RecordsMissed != 0 {
		t.Errorf("refused or missed: phone %+v, server %+v", phone, server)
	}
}

// checkCounts: each record is counted once at both ends. A server that started again counts from 0.
func checkCounts(t *testing.T, s *session) {
	t.Helper()
	phone, server := s.phone.Stats(), s.server.Stats()
	if phone.ServerRestarts != 0 {
		return
	}
	for _, way := range []struct {
		name           string
		sent, received core.Stats
	}{{"up", phone, server}, {"down", server, phone}} {
		sent, received := way.sent, way.received
		if sent.Sent != received.Received || sent.BytesSent != received.BytesReceived {
			t.Errorf("%s: sent %+v, received %+v", way.name, sent, received)
		}
	}
}
