// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/phone-agent/apply/ebpf/ebpftest"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// These tests run the built program on this machine's own kernel, in a network namespace and a cgroup of the test; see
// package ebpftest.

func TestMain(m *testing.M) { ebpftest.Main(m) }

// stockPhone is a phone without Airbound's patches, its agent and the stream to its controller.
type stockPhone struct {
	*phone
	kernel     *ebpftest.Phone
	controller *controller
	agent      *exec.Cmd
	stream     grpc.BidiStreamingServer[request, response]
	generation uint64
}

func startStock(t *testing.T, flags ...string) *stockPhone {
	t.Helper()
	return startStockWith(t, "", flags...)
}

func startStockWith(t *testing.T, capabilities string, flags ...string) *stockPhone {
	t.Helper()
	p := &stockPhone{kernel: ebpftest.New(t)}
	p.phone = &phone{
		t: t, root: "/proc", stateDir: filepath.Join(t.TempDir(), "state"), capabilities: capabilities,
	}
	p.controller = startController(t, "127.0.0.1:0")
	flags = append(flags, "--no-tracing", "--plain-text",
		"--cgroup", p.kernel.Cgroup, "--controller", p.controller.address)
	// A file: a guard that outlives the agent has it open, too.
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		text, err := os.ReadFile(log.Name())
		t.Logf("%s%v", text, errors.Join(err, log.Close()))
	})
	p.agent = p.startWith(log, flags...)
	p.stream = p.controller.stream(t)
	return p
}

// set sends a maximum for all connections and waits until the agent reports it in force.
func (p *stockPhone) set(leaseMS, maxSegs uint32) {
	p.t.Helper()
	p.generation++
	bound := &airboundv1.Bound{Selector: &airboundv1.Bound_All{All: true}, MinSegs: 1, MaxSegs: maxSegs}
	if err := p.stream.Send(setBounds(p.generation, leaseMS, bound)); err != nil {
		p.t.Fatal(err)
	}
	p.controller.report(p.t, "bounds in force", func(report *airboundv1.TerminalReport) bool {
		return report.GetBoundsGeneration() == p.generation
	})
}

// guards are the processes that the agent runs to restore the kernel's defaults: those with the phone's cgroup in their
// arguments.
func (p *stockPhone) guards() []string {
	p.t.Helper()
	var found []string
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, command := range commands {
		text, err := os.ReadFile(command)
		if err == nil && strings.Contains(string(text), "restore-when-orphaned") &&
			strings.Contains(string(text), p.kernel.Cgroup) {
			found = append(found, command)
		}
	}
	return found
}

// guard is the only one.
func (p *stockPhone) guard() *os.Process {
	p.t.Helper()
	guards := p.guards()
	if len(guards) != 1 {
		p.t.Fatalf("guards: %v", guards)
	}
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(guards[0])))
	if err != nil {
		p.t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		p.t.Fatal(err)
	}
	return process
}

// pacingRatios returns the two of the phone's network namespace, which is that of the test's thread.
func (p *stockPhone) pacingRatios() string {
	p.t.Helper()
	var both []string
	for _, name := range []string{"tcp_pacing_ca_ratio", "tcp_pacing_ss_ratio"} {
		text, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
		if err != nil {
			p.t.Fatal(err)
		}
		both = append(both, strings.TrimSpace(string(text)))
	}
	return strings.Join(both, " ")
}

func (p *stockPhone) ratiosBecome(want string) {
	p.t.Helper()
	eventually(p.t, "the pacing ratios are "+want, func() bool { return p.pacingRatios() == want })
}

func (p *stockPhone) noGuardIsLeft() {
	p.t.Helper()
	eventually(p.t, "no guard is left", func() bool { return len(p.guards()) == 0 })
}

