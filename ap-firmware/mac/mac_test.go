// SPDX-License-Identifier: Apache-2.0

package mac_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/mac"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := mac.Parse("02:aB:00:00:01:fF")
	if want := (mac.Address{2, 0xab, 0, 0, 1, 0xff}); err != nil || got != want || got.String() != "02:ab:00:00:01:ff" {
		t.Errorf("got %v, %v", got, err)
	}
	if text, err := got.MarshalText(); err != nil || string(text) != got.String() {
		t.Errorf("as text: %s, %v", text, err)
	}
	if same, err := mac.FromOctets(got[:]); err != nil || same != got {
		t.Errorf("from octets: %v, %v", same, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "short": "02:00:00:00:01", "long": "02:00:00:00:01:00:", "wrong separator": "02-00-00-00-01-00",
		"no digit": "02:00:00:00:01:0g", "colon for a digit": "02:00:00:00:01:0:",
		"space for a digit": "02:00:00:00:01:0 ",
		"garbage":           strings.Repeat("x", 10_000),
	} {
		if got, err := mac.Parse(text); !errors.Is(err, mac.ErrMalformed) || !got.IsZero() || len(err.Error()) > 200 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for length, want := range map[int]string{
		64: `"` + strings.Repeat("x", 64) + `": not`, 65: `"` + strings.Repeat("x", 64) + `"...: not`,
	} {
		if _, err := mac.Parse(strings.Repeat("x", length)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d characters: %v", length, err)
		}
	}
	for _, length := range []int{0, 5, 7} {
		if got, err := mac.FromOctets(make([]byte, length)); !errors.Is(err, mac.ErrMalformed) || !got.IsZero() {
			t.Errorf("%d octets: %v, %v", length, got, err)
		}
	}
}

func TestStationFromOctets(t *testing.T) {
	t.Parallel()
	if got, err := mac.StationFromOctets([]byte{2, 0, 0, 0, 1, 0}); err != nil || got != (mac.Address{2, 0, 0, 0, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
	for name, octets := range map[string][]byte{
		"none": make([]byte, 6), "a group's": {1, 0, 0x5e, 0, 0, 1}, "short": {2, 0, 0, 0, 1},
	} {
		if got, err := mac.StationFromOctets(octets); err == nil || !got.IsZero() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("02:00:00:00:01:00")
	f.Add("AA:BB:CC:DD:EE:FF")
	f.Fuzz(func(t *testing.T, text string) {
		address, err := mac.Parse(text)
		if err != nil {
			if !errors.Is(err, mac.ErrMalformed) || !address.IsZero() {
				t.Fatalf("got %v, %v", address, err)
			}
			return
		}
		if address.String() != strings.ToLower(text) {
			t.Fatalf("%q became %v", text, address)
		}
	})
}
