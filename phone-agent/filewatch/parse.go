// SPDX-License-Identifier: Apache-2.0

package filewatch

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// parse reads a struct inotify_event for each change in a folder. It reports whether the file of that name may have
// changed, and whether the folder was removed or moved away.
func parse(changes []byte, name string) (changed, over bool) {
	const maskAt, lengthAt = 4, 12
	for len(changes) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(changes[maskAt:])
		if mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0 {
			return true, true
		}
		size := unix.SizeofInotifyEvent + uint64(binary.NativeEndian.Uint32(changes[lengthAt:]))
		if size > uint64(len(changes)) {
			break
		}
		changedName, _, _ := bytes.Cut(changes[unix.SizeofInotifyEvent:size], []byte{0})
		// After an overflow of the queue some changes are missing.
		changed = changed || mask&unix.IN_Q_OVERFLOW != 0 || string(changedName) == name
		changes = changes[size:]
	}
	return changed || len(changes) > 0, false
}
