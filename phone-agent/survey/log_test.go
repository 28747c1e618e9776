// SPDX-License-Identifier: Apache-2.0

package survey_test

import (
	"encoding/csv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/survey"
)

const (
	startUS  = int64(1_795_000_000_000_000)
	periodUS = int64(100_000)
)

func TestTheClocksDifferenceIsWithinItsUncertainty(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		offsetUS := draw.Int64N(20_000_000_000) - 10_000_000_000
		driftParts := draw.Int64N(40_000) - 20_000
		if driftParts > -10_000 && driftParts < 10_000 {
			driftParts = 0 // None, or at most 100 ppm.
		}
		server := func(phoneUS int64) int64 {
			at := phoneUS + offsetUS
			if driftParts != 0 {
				at += (phoneUS - startUS) / driftParts
			}
			return at
		}
		var clock survey.Clock
		for i := range int64(2000) {
			// The two ways differ as they like.
			upUS, downUS, heldUS := draw.Int64N(3_000_000), 10_000+draw.Int64N(900_000), draw.Int64N(periodUS)
			at := startUS + i*periodUS*10
			clock.Add(survey.Exchange{
				SentUS: at, ArrivedUS: server(at + upUS), AnsweredUS: server(at + upUS + heldUS),
				BackUS: at + upUS + heldUS + downUS,
			})
		}
		for range 100 {
			at := startUS - 1_000_000_000 + draw.Int64N(4_000_000_000)
			estimate, known := clock.At(at)
			wrongUS := server(at) - at - estimate.OffsetUS
			if wrongUS = max(wrongUS, -wrongUS); !known || wrongUS > estimate.UncertaintyUS+50 {
				t.Fatalf("off by %d us, and said %d", wrongUS, estimate.UncertaintyUS)
			}
		}
		if clock.Refused > 0 {
			t.Errorf("%d refused", clock.Refused)
		}
	}
}

func TestExchangesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	var clock survey.Clock
	clock.Add(survey.Exchange{SentUS: 100, ArrivedUS: 50, AnsweredUS: 60, BackUS: 105})  // waited longer than it took
	clock.Add(survey.Exchange{SentUS: 100, ArrivedUS: 50, AnsweredUS: 40, BackUS: 1000}) // answered before
	if estimate, known := clock.At(100); known || clock.Refused != 2 {
		t.Errorf("%+v, %d refused", estimate, clock.Refused)
	}
	if _, known := clock.Whole(); known {
		t.Error("nothing is known")
	}
}

// ride is a survey of 10 s by a phone whose clock is 1 hour late. From 4 to 6 s all is lost; TCP is silent until 8 s.
func ride() *survey.Log {
	const offsetUS, delayUS = int64(3_600_000_000), int64(20_000)
	var log survey.Log
	var lost []uint64
	for i := range int64(100) {
		at := startUS + i*periodUS
		record, _ := log.Sent(survey.TCPUp, at)
		datagram, _ := log.Sent(survey.UDPUp, at)
		isLost := i >= 40 && i < 60
		switch {
		case isLost || i < 80 && len(lost) > 0:
			lost = append(lost, record)
		default:
			for _, each := range lost {
				log.Received(survey.Receipt{Series: survey.TCPUp, Sequence: each, AtUS: at + delayUS + offsetUS})
			}
			lost = nil
			log.Received(survey.Receipt{Series: survey.TCPUp, Sequence: record, AtUS: at + delayUS + offsetUS})
		}
		if isLost {
			continue
		}
		cameUS := at + delayUS + offsetUS
		log.Received(survey.Receipt{Series: survey.UDPUp, Sequence: datagram, AtUS: cameUS})
		log.ReceivedDown(survey.Down{
			Sequence: uint32(i + 1), SentUS: cameUS + 1000, Echoed: uint32(datagram), HeldUS: 1000,
		}, at+delayUS+1000+delayUS)
	}
	log.Event(startUS+6_000_000, "association\twlan0, 02:00:00:00:00:01")
	return &log
}

