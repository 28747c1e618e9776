// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
)

func surveyOf(activeMS, busyMS, rxMS, txMS uint64) *nl80211.Survey {
	return &nl80211.Survey{
		FrequencyMHz: 2437, InUse: true, ActiveMS: new(activeMS), BusyMS: busyMS, RXMS: rxMS, TXMS: txMS,
	}
}

func TestSurveysThatCannotBeTrueAreRefused(t *testing.T) {
	moved := surveyOf(50_000, 40_000, 0, 0)
	moved.FrequencyMHz = 2462
	for name, test := range map[string]struct {
		surveys []*nl80211.Survey
		// refusals are parts of the reasons, empty for a survey that is reported.
		refusals []string
	}{
		"of a mt7915": { // gluon#3786
			[]*nl80211.Survey{surveyOf(118_920_779, 4_593_741_717_453_407, 0, 0)},
			[]string{"busy time, 4593741717453407 ms, exceeds the channel's, 118920779 ms"},
		},
		"all of it":      {[]*nl80211.Survey{surveyOf(100, 100, 100, 100)}, []string{""}},
		"a bit too much": {[]*nl80211.Survey{surveyOf(100, 101, 0, 0)}, []string{"busy"}},
		"receiving":      {[]*nl80211.Survey{surveyOf(100, 100, 101, 0)}, []string{"rx"}},
		"transmitting":   {[]*nl80211.Survey{surveyOf(100, 100, 0, 101)}, []string{"tx"}},
		"it heals": {
			[]*nl80211.Survey{
				surveyOf(1000, 500, 0, 0), surveyOf(2000, 1<<40, 0, 0), surveyOf(3000, 1500, 0, 0),
				surveyOf(4000, 1600, 0, 0),
			},
			[]string{"", "exceeds", "went back", ""},
		},
		"a jump below the channel's time": {
			[]*nl80211.Survey{
				surveyOf(9000, 500, 0, 0), surveyOf(10_000, 5000, 0, 0), surveyOf(11_000, 5500, 0, 0),
			},
			[]string{"", "busy time grew by 4500 ms within 1000 ms", ""},
		},
		"cut to milliseconds": {
			[]*nl80211.Survey{surveyOf(1000, 500, 0, 0), surveyOf(1001, 511, 0, 0), surveyOf(1002, 523, 0, 0)},
			[]string{"", "", "grew by 12 ms within 1 ms"},
		},
		"the radio restarted": {
			[]*nl80211.Survey{surveyOf(9000, 500, 9, 9), surveyOf(100, 90, 1, 1)}, []string{"", ""},
		},
		"another channel": {[]*nl80211.Survey{surveyOf(49_000, 500, 9, 9), moved}, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var (
				reporter report.Reporter
				total    uint64
			)
			for i, survey := range test.surveys {
				in := sample()
				in.Kernel.Survey = survey
				got := reporter.Next(in)
				refused := test.refusals[i] != ""
				if refused {
					total++
				}
				if (got.GetSurvey() == nil) != refused || (got.GetSurveyRefusal() != "") != refused ||
					!strings.Contains(got.GetSurveyRefusal(), test.refusals[i]) ||
					got.GetSurveysRefusedTotal() != total {
					t.Errorf("survey %d: %v, want %q and %d", i, got, test.refusals[i], total)
				}
			}
		})
	}
}

func TestAbsurdSurveyDoesNotWrap(t *testing.T) {
	var reporter report.Reporter
	in := sample()
	// 2^61 ms * 1000 is 0 in 64 bits.
	in.Kernel.Survey = surveyOf(1<<61, 5, 1<<60, 0)
	const most = math.MaxUint64 / 1000 * 1000
	got := reporter.Next(in).GetSurvey()
	if got.GetActiveUs() != most || got.GetRxUs() != most || got.GetBusyUs() != 5000 {
		t.Fatalf("survey is %v, want %d us at most", got, uint64(most))
	}
}