func TestAStockKernelIsBoundedUntilTheAgentStops(t *testing.T) {
	for _, backEnd := range []string{"auto", "ebpf", "ebpf-new-only"} {
		t.Run(backEnd, func(t *testing.T) {
			p := startStock(t, "--back-end", backEnd)
			first := p.controller.report(t, "the first", func(report *airboundv1.TerminalReport) bool {
				return report.GetAgent() != nil
			}).GetAgent().GetBackEnd()
			want := map[string]string{"auto": "ebpf"}[backEnd]
			if want == "" {
				want = backEnd
			}
			if first.GetName() != want || !first.GetCanSetMax() || first.GetCanSetMin() ||
				!first.GetCanSelectDestination() || first.GetCanSelectUid() != (want == "ebpf") ||
				first.GetCanSelectUidDestination() != (want == "ebpf") || first.GetRulesMax() != 256 {
				t.Errorf("%v", first)
			}
			own := p.pacingRatios()
			p.set(60_000, 20)
			sender := p.kernel.Send("10.0.4.1")
			sender.IsBounded(20)
			p.ratiosBecome("400 400")
			p.controller.report(t, "the monitor sees it", func(report *airboundv1.TerminalReport) bool {
				to := report.GetDestinations() // Both ends of the connection have the same address.
				return len(to) == 1 && to[0].GetConnectionsSending() == 1 && to[0].GetCwndSegs() == 20+10
			})
			text, code := p.status("--back-end", backEnd, "--cgroup", p.kernel.Cgroup)
			if code != 0 || !strings.Contains(text, "kernel       all: 1 to 20 segments; lowered a window ") {
				t.Errorf("%d: %s", code, text)
			}
			if err := p.agent.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := p.agent.Wait(); err != nil {
				t.Error(err)
			}
			p.ratiosBecome(own)
			sender.GrowsAbove(60)
			p.noGuardIsLeft()
		})
	}
}

// unitsCapabilities are those of the Debian package's unit, as setpriv takes them.
func unitsCapabilities(t *testing.T) string {
	t.Helper()
	unit, err := os.ReadFile("../../debian/files/airbound-phone.service")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(unit), "\nCapabilityBoundingSet=")
	line, _, _ := strings.Cut(rest, "\n")
	if !found || line == "" {
		t.Fatal("the unit has no CapabilityBoundingSet")
	}
	set := []string{"-all"}
	for name := range strings.FieldsSeq(line) {
		set = append(set, "+"+strings.ToLower(strings.TrimPrefix(name, "CAP_")))
	}
	return strings.Join(set, ",")
}

func TestTheUnitsCapabilitiesAreEnoughForAStockKernel(t *testing.T) {
	for _, backEnd := range []string{"ebpf", "ebpf-new-only"} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(fmt.Sprintf("%s, %v", backEnd, signal), func(t *testing.T) {
				p := startStockWith(t, unitsCapabilities(t), "--back-end", backEnd)
				own := p.pacingRatios()
				p.set(60_000, 20)
				p.ratiosBecome("400 400")
				sender := p.kernel.Send("10.0.4.1")
				sender.IsBounded(20)
				if err := p.agent.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				if err := p.agent.Wait(); err != nil && signal == syscall.SIGTERM {
					t.Error(err)
				}
				p.ratiosBecome(own)
				sender.GrowsAbove(60)
				p.noGuardIsLeft()
			})
		}
	}
}

func TestAStockKernelIsReleasedWhenTheAgentIsKilled(t *testing.T) {
	for _, backEnd := range []string{"ebpf", "ebpf-new-only"} {
		t.Run(backEnd, func(t *testing.T) {
			p := startStock(t, "--back-end", backEnd)
			p.set(60_000, 20)
			sender := p.kernel.Send("10.0.4.1")
			sender.IsBounded(20)
			killed := time.Now()
			if err := p.agent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.agent.Wait()
			sender.GrowsAbove(60)
			t.Logf("released %v after SIGKILL", time.Since(killed))
			p.noGuardIsLeft()
			// And what the killed agent's program would have done to new connections is over as well.
			sender.Stop()
			p.kernel.Send("10.0.4.1").GrowsAbove(60)
		})
	}
}