func TestTheTableOfARide(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := ride().WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) != 1+100+100+80+1 || !slices.Equal(rows[0], survey.Columns) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	us := func(after int64) string { return strconv.FormatInt(startUS+after, 10) }
	const hourUS = 3_600_000_000
	for at, want := range map[int][]string{
		1:       {"tcp_up", "1", us(0), us(hourUS + 20_000), "20000", "20000", ""},
		1 + 41:  {"tcp_up", "42", us(4_100_000), us(hourUS + 8_020_000), "3920000", "20006", ""},
		101 + 0: {"udp_up", "1", us(0), us(hourUS + 20_000), "20000", "20000", ""},
		101 + 40: {
			"udp_up", "41", us(4_000_000), "", "", "", "",
		},
		201:      {"udp_down", "1", us(41_000), us(hourUS + 21_000), "20000", "20000", ""},
		201 + 40: {"udp_down", "61", us(6_041_000), us(hourUS + 6_021_000), "20000", "20000", ""},
		281: {
			"event", "1", us(6_000_000), us(hourUS + 6_000_000), "", "20004",
			"association\ufffdwlan0, 02:00:00:00:00:01",
		},
	} {
		got := slices.Clone(rows[at])
		if got[5] != "" && want[5] != "" {
			// The uncertainty: half of the round trip, and what the clocks may have drifted since the best exchange.
			is, err := strconv.Atoi(got[5])
			if err != nil || is < 20_000 || is > 20_700 {
				t.Errorf("row %d: %q", at, got)
			}
			got[5] = want[5]
		}
		if !slices.Equal(got, want) {
			t.Errorf("row %d: %q, not %q", at, got, want)
		}
	}
}

func TestTheSummaryOfARide(t *testing.T) {
	t.Parallel()
	log := ride()
	log.Received(survey.Receipt{Series: survey.UDPUp, Sequence: 1, AtUS: 5})
	log.Received(survey.Receipt{Series: survey.UDPUp, Sequence: 0, AtUS: 5})
	log.Received(survey.Receipt{Series: survey.TCPUp, Sequence: 101, AtUS: 5})
	if log.ReceivedDown(survey.Down{Sequence: 1}, startUS) {
		t.Error("one that came twice is a new one")
	}
	got := log.Summary()
	if got.Events != 1 || got.Duplicates != 2 || got.Refused != 2 || *got.ClockOffsetUS != 3_600_000_000 ||
		*got.ClockUncertaintyUS != 20_000 {
		t.Errorf("%+v", got)
	}
	for i, want := range []struct {
		name                        string
		sent, received              int
		silenceUS, delayUS, longest int64
	}{
		{"tcp_up", 100, 100, 4_100_000, 20_000, 4_020_000},
		{"udp_up", 100, 80, 2_100_000, 20_000, 20_000},
		{"udp_down", 100, 80, 2_100_000, 20_000, 20_000},
	} {
		is := got.Series[i]
		if is.Name != want.name || is.Sent != want.sent || is.Received != want.received ||
			is.SilenceUS != want.silenceUS || *is.DelayUS != want.delayUS || *is.DelayMaxUS != want.longest {
			t.Errorf("%+v: silence %d, delay %d, %d", is, is.SilenceUS, *is.DelayUS, *is.DelayMaxUS)
		}
	}
}

func TestWithoutTheServersDatagramsNoDelayIsKnown(t *testing.T) {
	t.Parallel()
	var log survey.Log
	record, _ := log.Sent(survey.TCPUp, startUS)
	log.Received(survey.Receipt{Series: survey.TCPUp, Sequence: record, AtUS: startUS + 5})
	got := log.Summary()
	if got.ClockOffsetUS != nil || got.Series[0].Received != 1 || got.Series[0].DelayUS != nil {
		t.Errorf("%+v", got)
	}
	var text strings.Builder
	if err := log.WriteCSV(&text); err != nil || strings.Count(text.String(), "\n") != 2 {
		t.Errorf("%q, %v", text.String(), err)
	}
}
