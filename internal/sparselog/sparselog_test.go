// SPDX-License-Identifier: Apache-2.0

package sparselog_test

import (
	"slices"
	"testing"

	"github.com/airbound/airbound/internal/sparselog"
)

func TestPowersOfTwoAreLogged(t *testing.T) {
	t.Parallel()
	var counter sparselog.Counter
	var logged []uint64
	for range 20 {
		if total, due := counter.Add(); due {
			logged = append(logged, total)
		}
	}
	if want := []uint64{1, 2, 4, 8, 16}; !slices.Equal(logged, want) || counter.Total() != 20 {
		t.Errorf("logged %v of %d, want %v of 20", logged, counter.Total(), want)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	count := uint64(5)
	if sparselog.Add(&count, 2) {
		t.Error("5 to 7 passes no power of two")
	}
	if !sparselog.Add(&count, 100) || count != 107 {
		t.Errorf("7 to %d passes several", count)
	}
	if sparselog.Add(&count, 0) {
		t.Error("nothing happened")
	}
}
