// SPDX-License-Identifier: Apache-2.0

package reasontext_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/internal/reasontext"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// A row of docs/reasons.md, whose table is tested in Python as well.
type row struct {
	reason *airboundv1.Reason
	values map[string]bool // the names of those that it has
	text   string
}

func table(t *testing.T) []row {
	t.Helper()
	document, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, isThere := strings.Cut(string(document),
		"\n| code | subject | before | after | limit | text |\n|---|---|---|---|---|---|\n")
	if !isThere {
		t.Fatal("docs/reasons.md has no table of sentences")
	}
	var rows []row
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 8 {
			t.Fatalf("not six columns: %s", line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		code, isThere := airboundv1.ReasonCode_value["REASON_CODE_"+strings.ToUpper(cells[1])]
		if !isThere {
			number, err := strconv.ParseInt(cells[1], 10, 32)
			if err != nil {
				t.Fatalf("no code: %s", line)
			}
			code = int32(number)
		}
		reason := &airboundv1.Reason{Code: airboundv1.ReasonCode(code), Subject: cells[2]}
		values := map[string]bool{"subject": cells[2] != ""}
		number := func(name, cell string) *float64 {
			if cell == "" {
				return nil
			}
			value, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatalf("no number: %s", line)
			}
			values[name] = true
			return &value
		}
		reason.Before, reason.After = number("before", cells[3]), number("after", cells[4])
		reason.Limit = number("limit", cells[5])
		rows = append(rows, row{reason, values, cells[6]})
	}
	return rows
}

func TestSentencesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	for _, row := range table(t) {
		if got := reasontext.Sentence(row.reason); got != row.text {
			t.Errorf("%v:\ngot  %s\nwant %s", row.reason, got, row.text)
		}
	}
}

// The first row of a code has all of its values.
func TestEveryCodeHasATemplateOfValuesThatItHas(t *testing.T) {
	t.Parallel()
	first := map[airboundv1.ReasonCode]row{}
	for _, row := range table(t) {
		if _, isThere := first[row.reason.GetCode()]; !isThere {
			first[row.reason.GetCode()] = row
		}
	}
	place := regexp.MustCompile(`\{(\w+)(:(ratio|ms|mbps|percent|time))?}`)
	for number := range airboundv1.ReasonCode_name {
		code := airboundv1.ReasonCode(number)
		options := code.Descriptor().Values().ByNumber(code.Number()).Options()
		template, _ := proto.GetExtension(options, airboundv1.E_Text).(string)
		if template == "" || strings.ContainsAny(place.ReplaceAllString(template, ""), "{}") {
			t.Errorf("%s: %q", code, template)
		}
		for _, match := range place.FindAllStringSubmatch(template, -1) {
			if !first[code].values[match[1]] {
				t.Errorf("%s has no value for %s", code, match[0])
			}
		}
	}
}

func TestASentenceOfNothing(t *testing.T) {
	t.Parallel()
	if got := reasontext.Sentence(nil); got != "no reason given" {
		t.Error(got)
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
		"\x7f\x00":             "?",
		"{limit}[x]":           "{limit}[x]",
		"exempt \u2014 \u00e9": "exempt \u2014 \u00e9",
	} {
		reason := &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_STARTED_SENDING, Subject: subject}
		if got := reasontext.Sentence(reason); got != "the terminal began to send to "+want {
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
	f.Add(int32(111), "", -1.0, 1e18, true)
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
