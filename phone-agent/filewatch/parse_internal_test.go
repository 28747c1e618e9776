// SPDX-License-Identifier: Apache-2.0

package filewatch

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// change has a name as the kernel writes it: with zeros until the next one begins at a multiple of 16.
func change(mask uint32, name string) []byte {
	made := make([]byte, unix.SizeofInotifyEvent, 64)
	if name != "" {
		made = append(made, make([]byte, len(name)/16*16+16)...)
		copy(made[unix.SizeofInotifyEvent:], name)
	}
	binary.NativeEndian.PutUint32(made[4:], mask)
	binary.NativeEndian.PutUint32(made[12:], uint32(len(made)-unix.SizeofInotifyEvent))
	return made
}

func TestChangesOfAFolder(t *testing.T) {
	t.Parallel()
	file, other := change(unix.IN_CLOSE_WRITE, "file"), change(unix.IN_CLOSE_WRITE, "file.new")
	long := change(unix.IN_MOVED_TO, "a name of sixteen")
	for name, each := range map[string]struct {
		changes      []byte
		concerns, is bool
	}{
		"none":                    {nil, false, false},
		"of the file":             {file, true, false},
		"of others":               {append(slices.Clone(other), long...), false, false},
		"of another and the file": {append(slices.Clone(long), file...), true, false},
		"of the file and another": {append(slices.Clone(file), other...), true, false},
		"some that were left out": {change(unix.IN_Q_OVERFLOW, ""), true, false},
		"cut off in the name":     {other[:20], true, false},
		"cut off before the name": {other[:10], true, false},
		"the folder is gone":      {append(slices.Clone(other), change(unix.IN_IGNORED, "")...), true, true},
		"the folder has moved":    {change(unix.IN_MOVE_SELF, ""), true, true},
	} {
		if concerns, over := parse(each.changes, "file"); concerns != each.concerns || over != each.is {
			t.Errorf("%s: %t, %t", name, concerns, over)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(append(change(unix.IN_CLOSE_WRITE, "file"), change(unix.IN_IGNORED, "")...))
	f.Add(change(0, "another")[:20])
	f.Fuzz(func(t *testing.T, changes []byte) {
		if concerns, over := parse(changes, "file"); over && !concerns {
			t.Error("the end of the watch concerns the file")
		}
	})
}
