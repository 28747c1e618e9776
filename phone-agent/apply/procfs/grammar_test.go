// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"bytes"
	"maps"
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/bounds"
)

func dst(prefix string, minSegs, maxSegs uint32) bounds.Rule {
	selector := bounds.Selector{Kind: bounds.Destination, Prefix: netip.MustParsePrefix(prefix)}
	return bounds.Rule{Selector: selector, MinSegs: minSegs, MaxSegs: maxSegs}
}

func everything(minSegs, maxSegs uint32) bounds.Rule {
	return bounds.Rule{Selector: bounds.Selector{Kind: bounds.All}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func app(uid, minSegs, maxSegs uint32) bounds.Rule {
	return bounds.Rule{Selector: bounds.Selector{Kind: bounds.UID, UID: uid}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func appTo(uid uint32, prefix string, minSegs, maxSegs uint32) bounds.Rule {
	selector := bounds.Selector{Kind: bounds.UIDDestination, UID: uid, Prefix: netip.MustParsePrefix(prefix)}
	return bounds.Rule{Selector: selector, MinSegs: minSegs, MaxSegs: maxSegs}
}

func TestTransactionIsInTheGrammar(t *testing.T) {
	t.Parallel()
	rules := []bounds.Rule{
		everything(1, 90), dst("10.0.9.1/32", 10, 20), dst("2001:db8::/48", 3, 3), app(10073, 2, 4),
		app(math.MaxUint32, math.MaxUint32, math.MaxUint32), appTo(10073, "10.0.9.1/32", 40, 80),
		appTo(0, "2001:db8::/48", 5, 6),
	}
	const want = "flush\nall 1 90\ndst 10.0.9.1/32 10 20\ndst 2001:db8::/48 3 3\nuid 10073 2 4\n" +
		"uid 4294967295 4294967295 4294967295\nuid 10073 dst 10.0.9.1/32 40 80\nuid 0 dst 2001:db8::/48 5 6\n"
	if got := string(procfs.FormatTransaction(rules)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(procfs.FormatTransaction(nil)); got != "flush\n" {
		t.Errorf("no rules: %q", got)
	}
	got, err := procfs.ParseRules([]byte("all 7 8\n" + want))
	if err != nil || !slices.Equal(got, rules) {
		t.Errorf("read back %v, %v", got, err)
	}
}

func TestReadingBackRefusesWhatIsNoRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"all 1 2":                      "line 1: truncated: it does not end with a newline",
		"all 1 2\n\n":                  `line 2: "" is not a rule`,
		"all 1 2\nflush all\n":         `line 2: "flush all" is not a rule`,
		"all 1 x\n":                    `line 1: "all 1 x" does not end in two numbers`,
		"all a 2\n":                    `line 1: "all a 2" does not end in two numbers`,
		"all 1 a\n":                    `line 1: "all 1 a" does not end in two numbers`,
		"uid a 1 2\n":                  `line 1: "a" is not a uid`,
		"uid 4294967296 1 2\n":         `line 1: "4294967296" is not a uid`,
		"all 4294967296 1\n":           `line 1: "all 4294967296 1" does not end in two numbers`,
		"all -1 2\n":                   `line 1: "all -1 2" does not end in two numbers`,
		"all 1 4294967296\n":           `line 1: "all 1 4294967296" does not end in two numbers`,
		"all 1 2 3\n":                  `line 1: "all 1" is not a selector`,
		"dst 10.0.0.1 1 2\n":           `line 1: "10.0.0.1" is not an address and prefix length`,
		"dst 10.0.0.1/32 1 2 3\n":      `line 1: "dst 10.0.0.1/32 1" is not a selector`,
		"uid -5 1 2\n":                 `line 1: "-5" is not a uid`,
		"uid 7 dst 1 2\n":              `line 1: "uid 7 dst" is not a selector`,
		"uid 7 dst 10.0.0.1 1 2\n":     `line 1: "10.0.0.1" is not an address and prefix length`,
		"uid a dst 10.0.0.1 1 2\n":     `line 1: "a" is not a uid`,
		"uid 7 src 10.0.0.1/32 1 2\n":  `line 1: "uid 7 src 10.0.0.1/32" is not a selector`,
		"dst 10.0.0.1/32 uid 7 1 2\n":  `line 1: "dst 10.0.0.1/32 uid 7" is not a selector`,
		"src 10.0.0.1/32 1 2\n":        `line 1: "src 10.0.0.1/32" is not a selector`,
		"\x00\x01\x02\n":               `line 1: "\x00\x01\x02" is not a rule`,
		"1 2 3\n":                      `line 1: "1" is not a selector`,
		"dst 10.0.0.1/32 1 2\nflush 1": "line 2: truncated: it does not end with a newline",
	} {
		if rules, err := procfs.ParseRules([]byte(text)); err == nil || err.Error() != want || rules != nil {
			t.Errorf("%q: %v, %v", text, rules, err)
		}
	}
}

// FuzzParseRules: what is read back can be written again and read back the same.
func FuzzParseRules(f *testing.F) {
	f.Add([]byte("all 1 2\ndst 10.0.9.1/32 10 20\nuid 3 4 5\n"))
	f.Add([]byte("uid 3 dst 10.0.9.1/32 4 5\nuid 3 dst 2001:db8::/48 4 5\n"))
	f.Add([]byte("dst ::ffff:1.2.3.4/128 1 2\nflush\ndst 2001:db8::/48 1 2\n"))
	f.Add([]byte("dst 1.2.3.4/0  1  2\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := procfs.ParseRules(text)
		if err != nil {
			return
		}
		again, err := procfs.ParseRules(procfs.FormatTransaction(rules))
		if err != nil || !slices.Equal(again, rules) {
			t.Fatalf("%v became %v, %v", rules, again, err)
		}
	})
}

func TestSameRules(t *testing.T) {
	t.Parallel()
	a, b, c := everything(1, 2), dst("10.0.9.1/32", 10, 20), dst("10.0.9.1/32", 10, 21)
	tests := []struct {
		left, right []bounds.Rule
		want        bool
	}{
		{nil, nil, true},
		{nil, []bounds.Rule{}, true},
		{[]bounds.Rule{a}, nil, false},
		{[]bounds.Rule{a, b}, []bounds.Rule{b, a}, true},
		{[]bounds.Rule{a, b}, []bounds.Rule{a, c}, false},
		{[]bounds.Rule{a, b}, []bounds.Rule{a, a}, false},
		{[]bounds.Rule{a, a}, []bounds.Rule{a, b}, false},
	}
	for _, test := range tests {
		if got := procfs.SameRules(test.left, test.right); got != test.want {
			t.Errorf("%v and %v: %v", test.left, test.right, got)
		}
	}
}

func TestParseEffects(t *testing.T) {
	t.Parallel()
	got, err := procfs.ParseEffects(
		[]byte("dst 10.0.9.1/32 10 20 raised 18446744073709551615 lowered 591\n" +
			"all 1 2 raised 0 lowered 18446744073709551615\n" +
			"uid 7 dst 10.0.9.1/32 40 80 raised 5 lowered 6\n"),
	)
	want := map[bounds.Selector]apply.Effect{
		dst("10.0.9.1/32", 0, 0).Selector:      {Raised: math.MaxUint64, Lowered: 591},
		everything(0, 0).Selector:              {Lowered: math.MaxUint64},
		appTo(7, "10.0.9.1/32", 0, 0).Selector: {Raised: 5, Lowered: 6},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"all 1 2\n":                      `line 1: "all 1 2" does not end in "raised N lowered N"`,
		"all 1 2 raised 1 lowered 2":     "line 1: truncated: it does not end with a newline",
		"all 1 2 raised a lowered 2\n":   `line 1: "all 1 2 raised a lowered 2" has counts that are no numbers`,
		"all 1 2 raised 1 lowered a\n":   `line 1: "all 1 2 raised 1 lowered a" has counts that are no numbers`,
		"all 1 2 raised -1 lowered 2\n":  `line 1: "all 1 2 raised -1 lowered 2" has counts that are no numbers`,
		"all 1 2 raised 1 lowered x\n":   `line 1: "all 1 2 raised 1 lowered x" has counts that are no numbers`,
		"all 1 2 lowered 1 raised 2\n":   `line 1: "all 1 2 lowered 1 raised 2" does not end in "raised N lowered N"`,
		"raised 1 lowered 2\n":           `line 1: "raised 1 lowered 2" is not a rule`,
		"all 1 2 raised 1 lowered 2\n\n": `line 2: "" does not end in "raised N lowered N"`,
		"src 1 1 2 raised 1 lowered 2\n": `line 1: "src 1" is not a selector`,
		"all 1 2 raised 1 lowered 2 x\n": `line 1: "all 1 2 raised 1 lowered 2 x" does not end in "raised N lowered N"`,
	} {
		if effects, err := procfs.ParseEffects([]byte(text)); err == nil || err.Error() != want || effects != nil {
			t.Errorf("%q: %v, %v", text, effects, err)
		}
	}
}

// FuzzParseEffects: every line has an effect, or the text is refused.
func FuzzParseEffects(f *testing.F) {
	f.Add([]byte("dst 10.0.9.1/32 10 20 raised 3 lowered 591\nall 1 2 raised 0 lowered 4\n"))
	f.Add([]byte("uid 7 1 2 raised 18446744073709551616 lowered 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		effects, err := procfs.ParseEffects(text)
		if (err == nil) != (effects != nil) || len(effects) > bytes.Count(text, []byte("\n")) {
			t.Fatalf("%v, %v", effects, err)
		}
	})
}
