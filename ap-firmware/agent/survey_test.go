// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
)

func TestASurveyThatIsRefusedIsNamed(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	c.wireless.Set(nl80211test.Device{
		Interface: nl80211.Interface{
			Index: 3, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP, FrequencyMHz: 2437,
			CenterFrequencyMHz: 2437, WidthMHz: 20,
		},
		Surveys: []nl80211.Survey{{FrequencyMHz: 2437, InUse: true, ActiveMS: new(uint64(10)), BusyMS: 11}},
	})
	c.agent.Connected(c.nowUS)
	reports, _ := c.pass(4 * time.Second)
	last := reports[len(reports)-1]
	if len(reports) != 5 || last.GetSurvey() != nil || last.GetSurveysRefusedTotal() != 5 ||
		!strings.Contains(last.GetSurveyRefusal(), "busy time, 11 ms") || last.GetMalformedInputsTotal() > 0 {
		t.Errorf("%v", reports)
	}
	if got := strings.Count(c.log.String(), "refused the driver's survey"); got != 3 { // The 1st, 2nd and 4th.
		t.Errorf("%d lines: %s", got, c.log.String())
	}
}
