// SPDX-License-Identifier: Apache-2.0

package filewatch

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

func change(mask, nameOctets uint32) []byte {
	made := make([]byte, unix.SizeofInotifyEvent+nameOctets)
	binary.NativeEndian.PutUint32(made[4:], mask)
	binary.NativeEndian.PutUint32(made[12:], nameOctets)
	return made
}

func TestTheEndOfAWatch(t *testing.T) {
	t.Parallel()
	written := change(unix.IN_CLOSE_WRITE, 16)
	if isOver(nil) || isOver(written) || isOver(written[:20]) {
		t.Error("a file was written")
	}
	if !isOver(append(written, change(unix.IN_IGNORED, 0)...)) {
		t.Error("the folder is gone")
	}
}

func FuzzIsOver(f *testing.F) {
	f.Add(append(change(unix.IN_CLOSE_WRITE, 16), change(unix.IN_IGNORED, 0)...))
	f.Add(change(0, ^uint32(0)&0xff))
	f.Fuzz(func(_ *testing.T, changes []byte) { isOver(changes) })
}
