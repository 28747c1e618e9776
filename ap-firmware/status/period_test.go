// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/status"
)

func TestTextOfTheTimeBeforeASwitchOfTheModeAndSince(t *testing.T) {
	t.Parallel()
	observed := &status.Period{
		Mode: status.ModeObserve, UploadSeconds: 610, CarriedKbps: 24_300, RTTUS: 412_000, Uploaders: 3.1,
	}
	const notYet = "not known yet: two devices or more must upload for 60 s\n"
	for name, test := range map[string]struct {
		mode          string
		before, since *status.Period
		want          string
	}{
		"both": {
			status.ModeControl, observed,
			&status.Period{Mode: status.ModeControl, UploadSeconds: 60, CarriedKbps: 38_900, Uploaders: 3},
			"mode         control: the controller controls this cell\n" +
				"before       observe: 24.3 Mb/s, RTT 412.0 ms, while 3.1 devices uploaded, for 10m10s\n" +
				"since then   control: 38.9 Mb/s, while 3.0 devices uploaded, for 1m0s\n",
		},
		"nothing yet": {
			status.ModeObserve, nil, &status.Period{Mode: status.ModeObserve, UploadSeconds: 59},
			"mode         observe: the controller applies nothing here, until `airbound mode control`\n" +
				"before       " + notYet + "since then   " + notYet,
		},
		"a controller that does not say": {"", observed, observed, ""},
	} {
		state := running()
		state.Mode, state.Before, state.Since = test.mode, test.before, test.since
		text := status.NewView(true, state, nil, 0).Text()
		if test.want == "" && strings.Contains(text, "\nmode ") || !strings.Contains(text, test.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
