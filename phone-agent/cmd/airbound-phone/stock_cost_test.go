// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/apply/ebpf/ebpftest"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The budget of a phone with many connections; the stock kernel's programs and BTF are loaded at the start.
const (
	stockConnections   = 200
	stockResidentKBMax = 24 << 10
	// Of the patched kernel's agent: 19.5 to 20.6 MB, by how late Go's collector runs on a busy machine.
	manyResidentKBMax = 22 << 10
	stockGuardKBMax   = 20 << 10
	stockMeasured     = 10 * time.Second
	// clockTicks is USER_HZ, the unit of /proc/PID/stat on every architecture here.
	clockTicks = 100
)

// TestTheAgentIsSmallWithManyConnections measures the agent with 200 connections of which one sends, 10 samples a
// second.
func TestTheAgentIsSmallWithManyConnections(t *testing.T) {
	t.Run("stock kernel", func(t *testing.T) {
		p := startStock(t, "--back-end", "ebpf", "--monitor", "sockdiag")
		for range stockConnections / 2 { // Both ends are in the namespace.
			p.kernel.Connect("10.0.4.1", ebpftest.From{})
		}
		p.set(60_000, 20)
		p.kernel.Send("10.0.4.1").IsBounded(20)
		resident := measureSamples(t, p.agent.Process.Pid)
		if resident >= stockResidentKBMax {
			t.Errorf("the agent took %d kB, at least %d", resident, stockResidentKBMax)
		}
		for _, guard := range p.guards() {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(guard)))
			if err != nil {
				t.Fatal(err)
			}
			kB := statusKB(t, pid, "VmHWM")
			t.Logf("the guard: resident at most %d kB", kB)
			if kB >= stockGuardKBMax {
				t.Errorf("the guard took %d kB, at least %d", kB, stockGuardKBMax)
			}
		}
	})
	t.Run("patched kernel, files that stand in for it", func(t *testing.T) {
		c := startController(t, "127.0.0.1:0")
		p := newPhone(t)
		lines := make([]string, stockConnections)
		for i := range lines {
			lines[i] = fmt.Sprintf("1 established 10.0.0.11:%d 10.0.4.%d:5001 10073 open 42 2147483647 10 50 28123 "+
				"27010 4312 1448 %d 0 0 5000 0 3 0 0 0 0", 30000+i, i, 1000)
		}
		p.connections(lines...)
		agent := p.startWith(t.Output(), "--no-tracing", "--plain-text", "--controller", c.address)
		c.report(t, "all destinations", func(report *airboundv1.TerminalReport) bool {
			return len(report.GetDestinations()) == stockConnections
		})
		if resident := measureSamples(t, agent.Process.Pid); resident >= manyResidentKBMax {
			t.Errorf("the agent took %d kB, at least %d", resident, manyResidentKBMax)
		}
	})
}

// measureSamples logs what a sample costs while the agent makes 10 each second, and returns its largest resident size.
func measureSamples(t *testing.T, pid int) int {
	t.Helper()
	before := processorTicks(t, pid)
	time.Sleep(stockMeasured)
	ticks := processorTicks(t, pid) - before
	resident := statusKB(t, pid, "VmHWM")
	t.Logf("%.2f ms of processor time for each sample; resident at most %d kB, now %d kB",
		float64(ticks)*1000/clockTicks/(10*stockMeasured.Seconds()), resident, statusKB(t, pid, "VmRSS"))
	return resident
}

func processorTicks(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name in parentheses may contain anything; the 14th and 15th field are the user's and the system's ticks.
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	if errUser != nil || errSystem != nil {
		t.Fatal(errUser, errSystem)
	}
	return user + system
}
