// SPDX-License-Identifier: Apache-2.0

package survey

import "testing"

// Each series has its limit: a server that sends more often does not end those of the phone.
func TestPacketsBeyondTheLimitAreCounted(t *testing.T) {
	t.Parallel()
	var log Log
	log.down = make([]packet, PacketsMax)
	if log.ReceivedDown(Down{Sequence: 1}, 1) || log.LeftOut != 1 {
		t.Errorf("%d left out", log.LeftOut)
	}
	if sequence, noted := log.Sent(TCPUp, 1); sequence != 1 || !noted {
		t.Errorf("record %d, %t", sequence, noted)
	}
	log.up[UDPUp] = make([]packet, PacketsMax)
	if sequence, noted := log.Sent(UDPUp, 1); noted || log.LeftOut != 2 || len(log.up[UDPUp]) != PacketsMax {
		t.Errorf("datagram %d, %t, %d left out", sequence, noted, log.LeftOut)
	}
	log.events = make([]event, PacketsMax)
	log.Event(1, "association")
	if got := log.Summary(); got.LeftOut != 3 || got.Events != PacketsMax {
		t.Errorf("%+v", got)
	}
}
