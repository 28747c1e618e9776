// SPDX-License-Identifier: Apache-2.0

package proctext_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/proctext"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	var small uint32
	var large uint64
	if err := proctext.Number(&small, "4294967295"); err != nil || small != 1<<32-1 {
		t.Errorf("%d, %v", small, err)
	}
	if err := proctext.Number(&large, "18446744073709551615"); err != nil || large != 1<<64-1 {
		t.Errorf("%d, %v", large, err)
	}
	for value, want := range map[string]string{
		"4294967296": `"4294967296" is not an unsigned decimal of 32 bits`,
		"-1":         `"-1" is not an unsigned decimal of 32 bits`,
		"a":          `"a" is not an unsigned decimal`, // but one of base 11
		"+1":         `"+1" is not`, "": `"" is not`, "1_0": `"1_0" is not`, "0x1": `"0x1" is not`,
	} {
		before := small
		err := proctext.Number(&small, value)
		if err == nil || !strings.HasPrefix(err.Error(), want) || small != before {
			t.Errorf("%q: %d, %v", value, small, err)
		}
	}
	err := proctext.Number(&large, "18446744073709551616")
	if err == nil || !strings.HasSuffix(err.Error(), "64 bits") {
		t.Errorf("%d, %v", large, err)
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	var got netip.AddrPort
	for value, want := range map[string]string{
		"10.0.0.1:80": "10.0.0.1:80", "[2001:db8::1]:443": "[2001:db8::1]:443", "[::ffff:10.0.0.1]:80": "10.0.0.1:80",
	} {
		if err := proctext.Endpoint(&got, value); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", value, got, err)
		}
	}
	for _, value := range []string{"", "10.0.0.1", "10.0.0.1:65536", "[fe80::1%wlan0]:1", "host:80"} {
		if err := proctext.Endpoint(&got, value); err == nil {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	var got string
	if err := proctext.OneOf(&got, proctext.CAStates, "loss"); err != nil || got != "loss" {
		t.Errorf("%q, %v", got, err)
	}
	if err := proctext.OneOf(&got, []string{"a", "b"}, "c"); err == nil || err.Error() != `"c" is none of a, b` {
		t.Errorf("%v", err)
	}
}

func TestQuotedIsShort(t *testing.T) {
	t.Parallel()
	if got := proctext.Quoted(strings.Repeat("9", 90)); got != `"`+strings.Repeat("9", 60)+`"...` {
		t.Errorf("%s", got)
	}
	if got := proctext.Quoted(strings.Repeat("9", 60)); got != `"`+strings.Repeat("9", 60)+`"` {
		t.Errorf("%s", got)
	}
}
