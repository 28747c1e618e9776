// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import "testing"

// Explain adds the meaning of an error.
var Explain = explain

// Vanish does to the kernel what SIGKILL does: descriptors are closed, and nothing else happens.
func Vanish(b *BackEnd) { b.unload() }

// SetAgentPID makes the attached program that of another process.
func SetAgentPID(t *testing.T, options Options, pid uint32) {
	t.Helper()
	where, err := findScope(options)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := findAttached(where)
	if err != nil || len(agents) != 1 {
		t.Fatalf("%d agents, %v", len(agents), err)
	}
	defer closeAll(agents)
	agents[0].config.AgentPid = pid
	if err := agents[0].maps[iteratorMapAirboundConfig].Put(uint32(0), agents[0].config); err != nil {
		t.Fatal(err)
	}
}
