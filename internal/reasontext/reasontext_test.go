// SPDX-License-Identifier: Apache-2.0

package reasontext_test

import (
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/airbound/airbound/internal/reasontext"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestEveryCodeOfASetHasASentence(t *testing.T) {
	t.Parallel()
	reason := func(code airboundv1.ReasonCode, subject string) *airboundv1.Reason {
		return &airboundv1.Reason{Code: code, Subject: subject}
	}
	changed := func(code airboundv1.ReasonCode, subject string, before, after float64) *airboundv1.Reason {
		return &airboundv1.Reason{Code: code, Subject: subject, Before: &before, After: &after}
	}
	limited := func(code airboundv1.ReasonCode, after, limit float64) *airboundv1.Reason {
		return &airboundv1.Reason{Code: code, After: &after, Limit: &limit}
	}
	limit := 5.0
	cellStale := reason(airboundv1.ReasonCode_REASON_CODE_CELL_STALE, "02:00:00:00:00:00")
	cellStale.Limit = &limit
	terminalStale := reason(airboundv1.ReasonCode_REASON_CODE_TERMINAL_STALE, "")
	terminalStale.Limit = &limit
	repeated := reason(airboundv1.ReasonCode_REASON_CODE_REPEATED, "")
	repeated.Before = &limit
	tests := []struct {
		reason *airboundv1.Reason
		want   string
	}{
		{nil, "the controller gave no reason"},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_OBSERVE_MODE, ""),
			"the controller only observes",
		},
		{reason(airboundv1.ReasonCode_REASON_CODE_EXEMPT, ""), "an operator exempted this terminal"},
		{reason(airboundv1.ReasonCode_REASON_CODE_NOT_SENDING, ""), "this terminal sends nothing"},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_BACK_END_CANNOT_BOUND, "procfs"),
			"back end procfs cannot set a maximum",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_MAC_CLAIMED_TWICE, "10.0.0.7"),
			"terminal 10.0.0.7 reports the same MAC address",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_ADDRESS_MISMATCH, "10.0.0.7"),
			"the access point reports other IP addresses for this station than 10.0.0.7, where the stream comes from",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_LEFT_CELL, "02:00:00:00:00:00"),
			"the access point of cell 02:00:00:00:00:00 no longer reports this terminal as associated",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_WINDOW_CLAMP_OFF, ""),
			"the controller's configuration leaves the windows of stations alone",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_CANNOT_SET_WINDOWS, "no BPF"),
			"the access point cannot limit windows: no BPF",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_AGENT_BOUNDS, "10.0.0.7"),
			"the station's agent bounds it: terminal 10.0.0.7",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_NO_STATION_TO_LIMIT, ""),
			"no station without a working agent sends",
		},
		{
			changed(airboundv1.ReasonCode_REASON_CODE_STATIONS_LIMITED, "", 0, 2),
			"the number of stations with limited windows changed from 0 to 2",
		},
		{terminalStale, "the controller received no report from this terminal for 5 s"},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_TERMINAL_STALE, ""),
			"the controller received no report from this terminal for too long",
		},
		{cellStale, "the access point of cell 02:00:00:00:00:00 sent no report for 5 s"},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_INTERNAL_ERROR, "ValueError in bdp.py"),
			"the controller failed to decide: ValueError in bdp.py",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_STARTED_SENDING, "10.0.4.1"),
			"this terminal began to send to 10.0.4.1",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_STOPPED_SENDING, "10.0.4.1"),
			"this terminal no longer sends to 10.0.4.1",
		},
		{
			changed(airboundv1.ReasonCode_REASON_CODE_ACTIVE_SENDERS, "", 3, 5),
			"the number of active senders in the cell changed from 3 to 5",
		},
		{
			changed(airboundv1.ReasonCode_REASON_CODE_CONNECTIONS, "", 1, 2),
			"the number of this terminal's sending connections changed from 1 to 2",
		},
		{
			changed(airboundv1.ReasonCode_REASON_CODE_CAPACITY, "", 20_140_000, 15e6),
			"the cell's capacity changed from 20.1 Mb/s to 15 Mb/s",
		},
		{
			changed(airboundv1.ReasonCode_REASON_CODE_MIN_RTT, "10.0.4.1", 4312, 5000),
			"the minimum RTT to 10.0.4.1 changed from 4.3 ms to 5 ms",
		},
		{
			changed(airboundv1.ReasonCode_REASON_CODE_RTT_RATIO, "10.0.4.1", 2, 5.12),
			"the RTT ratio (smoothed / minimum) to 10.0.4.1 changed from 2 to 5.1",
		},
		{reason(airboundv1.ReasonCode_REASON_CODE_POLICY, "bdp"), "policy bdp or a parameter of it was changed"},
		{repeated, "sent again: generation 5 was still reported"},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_EDCA_OFF, ""),
			"the controller's configuration leaves the access point its own EDCA parameters",
		},
		{
			reason(airboundv1.ReasonCode_REASON_CODE_CANNOT_SET_EDCA, "not permitted"),
			"the access point cannot set EDCA parameters: not permitted",
		},
		{
			limited(airboundv1.ReasonCode_REASON_CODE_SWITCH_STATIONS, 12, 2048),
			"the stations of the switch's cell, or what is done for them, changed: 12 (most 2048)",
		},
		{
			limited(airboundv1.ReasonCode_REASON_CODE_METERED, 5000, 50000),
			"a station has no agent that bounds it: 5000 kb/s (most 50000 kb/s)",
		},
		{
			limited(airboundv1.ReasonCode_REASON_CODE_FEW_SENDERS, 2, 3),
			"too few stations send: 2 (fewest 3)",
		},
		{
			limited(airboundv1.ReasonCode_REASON_CODE_DOWNLOADS, 0.4, 0.6),
			"downloads are too much of the payload: 40 % (smallest share of uploads 60 %)",
		},
		{
			limited(airboundv1.ReasonCode_REASON_CODE_UPLOADS, 0.953, 0.6),
			"uploads are a good part of the payload: 95.3 % (smallest share of uploads 60 %)",
		},
		{reason(airboundv1.ReasonCode_REASON_CODE_MALFORMED, ""), "reason REASON_CODE_MALFORMED"},
		{reason(9999, "10.0.4.1"), "reason 9999: 10.0.4.1"},
	}
	seen := map[airboundv1.ReasonCode]bool{}
	for _, test := range tests {
		seen[test.reason.GetCode()] = true
		if got := reasontext.Sentence(test.reason); got != test.want {
			t.Errorf("%v:\ngot  %s\nwant %s", test.reason, got, test.want)
		}
	}
	// Released and changed are the codes that a set of bounds can have.
	for code, name := range airboundv1.ReasonCode_name {
		isOfSets := code >= 20 && code < 40 || code >= 40 && code < 50
		if isOfSets && !seen[airboundv1.ReasonCode(code)] {
			t.Errorf("%s has no sentence", name)
		}
	}
}

