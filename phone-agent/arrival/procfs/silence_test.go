// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/arrival/procfs"
)

// table has a line for each STATE RETRANSMITS, of ports from 1 on; - is no line.
func table(connections ...string) [][]byte {
	var text strings.Builder
	text.WriteString("header\n")
	for i, each := range connections {
		if each == "-" {
			continue
		}
		state, retransmits, _ := strings.Cut(each, " ")
		fmt.Fprintf(&text, "%d: 0B00000A:%04X 0104000A:01BB %s 00000001:00000000 01:00000010 %s 0 0 1 2 0 48 0 0 1 7\n",
			i, i+1, state, retransmits)
	}
	return [][]byte{[]byte(text.String())}
}

func TestASilenceEndsWithTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then     [][]byte
		answered bool
		waiting  int
	}{
		"nothing":                      {table("01 00000003", "02 00000001"), false, 2},
		"one more attempt":             {table("01 00000004", "02 00000002"), false, 2},
		"an acknowledgment":            {table("01 00000000", "02 00000001"), true, 1},
		"the answer to a SYN":          {table("01 00000003", "01 00000000"), true, 1},
		"all of it, and its end":       {table("06 00000000", "02 00000001"), true, 1},
		"all of it, the end goes on":   {table("05 00000000", "02 00000001"), true, 1},
		"an attempt was given up":      {table("01 00000003", "-"), false, 1},
		"both were given up":           {table("-", "-"), false, 0},
		"another connection does well": {table("01 00000003", "02 00000001", "01 00000000"), false, 2},
	} {
		silence, err := procfs.NewSilence(table("01 00000003", "02 00000001", "01 00000000"))
		if err != nil || silence.Waiting() != 2 {
			t.Fatalf("%d wait, %v", silence.Waiting(), err)
		}
		answered, err := silence.Answered(test.then)
		if err != nil || answered != test.answered || silence.Waiting() != test.waiting {
			t.Errorf("%s: %t, %d wait, %v", name, answered, silence.Waiting(), err)
		}
	}
}

func TestASilenceOfTablesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	garbage := [][]byte{[]byte("header\nx\n")}
	if silence, err := procfs.NewSilence(garbage); err == nil {
		t.Errorf("%+v", silence)
	}
	silence, err := procfs.NewSilence(table("01 00000003"))
	if err != nil {
		t.Fatal(err)
	}
	short := [][]byte{[]byte("header\n0: 0B00000A:0001 0104000A:01BB 01 0:0\n")}
	for _, tables := range [][][]byte{garbage, short} {
		if answered, err := silence.Answered(tables); err == nil || answered || silence.Waiting() != 1 {
			t.Errorf("%q: %t, %v", tables, answered, err)
		}
	}
}

// FuzzSilence: any text is read or refused, and nothing waits that did not.
func FuzzSilence(f *testing.F) {
	f.Add([]byte("header\n   0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:00000010 00000003 0 0 1 2 0 48 0 0 1 7\n"),
		[]byte("header\n   0: 0B00000A:9C40 0104000A:01BB 01 0:0 01:00000010 00000000 0 0 1 2 0 48 0 0 1 7\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		silence, err := procfs.NewSilence([][]byte{before})
		if err != nil {
			return
		}
		waited := silence.Waiting()
		answered, err := silence.Answered([][]byte{after})
		if silence.Waiting() > waited || answered && (err != nil || silence.Waiting() == waited) {
			t.Errorf("%t, %v, %d of %d wait", answered, err, silence.Waiting(), waited)
		}
	})
}
