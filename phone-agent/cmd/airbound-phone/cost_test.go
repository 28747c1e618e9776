// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The budget of a phone.
const (
	binaryBytesMax   = 16 << 20
	residentKBMax    = 20 << 10
	costDestinations = 64
	costReports      = 20
)

func TestTheAgentIsSmall(t *testing.T) {
	t.Parallel()
	t.Run("plain text", func(t *testing.T) {
		t.Parallel()
		c := startController(t, "127.0.0.1:0")
		measureCost(t, c, "--plain-text", "--controller", c.address)
	})
	t.Run("mutual TLS", func(t *testing.T) {
		t.Parallel()
		c, secure, flags := startSecure(t)
		measureCost(t, c, append(flags, "--token", secure.Invite(identity.RoleTerminal, "x"))...)
	})
}

func measureCost(t *testing.T, c *controller, flags ...string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p := newPhone(t)
	agent := p.startWith(io.Discard, flags...)
	stream := c.stream(t)
	bounds := make([]*airboundv1.Bound, costDestinations)
	for i := range bounds {
		bounds[i] = destination(fmt.Sprintf("10.0.4.%d/32", i), 10, 20)
	}
	// Reports at every sample: the destinations take turns in sending.
	for round := range costReports {
		connections := make([]string, costDestinations)
		for i := range connections {
			queued := (round + i) % 2 * 1000
			connections[i] = fmt.Sprintf(
				"1 established 10.0.0.11:%d 10.0.4.%d:5001 10073 open 42 2147483647 10 50 28123 27010 "+
					"4312 1448 %d 0 0 %d 0 3 0 0 0 0",
				30000+i,
				i,
				queued,
				round*1000,
			)
		}
		p.connections(connections...)
		c.report(t, "all destinations", func(report *airboundv1.TerminalReport) bool {
			return len(report.GetDestinations()) == costDestinations
		})
		bounds[0].MaxSegs++
		if err := stream.Send(setBounds(uint64(round+1), 60_000, bounds...)); err != nil {
			t.Fatal(err)
		}
	}
	resident := statusKB(t, agent.Process.Pid, "VmHWM")
	t.Logf(
		"binary %d bytes; resident at most %d kB, now %d kB",
		info.Size(),
		resident,
		statusKB(t, agent.Process.Pid, "VmRSS"),
	)
	if info.Size() >= binaryBytesMax {
		t.Errorf("the binary has %d bytes, at least %d", info.Size(), binaryBytesMax)
	}
	if resident >= residentKBMax {
		t.Errorf("the agent took %d kB, at least %d", resident, residentKBMax)
	}
}

// statusKB reads a field of /proc/PID/status.
func statusKB(t *testing.T, pid int, field string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, field+":"); found {
			kB, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kB
		}
	}
	t.Fatalf("no %s in\n%s", field, text)
	return 0
}
