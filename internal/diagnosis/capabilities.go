// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Capabilities are the effective ones of this process, a bit each (capabilities(7)); known is false if the proc file
// system does not say.
func Capabilities(procRoot string) (mask uint64, known bool) {
	status, err := os.ReadFile(filepath.Join(procRoot, "self", "status"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if value, is := strings.CutPrefix(line, "CapEff:"); is {
			mask, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return mask, err == nil
		}
	}
	return 0, false
}

// HasNetAdmin is whether CAP_NET_ADMIN is among capabilities.
func HasNetAdmin(mask uint64) bool { return mask&(1<<unix.CAP_NET_ADMIN) != 0 }
