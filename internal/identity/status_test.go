// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/identity"
)

func TestTheStatusAsText(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 12, 31, 1, 0, 0, 0, time.FixedZone("", 3600))
	enrolled := identity.Status{ID: "spiffe://td/terminal/x", NotAfter: end, NextRenewal: end.AddDate(0, 0, -10)}
	failing := enrolled
	failing.LastError, failing.LastErrorSince = "renew the certificate: refused", end.AddDate(0, 0, -9)
	const until = "enrolled:spiffe://td/terminal/x\n" +
		"certificate:until 2026-12-31 00:00:00 UTC, next renewal 2026-12-21 00:00:00 UTC\n"
	tests := map[string]struct {
		status *identity.Status
		want   string
	}{
		"none":       {nil, ""},
		"plain text": {&identity.Status{PlainText: true, LastError: "x"}, "enrolled:no: connections are plain text\n"},
		"not yet": {
			&identity.Status{LastError: "enrol: no route", LastErrorSince: end},
			"enrolled:not yet\n:since 2026-12-31 00:00:00 UTC: enrol: no route\n",
		},
		"with something to do": {
			&identity.Status{LastError: "enrol: disk full", LastErrorCode: identity.DiskFull, LastErrorSince: end},
			"enrolled:not yet\n:since 2026-12-31 00:00:00 UTC: enrol: disk full\n" +
				"to do:delete what is not needed from the disk; the agent goes on trying\n",
		},
		"enrolled": {&enrolled, until},
		"failing":  {&failing, until + ":since 2026-12-22 00:00:00 UTC: renew the certificate: refused\n"},
	}
	for name, test := range tests {
		var text strings.Builder
		test.status.Describe(func(label, format string, values ...any) {
			fmt.Fprintf(&text, label+":"+format+"\n", values...)
		})
		if text.String() != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, text.String(), test.want)
		}
	}
}

func TestTheStatusIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	moment := time.Date(2026, 12, 31, 1, 2, 3, 4, time.UTC)
	for name, want := range map[string]identity.Status{
		"empty": {},
		"all": {
			ID: "x", NotAfter: moment, NextRenewal: moment.Add(1), LastError: "y", LastErrorSince: moment.Add(2),
			LastErrorCode: identity.TokenUsed,
		},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := identity.ParseStatus(text); err != nil || got != want {
			t.Errorf("%s: %s was read as %+v, %v", name, text, got, err)
		}
	}
	if _, err := identity.ParseStatus([]byte("{")); err == nil {
		t.Error("half a file was read")
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add(`{"plain_text":true,"id":"x","not_after":"2026-12-31T01:02:03Z","last_error":"y","last_error_code":"FAILED"}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		status, err := identity.ParseStatus([]byte(text))
		if err != nil {
			return
		}
		lines := 0
		status.Describe(func(string, string, ...any) { lines++ })
		again, err := json.Marshal(status)
		if err != nil {
			return // a year that JSON does not have, only with a zone
		}
		if got, err := identity.ParseStatus(again); err != nil || lines == 0 || got.LastError != status.LastError ||
			got.LastErrorCode != status.LastErrorCode || !got.NotAfter.Equal(status.NotAfter) {
			t.Errorf("%s was read as %+v, %v", text, got, err)
		}
	})
}
