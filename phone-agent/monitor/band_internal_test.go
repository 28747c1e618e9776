// SPDX-License-Identifier: Apache-2.0

package monitor

import "testing"

func TestBands(t *testing.T) {
	t.Parallel()
	const near, far = 4_000, 256_000
	tests := map[string]struct {
		srttUS, minRTTUS uint32
		before, want     int
	}{
		"no sample":                       {0, near, 3, noBand},
		"no minimum":                      {near, 0, 3, noBand},
		"equal":                           {near, near, noBand, 1},
		"below the minimum":               {near / 2, near, noBand, 1},
		"A: integer below 10":             {near*7 + near/2, near, noBand, 7},
		"A: 9.99":                         {near*10 - 1, near, noBand, 9},
		"A: exactly 10":                   {near * 10, near, noBand, 10},
		"A: 14.9 is still 10":             {near*15 - 100, near, noBand, 10},
		"A: 15":                           {near * 15, near, 10, 15},
		"A: 37":                           {near * 37, near, noBand, 35},
		"A: 50 and above":                 {near * 700, near, noBand, 50},
		"A: just below its edge it stays": {near*3 - near/5, near, 3, 3},
		"A: clearly below it leaves":      {near*3 - near/3, near, 3, 2},
		"A: 14 after 15 stays":            {near * 14, near, 15, 15},
		"A: 13.5 after 15 leaves":         {near*13 + near/2, near, 15, 10},
		"A: 9.8 after 10 stays":           {near*10 - near/5, near, 10, 10},
		"A: 9.7 after 10 leaves":          {near*10 - near*3/10, near, 10, 9},
		"A: from far above":               {near * 2, near, 50, 2},
		"A: up at once":                   {near * 4, near, 3, 4},
		"B: at 100 ms":                    {100_000 * 12, 100_000, noBand, 10},
		"A: just below 100 ms":            {99_999 * 12, 99_999, noBand, 10},
		"A: 16 just below 100 ms":         {99_999 * 16, 99_999, noBand, 15},
		"B: integers":                     {far*6 + 1, far, noBand, 6},
		"B: 10 and above":                 {far * 40, far, noBand, 10},
		"B: 1.9 after 2 stays":            {far*2 - far/10, far, 2, 2},
		"B: 1.7 after 2 leaves":           {far*2 - far*3/10, far, 2, 1},
		"B: a band of class A is no band": {far * 9, far, 50, 9},
		"no overflow":                     {4_294_967_295, 1, noBand, 50},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bandOf(test.srttUS, test.minRTTUS, test.before); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
