// SPDX-License-Identifier: Apache-2.0

package tcbpf

import "github.com/cilium/ebpf"

// VideoPriority is that of packets that are marked.
const VideoPriority = videoPriority

// MapSize is that of the program's map.
func MapSize() (uint32, error) {
	specification, err := loadMark()
	if err != nil {
		return 0, err
	}
	return specification.Maps[markMapAirboundMarks].MaxEntries, nil
}

// Program is that of a BSS; nil if there is none.
func (k *Kernel) Program(name string) *ebpf.Program {
	if m := k.bsss[name]; m != nil {
		return m.objects.AirboundMark
	}
	return nil
}

// UsesClsact returns whether TCX is not used.
func (k *Kernel) UsesClsact() bool { return k.attacher.Clsact }
