// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/events"
)

const secondUS = 1_000_000

func association(atUS int64, source events.Source, place string) events.Event {
	return events.Event{
		AtUS: atUS, Source: source, Kind: events.Association, Interface: "wlan0", Place: place,
	}
}

func TestALineIsReadBack(t *testing.T) {
	t.Parallel()
	for _, source := range events.Sources() {
		event := association(5*secondUS, source, "02:00:00:00:00:01")
		line := event.Line()
		if got, err := events.ParseLine(line); err != nil || got != event || line[len(line)-1] != '\n' {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	newer := []byte(`{"at_boottime_us":1,"source":"file","kind":"base_station","place":"7","later":[1]}`)
	if got, err := events.ParseLine(newer); err != nil || got.Place != "7" {
		t.Errorf("of a newer agent: %+v, %v", got, err)
	}
}

func TestRefusedLines(t *testing.T) {
	t.Parallel()
	for line, names := range map[string]string{
		"":   "EOF",
		"{}": "no kind",
		`{"kind":"association"}{"kind":"association"}`:                     "more than one value",
		`{"kind":"association"} x`:                                         "more than one value",
		`{"kind":"teleport"}`:                                              `no kind "teleport"`,
		`{"kind":"association","at_boottime_us":1}`:                        "unknown field",
		`{"kind":"association","place":"a b"}`:                             "not the id",
		`{"kind":"association","place":"` + strings.Repeat("1", 65) + `"}`: "not the id",
		`{"kind":"association","interface":"wlan0/"}`:                      "not the name of an interface",
		`{"kind":"association","interface":"abcdefghijklmnop"}`:            "not the name of an interface",
		`{"kind":"association","interface":"w\u0000"}`:                     "not the name of an interface",
		`{"kind":"association","place":"\u00e9"}`:                          "not the id",
		`{"kind":5}`: "cannot unmarshal",
		`{"kind":"association","place":"` + strings.Repeat(" ", 600) + `"}`: "more than 512",
	} {
		if got, err := events.ParseReport([]byte(line)); !errors.Is(err, events.ErrRefused) ||
			!strings.Contains(err.Error(), names) || got != (events.Report{}) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	for line, names := range map[string]string{
		`{"source":"me","kind":"association"}`:                          `no source "me"`,
		`{"source":"file","kind":"association","at_boottime_us":-1}`:    "negative",
		`{"source":"file","kind":"association","at_boottime_us":"now"}`: "cannot unmarshal",
	} {
		if _, err := events.ParseLine([]byte(line)); !errors.Is(err, events.ErrRefused) ||
			!strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, answer := range []events.Answer{{Outcome: "new"}, {Refused: "no kind"}} {
		if got, isAnswer, err := events.ParseAnswer(answer.Line()); err != nil || !isAnswer || got != answer {
			t.Errorf("%+v, %t, %v", got, isAnswer, err)
		}
	}
	if _, isAnswer, err := events.ParseAnswer(association(1, events.File, "1").Line()); err != nil || isAnswer {
		t.Errorf("an event is an answer: %v", err)
	}
	long := events.Answer{Refused: strings.Repeat("\x00", 2000)}.Line()
	if len(long) > events.LineOctetsMax {
		t.Errorf("%d bytes", len(long))
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("aZ9_-", 8)
	if got, err := events.ParseTokenLine(events.TokenLine(token)); err != nil || got != token {
		t.Errorf("%q, %v", got, err)
	}
	for _, line := range []string{
		"", "{}", `{"token":"short"}`, `{"token":"` + strings.Repeat("a", 129) + `"}`,
		`{"token":"` + strings.Repeat("a.", 20) + `"}`, `{"token":"` + token + `","more":1}`,
	} {
		got, err := events.ParseTokenLine([]byte(line))
		if !errors.Is(err, events.ErrRefused) || got != "" || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

func TestPlaceFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "\n": "", "440-10-1234-5678 \nmore\n": "440-10-1234-5678", "1\r\n": "1", "\n5": "",
	} {
		if got, err := events.ParsePlaceFile([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"a b\n", "\x00", "\xff", strings.Repeat("1", 65)} {
		if got, err := events.ParsePlaceFile([]byte(text)); !errors.Is(err, events.ErrRefused) || got != "" {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestReportsOfOneArrivalAreOneEvent(t *testing.T) {
	t.Parallel()
	var merger events.Merger
	const here, there = "02:00:00:00:00:01", "02:00:00:00:00:02"
	link := events.Event{AtUS: 100 * secondUS, Source: events.RTNetlink, Kind: events.LinkUp, Interface: "wlan0"}
	for _, step := range []struct {
		what  string
		event events.Event
		want  events.Outcome
	}{
		{"the first", link, events.New},
		{"another source", association(100*secondUS+5_000, events.NL80211, here), events.Merged},
		{"the access point", association(101*secondUS-1, events.Controller, here), events.Merged},
		{"the access point, late", association(150*secondUS, events.Controller, here), events.Merged},
		{"roamed at once", association(150*secondUS, events.NL80211, there), events.New},
		{"and back at once", association(150*secondUS+1, events.NL80211, here), events.New},
		{"a base station beside it", events.Event{
			AtUS: 150*secondUS + 2, Source: events.File, Kind: events.BaseStation, Place: "7",
		}, events.Merged},
		{"the same place later", association(152*secondUS, events.NL80211, here), events.New},
		{"the access point, too late", association(213*secondUS, events.Controller, here), events.New},
		{"of the controller alone", association(215*secondUS, events.Controller, here), events.New},
	} {
		if got := merger.Add(step.event); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
}

func TestAProgramThatReportsTooOften(t *testing.T) {
	t.Parallel()
	var merger events.Merger
	counts := make(map[events.Outcome]int)
	report := func(atUS int64, source events.Source) events.Outcome {
		outcome := merger.Add(events.Event{AtUS: atUS, Source: source, Kind: events.Association})
		counts[outcome]++
		return outcome
	}
	for i := range int64(600) { // Ten a second for a minute.
		report(1000*secondUS+i*100_000, events.Program)
	}
	if allowed := counts[events.New] + counts[events.Merged]; allowed != 5+60/5-1 {
		t.Errorf("%v", counts)
	}
	if report(1060*secondUS, events.NL80211) != events.New || report(1070*secondUS, events.Loopback) != events.New {
		t.Error("another source pays for it")
	}
	if report(1100*secondUS, events.Program) != events.New {
		t.Error("for ever")
	}
	for _, outcome := range []events.Outcome{events.New, events.Merged, events.TooMany} {
		if outcome.String() == "" {
			t.Error("no text")
		}
	}
}

func TestTheFirstDatagramAfterASilence(t *testing.T) {
	t.Parallel()
	train := events.Silence{LimitUS: 3 * secondUS, IsPeriodic: true}
	if train.Receive(0) != 0 || train.Receive(3*secondUS-1) != 0 {
		t.Error("no silence")
	}
	if got := train.Receive(7 * secondUS); got != 4*secondUS+1 {
		t.Errorf("%d µs", got)
	}
	if got := train.Receive(7*secondUS + 1); got != 0 {
		t.Errorf("the second datagram: %d µs", got)
	}
	answers := events.Silence{LimitUS: 3 * secondUS}
	answers.Expect(0)
	if answers.Receive(1) != 0 || answers.Receive(100*secondUS) != 0 {
		t.Error("nothing was expected")
	}
	answers.Expect(200 * secondUS)
	answers.Expect(202 * secondUS)
	if got := answers.Receive(203 * secondUS); got != 3*secondUS {
		t.Errorf("since the first question: %d µs", got)
	}
	answers.Expect(300 * secondUS)
	answers.Forget()
	if answers.Receive(400*secondUS) != 0 {
		t.Error("of another connection")
	}
}

func TestAnotherBaseStation(t *testing.T) {
	t.Parallel()
	var places events.Places
	for i, step := range []struct {
		place string
		want  bool
	}{{"1", false}, {"1", false}, {"2", true}, {"", false}, {"2", false}, {"1", true}} {
		if got := places.Read(step.place); got != step.want {
			t.Errorf("%d: %t", i, got)
		}
	}
	var later events.Places
	if later.Read("") || !later.Read("1") {
		t.Error("a phone that had no base station at first")
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add(association(1, events.NL80211, "02:00:00:00:00:01").Line())
	f.Add([]byte(`{"kind":"base_station","place":"7"}`))
	f.Add(events.TokenLine(strings.Repeat("a", 32)))
	f.Fuzz(func(t *testing.T, line []byte) {
		if event, err := events.ParseLine(line); err == nil {
			again, err := events.ParseLine(event.Line())
			if err != nil || again != event || bytes.Count(event.Line(), []byte("\n")) != 1 {
				t.Errorf("%q: %+v, %v", line, again, err)
			}
		}
		if report, err := events.ParseReport(line); err == nil && report.Check() != nil {
			t.Errorf("%q: %v", line, report.Check())
		}
		if token, err := events.ParseTokenLine(line); err == nil && events.CheckToken(token) != nil {
			t.Errorf("%q", token)
		}
		if answer, isAnswer, err := events.ParseAnswer(line); err != nil && isAnswer {
			t.Errorf("%q: %+v", line, answer)
		}
		if place, err := events.ParsePlaceFile(line); err == nil && place != "" && events.CheckPlace(place) != nil {
			t.Errorf("%q", place)
		}
	})
}