// Without the iterator only a round trip lifts a maximum, so the guard stays until an idle connection has had one.
func TestAnIdleConnectionIsReleasedAfterTheAgentWasKilled(t *testing.T) {
	for _, backEnd := range []string{"ebpf", "ebpf-new-only"} {
		t.Run(backEnd, func(t *testing.T) {
			p := startStock(t, "--back-end", backEnd)
			p.set(60_000, 20)
			idle, closed := p.kernel.Connect("10.0.4.1", ebpftest.From{}), p.kernel.Connect("10.0.4.1", ebpftest.From{})
			if err := p.agent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.agent.Wait()
			if backEnd == "ebpf" {
				p.noGuardIsLeft()
			} else if time.Sleep(time.Second); len(p.guards()) != 1 {
				t.Errorf("guards: %v", p.guards())
			}
			closed.Stop()
			idle.Begin()
			idle.GrowsAbove(60)
			p.noGuardIsLeft()
		})
	}
}

// The connections of the killed agent end while nobody but the kernel does anything. One is left, so that the guard has
// something to wait for.
func TestTheGuardEndsWhenConnectionsCloseBeforeItActs(t *testing.T) {
	for _, cgroupStays := range []bool{true, false} {
		t.Run(fmt.Sprintf("the cgroup stays: %v", cgroupStays), func(t *testing.T) {
			p := startStock(t, "--back-end", "ebpf-new-only")
			p.set(60_000, 20)
			first, last := p.kernel.Connect("10.0.4.1", ebpftest.From{}), p.kernel.Connect("10.0.4.1", ebpftest.From{})
			guard := p.guard()
			if err := guard.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := p.agent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = p.agent.Wait()
			first.Stop()
			first.IsGone()
			if !cgroupStays {
				last.Stop()
				last.IsGone()
				eventually(t, "the cgroup is gone", func() bool { return os.Remove(p.kernel.Cgroup) == nil })
			}
			if err := guard.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if cgroupStays {
				last.Begin()
				last.GrowsAbove(60)
			}
			p.noGuardIsLeft()
		})
	}
}

func TestAStockKernelIsReleasedWhenTheAgentHangs(t *testing.T) {
	for _, backEnd := range []string{"ebpf", "ebpf-new-only"} {
		t.Run(backEnd, func(t *testing.T) {
			p := startStock(t, "--back-end", backEnd)
			own := p.pacingRatios()
			p.set(60_000, 20)
			sender := p.kernel.Send("10.0.4.1")
			sender.IsBounded(20) // Seen under a lease that does not end meanwhile.
			p.set(6_000, 20)
			if err := p.agent.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			sender.GrowsAbove(60)
			p.ratiosBecome(own)
			if err := p.agent.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			p.controller.report(t, "the lease ended", func(report *airboundv1.TerminalReport) bool {
				return report.GetBoundsGeneration() == 0
			})
		})
	}
}

func TestASecondAgentOnAStockKernelIsRefused(t *testing.T) {
	p := startStock(t)
	p.set(60_000, 20)
	other := &phone{t: t, root: "/proc", stateDir: filepath.Join(t.TempDir(), "other")}
	second := other.command("run", "--mac", "02:00:00:00:01:0B", "--plain-text", "--cgroup", p.kernel.Cgroup,
		"--controller", p.controller.address)
	text, err := second.CombinedOutput()
	want := fmt.Sprintf("another agent, pid %d, bounds the connections of %s", p.agent.Process.Pid, p.kernel.Cgroup)
	if err == nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestCleaningUpAStockKernel(t *testing.T) {
	p := startStock(t)
	own := p.pacingRatios()
	p.set(60_000, 20)
	sender := p.kernel.Send("10.0.4.1")
	sender.IsBounded(20)
	p.ratiosBecome("400 400")
	text, err := p.command("cleanup", "--cgroup", p.kernel.Cgroup).Output()
	if err != nil || !strings.Contains(string(text), "The kernel's defaults are in force. Rules removed: 1.\n") {
		t.Errorf("%v: %s", err, text)
	}
	p.ratiosBecome(own)
	sender.GrowsAbove(60)
}
