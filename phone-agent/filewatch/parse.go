// SPDX-License-Identifier: Apache-2.0

package filewatch

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// isOver reports whether the folder was removed or moved away, by a struct inotify_event for each change.
func isOver(changes []byte) bool {
	const maskAt, lengthAt = 4, 12
	for len(changes) >= unix.SizeofInotifyEvent {
		if binary.NativeEndian.Uint32(changes[maskAt:])&
			(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0 {
			return true
		}
		size := unix.SizeofInotifyEvent + uint64(binary.NativeEndian.Uint32(changes[lengthAt:]))
		if size > uint64(len(changes)) {
			return false
		}
		changes = changes[size:]
	}
	return false
}