func TestValuesThatAreMissingAreLeftOut(t *testing.T) {
	t.Parallel()
	after := 5.0
	for _, test := range []struct {
		reason *airboundv1.Reason
		want   string
	}{
		{
			&airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_ACTIVE_SENDERS, After: &after},
			"the number of active senders in the cell changed to 5",
		},
		{&airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_MIN_RTT}, "the minimum RTT changed"},
		{&airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_FEW_SENDERS}, "too few stations send"},
		{
			&airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_REPEATED},
			"sent again: another generation was still reported",
		},
		{
			&airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_LEFT_CELL, Subject: "\n"},
			"the access point no longer reports this terminal as associated",
		},
	} {
		if got := reasontext.Sentence(test.reason); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestASubjectCannotWriteToATerminalWhatItLikes(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"10.0.4.1":             "10.0.4.1",
		"a\x1b[2J\nb":          "a [2J b",
		"a\xff":                "a?",
		" \t10.0.4.1\r\n":      "10.0.4.1",
		"\u202e1.4.0.01":       "1.4.0.01",
		"\x7f\x00":             "",
		"exempt \u2014 \u00e9": "exempt \u2014 \u00e9",
	} {
		reason := &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_STARTED_SENDING}
		empty := reasontext.Sentence(reason)
		reason.Subject = subject
		got := reasontext.Sentence(reason)
		if want == "" && got != empty || !strings.Contains(got, want) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q: got %q", subject, got)
		}
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"active senders 5, capacity 20.1 Mb/s": reasontext.Inputs(5, 20_140_000),
		"active senders 1":                     reasontext.Inputs(1, 0),
		"capacity 0.1 Mb/s":                    reasontext.Inputs(0, 100_000),
		"":                                     reasontext.Inputs(0, 0),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzSentence: whatever the controller sends, the sentence is one short printable line.
func FuzzSentence(f *testing.F) {
	f.Add(int32(44), "10.0.4.1", 1.5, 2.5, true)
	f.Add(int32(27), " two\nlines\t\x1b[31mred ", math.NaN(), math.Inf(1), true)
	f.Add(int32(-1), "bad \xff byte", -1e308, 1e308, false)
	f.Add(int32(1<<31-1), strings.Repeat("é", 1000), 0.0, 0.0, true)
	f.Fuzz(func(t *testing.T, code int32, subject string, before, after float64, hasValues bool) {
		reason := &airboundv1.Reason{Code: airboundv1.ReasonCode(code), Subject: subject}
		if hasValues {
			reason.Before, reason.After, reason.Limit = &before, &after, &before
		}
		got := reasontext.Sentence(reason)
		isControl := func(r rune) bool { return !unicode.IsPrint(r) }
		if got == "" || len(got) > 300 || strings.ContainsFunc(got, isControl) {
			t.Fatalf("%q", got)
		}
	})
}
