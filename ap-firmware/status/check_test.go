// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/status"
)

func TestTextOfACheck(t *testing.T) {
	t.Parallel()
	last := &status.CheckResult{Line: "carried +50%", Verdict: "It is worth it."}
	for name, test := range map[string]struct {
		check *status.Check
		runs  bool
		want  string
	}{
		"asked for": {&status.Check{ID: "1"}, true, "check        asked for; the controller has not answered yet\n"},
		"under way": {&status.Check{ID: "1", Turn: 4, Turns: 12}, true, "check        turn 4 of 12\n"},
		"refused":   {&status.Check{ID: "1", Refusal: "too soon"}, false, "check        none: too soon\n"},
		"ended": {
			&status.Check{ID: "1", Turn: 4, Turns: 12, Refusal: "an operator chose a mode"}, false,
			"check        no result, in turn 4 of 12: an operator chose a mode\n",
		},
		"over": {
			&status.Check{ID: "1", Turn: 12, Turns: 12, Line: "carried +50%", Verdict: "It is worth it here."}, false,
			"check        It is worth it here.\n             carried +50%\n",
		},
		"refused after a result": {
			&status.Check{ID: "2", Refusal: "too soon", Last: last}, false,
			"check        none: too soon\nlast check   It is worth it.\n             carried +50%\n",
		},
		"under way after a result": {
			&status.Check{ID: "2", Turn: 1, Turns: 12, Last: last}, true,
			"check        turn 1 of 12\nlast check   It is worth it.\n             carried +50%\n",
		},
		"none": {nil, false, ""},
	} {
		state := running()
		state.Check = test.check
		text := status.NewView(true, state, nil, 0).Text()
		if test.want == "" && strings.Contains(text, "\ncheck ") || !strings.Contains(text, test.want) {
			t.Errorf("%s: %s", name, text)
		}
		if test.check.Runs() != test.runs {
			t.Errorf("%s: runs %v", name, test.check.Runs())
		}
	}
}

func FuzzParseCheckRequest(f *testing.F) {
	f.Add([]byte(`{"id":"1","asked_monotonic_us":5}`))
	f.Add([]byte(`{"id":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if request, err := status.ParseCheckRequest(text); err != nil && request != (status.CheckRequest{}) {
			t.Errorf("%+v with %v", request, err)
		}
	})
}
