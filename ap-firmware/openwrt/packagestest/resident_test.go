// SPDX-License-Identifier: Apache-2.0

//go:build packages

package packagestest_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Emulators have their own memory at the end of the address space, where position-independent programs and libraries
// are put on x86-64. What they emulate is far below.
const emulatorsOwn = 0x5000_0000_0000

// resident returns the KiB of resident memory of the program: of an emulated one, without the emulator's own.
func resident(t *testing.T, pid int, isEmulated bool) int {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Fatal(err)
	}
	sumKiB := residentKiB(string(content), func(address uint64) bool { return !isEmulated || address < emulatorsOwn })
	if isEmulated && sumKiB == residentKiB(string(content), func(uint64) bool { return true }) {
		t.Errorf("the emulator has no memory of its own:\n%s", content)
	}
	return sumKiB
}

// residentKiB adds up the resident memory of the mappings that count, by their first address.
func residentKiB(smaps string, counts func(address uint64) bool) int {
	sumKiB, counted := 0, false
	for line := range strings.Lines(smaps) {
		words := strings.Fields(line)
		if first, _, isRange := strings.Cut(words[0], "-"); isRange {
			address, err := strconv.ParseUint(first, 16, 64)
			counted = err == nil && counts(address)
		}
		if kib, err := strconv.Atoi(words[min(1, len(words)-1)]); counted && words[0] == "Rss:" && err == nil {
			sumKiB += kib
		}
	}
	return sumKiB
}
