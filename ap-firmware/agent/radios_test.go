// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

// Where the BSSs of a radio share its queues, the start of one sets them all.
func TestTheSetIsAppliedAgainAfterAnotherBSSOfTheRadioStarts(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	other := newCell(t, time.Second)
	other.radios = c.radios
	other.restart()
	other.agent.Connected(other.nowUS)
	other.pass(time.Second)
	c.command(set(7, time.Minute, queue(be, 5)))
	other.agent.Update(other.nowUS, hostapd.Update{Enabled: true})
	c.start(indexOfWLAN0) // It is of the same radio.
	c.pass(2 * time.Second)
	c.inForceNow("again", bestEffort(5))
	if c.saved.Counters.AppliedAgain != 1 || c.saved.Counters.SetsApplied != 2 {
		t.Errorf("%+v", c.saved.Counters)
	}
	c.pass(time.Minute)
	c.inForce("the lease ended")
}

func TestAMultiLinkDevicesQueuesAreNotSet(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.wireless.Set(nl80211test.Device{Interface: nl80211.Interface{
		Index: indexOfWLAN0, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP,
		Links: []nl80211.Link{{ID: 1, MAC: mac.Address{2, 5: 1}}},
	}})
	c.pass(time.Second)
	c.command(set(7, time.Minute, queue(be, 5)))
	if got := c.state(); got.GetCanSet() || !strings.Contains(got.GetRefusal(), "multi-link") || c.writes > 0 {
		t.Errorf("%v, %d writes", got, c.writes)
	}
	if len(c.saved.Links) != 1 || c.saved.Links[0] != 1 {
		t.Errorf("%+v", c.saved.BSS)
	}
}
