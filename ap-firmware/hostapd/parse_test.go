// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/mac"
)

const (
	phone1 = "02:00:00:00:01:00"
	phone2 = "02:00:00:00:02:00"
	phone3 = "02:00:00:00:03:00"
)

func address(text string) mac.Address {
	parsed, _ := mac.Parse(text) // A wrong one is zero, which no expectation is.
	return parsed
}

func TestParseEvent(t *testing.T) {
	tests := map[string]struct {
		datagram string
		want     hostapd.Event
	}{
		"joined": {
			"<3>AP-STA-CONNECTED 02:00:00:00:01:00",
			hostapd.Event{Kind: hostapd.EventStationJoined, MAC: address(phone1), Name: "AP-STA-CONNECTED"},
		},
		"joined with arguments": {
			"<3>AP-STA-CONNECTED 02:00:00:00:01:00 keyid=guest",
			hostapd.Event{Kind: hostapd.EventStationJoined, MAC: address(phone1), Name: "AP-STA-CONNECTED"},
		},
		"capitals": {
			"<2>AP-STA-CONNECTED AA:BB:CC:DD:EE:FF\n",
			hostapd.Event{
				Kind: hostapd.EventStationJoined,
				MAC:  address("aa:bb:cc:dd:ee:ff"),
				Name: "AP-STA-CONNECTED",
			},
		},
		"left": {
			"<3>AP-STA-DISCONNECTED 02:00:00:00:01:00",
			hostapd.Event{Kind: hostapd.EventStationLeft, MAC: address(phone1), Name: "AP-STA-DISCONNECTED"},
		},
		"terminating": {
			"<3>CTRL-EVENT-TERMINATING ",
			hostapd.Event{Kind: hostapd.EventTerminating, Name: "CTRL-EVENT-TERMINATING"},
		},
		"started": {"<3>AP-ENABLED ", hostapd.Event{Kind: hostapd.EventEnabled, Name: "AP-ENABLED"}},
		"interface came up": {
			"<3>INTERFACE-ENABLED ", hostapd.Event{Kind: hostapd.EventEnabled, Name: "INTERFACE-ENABLED"},
		},
		"lowest priority":  {"<0>AP-DISABLED", hostapd.Event{Name: "AP-DISABLED"}},
		"highest priority": {"<9>AP-DISABLED ", hostapd.Event{Name: "AP-DISABLED"}},
		"shortest":         {"<3>x", hostapd.Event{Name: "x"}},
		"other": {
			"<3>AP-STA-POSSIBLE-PSK-MISMATCH 02:00:00:00:01:00",
			hostapd.Event{Name: "AP-STA-POSSIBLE-PSK-MISMATCH"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hostapd.ParseEvent([]byte(test.datagram))
			if err != nil || got != test.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestParseEventsOfARealHostapd(t *testing.T) {
	want := []hostapd.Event{
		{Kind: hostapd.EventStationLeft, MAC: address(phone1), Name: "AP-STA-DISCONNECTED"},
		{Kind: hostapd.EventStationJoined, MAC: address(phone1), Name: "AP-STA-CONNECTED"},
		{Name: "EAPOL-4WAY-HS-COMPLETED"},
		{Kind: hostapd.EventStationLeft, MAC: address(phone1), Name: "AP-STA-DISCONNECTED"},
		{Kind: hostapd.EventStationLeft, MAC: address(phone2), Name: "AP-STA-DISCONNECTED"},
		{Name: "AP-DISABLED"},
		{Kind: hostapd.EventTerminating, Name: "CTRL-EVENT-TERMINATING"},
	}
	var got []hostapd.Event
	for line := range strings.Lines(golden(t, "events.txt")) {
		event, err := hostapd.ParseEvent([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestParseEventRefuses(t *testing.T) {
	tests := map[string]struct{ datagram, names string }{
		"empty":             {"", "no priority"},
		"reply":             {"OK\n", "no priority"},
		"long priority":     {"<12>AP-STA-CONNECTED " + phone1, "no priority"},
		"letter priority":   {"<x>AP-STA-CONNECTED " + phone1, "no priority"},
		"before the digits": {"</>AP-STA-CONNECTED " + phone1, "no priority"},
		"after the digits":  {"<:>AP-STA-CONNECTED " + phone1, "no priority"},
		"priority alone":    {"<3>", "no name"},
		"blanks":            {"<3>   ", "no name"},
		"no station":        {"<3>AP-STA-CONNECTED", "no station"},
		"short address":     {"<3>AP-STA-CONNECTED 02:00:00:00:01", `"02:00:00:00:01": not a MAC address`},
		"long address":      {"<3>AP-STA-CONNECTED 02:00:00:00:01:00:", "not a MAC address"},
		"wrong separator":   {"<3>AP-STA-DISCONNECTED 02-00-00-00-01-00", "not a MAC address"},
		"no digit":          {"<3>AP-STA-DISCONNECTED 02:00:00:00:01:0g", "not a MAC address"},
		"colon for a digit": {"<3>AP-STA-DISCONNECTED 02:00:00:00:01:0:", "not a MAC address"},
		"binary":            {"<3>AP-STA-CONNECTED \x00\xff\xfe", "not a MAC address"},
		"64 characters":     {strings.Repeat("x", 64), `"` + strings.Repeat("x", 64) + `": no priority`},
		"long garbage":      {strings.Repeat("x", 10_000), `"` + strings.Repeat("x", 64) + `...": no priority`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hostapd.ParseEvent([]byte(test.datagram))
			if !errors.Is(err, hostapd.ErrMalformed) || !strings.Contains(err.Error(), test.names) {
				t.Fatalf("error is %v, want a malformed message that names %q", err, test.names)
			}
			if got != (hostapd.Event{}) {
				t.Fatalf("got %+v beside the error", got)
			}
			if len(err.Error()) > 300 {
				t.Fatalf("error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestParseStation(t *testing.T) {
	tests := map[string]struct {
		reply string
		want  hostapd.Station
		ok    bool
	}{
		"authorized": {
			golden(t, "sta-authorized.txt"),
			hostapd.Station{MAC: address(phone1), Authorized: true},
			true,
		},
		"without a key":  {phone1 + "\nflags=[AUTH][ASSOC]\naid=1\n", hostapd.Station{MAC: address(phone1)}, true},
		"end of list":    {"", hostapd.Station{}, false},
		"station left":   {"FAIL\n", hostapd.Station{}, false},
		"no other lines": {phone2 + "\nflags=\n", hostapd.Station{MAC: address(phone2)}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok, err := hostapd.ParseStation([]byte(test.reply))
			if err != nil || ok != test.ok || got != test.want {
				t.Fatalf("got %+v, %v, %v, want %+v, %v", got, ok, err, test.want, test.ok)
			}
		})
	}
}

func TestParseStationRefuses(t *testing.T) {
	for name, reply := range map[string]string{
		"unknown command": "UNKNOWN COMMAND\n",
		"no flags":        phone1 + "\naid=1\n",
		"flags first":     "flags=[AUTHORIZED]\n" + phone1 + "\n",
		"address cut":     "02:00:00:00:01",
		"no address":      "02:00:00:00:01\nflags=[AUTHORIZED]\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok, err := hostapd.ParseStation([]byte(reply)); !errors.Is(err, hostapd.ErrMalformed) || ok {
				t.Fatalf("got %+v, %v, %v, want a malformed message", got, ok, err)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	tests := map[string]struct {
		reply string
		want  hostapd.Status
	}{
		"one BSS": {golden(t, "status.txt"), hostapd.Status{State: "ENABLED", Interfaces: []string{"wlan0"}}},
		"two BSSes": {
			"state=ENABLED\nbss[0]=wlan0\nssid[0]=a\nbss[1]=wlan0-1\nssid[1]=b\n",
			hostapd.Status{State: "ENABLED", Interfaces: []string{"wlan0", "wlan0-1"}},
		},
		"down": {"state=DISABLED\n", hostapd.Status{State: "DISABLED"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := hostapd.ParseStatus([]byte(test.reply))
			if err != nil || got.State != test.want.State || !slices.Equal(got.Interfaces, test.want.Interfaces) {
				t.Fatalf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	if _, err := hostapd.ParseStatus([]byte("UNKNOWN COMMAND\n")); !errors.Is(err, hostapd.ErrMalformed) {
		t.Fatalf("error is %v, want a malformed message", err)
	}
}

// golden reads a reply that hostapd 2.10 gave.
func golden(tb testing.TB, name string) string {
	tb.Helper()
	reply, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(reply)
}
