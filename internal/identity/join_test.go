// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/identity"
)

// goodJoins are those that the controller's tests make: controller/tests/operator/test_join.py.
func goodJoins(tb testing.TB) []struct{ Text, Controller, Enrolment string } {
	tb.Helper()
	content, err := os.ReadFile("testdata/join.json")
	if err != nil {
		tb.Fatal(err)
	}
	var table struct {
		Good []struct{ Text, Controller, Enrolment string }
	}
	if err := json.Unmarshal(content, &table); err != nil || len(table.Good) == 0 {
		tb.Fatal(err)
	}
	return table.Good
}

func TestWhatTheControllerMakesIsRead(t *testing.T) {
	t.Parallel()
	for _, row := range goodJoins(t) {
		join, err := identity.ParseJoin(" " + row.Text + "\n")
		if err != nil || join.Controller != row.Controller || join.Enrolment != row.Enrolment ||
			!strings.HasSuffix(row.Text, ":"+join.Token.Secret()) {
			t.Errorf("%s: %+v, %v", row.Text, join, err)
		}
	}
}

func TestWhatIsNoJoinSaysWhy(t *testing.T) {
	t.Parallel()
	whole := goodJoins(t)[0].Text
	token := whole[strings.LastIndexByte(whole, ':')+1:]
	for text, want := range map[string]string{
		"":                               "begins with airbound1:",
		token:                            "a token alone",
		"airbound2:x:1:2:" + token:       "of another version",
		"airbound1":                      "of another version",
		"airbound1:":                     "cut off",
		whole[:len(whole)-1]:             "the token has 65 characters, want 66",
		"airbound1:x:1:" + token:         "no HOST:PORT",
		"airbound1::1:2:" + token:        "no HOST:PORT",
		"airbound1:a b:1:2:" + token:     "no HOST:PORT",
		"airbound1:a'b:1:2:" + token:     "no HOST:PORT",
		"airbound1:2001::1:1:2:" + token: "no HOST:PORT",
		"airbound1:x:0:2:" + token:       `"0" in the string is no port`,
		"airbound1:x:1:65536:" + token:   `"65536" in the string is no port`,
	} {
		_, err := identity.ParseJoin(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParseJoin: what is accepted is read again as the same, and fits into a line of a configuration.
func FuzzParseJoin(f *testing.F) {
	for _, row := range goodJoins(f) {
		f.Add(row.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		join, err := identity.ParseJoin(text)
		if err != nil {
			return
		}
		for _, value := range []string{join.Controller, join.Enrolment, join.Token.Secret()} {
			if value == "" || strings.ContainsAny(value, " \t\r\n'\"#=\\") {
				t.Fatalf("%q", value)
			}
		}
	})
}
