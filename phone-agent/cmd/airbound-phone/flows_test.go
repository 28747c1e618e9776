// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/flows/tcbpf"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// airPhone is a phone in a network namespace of its own, with an interface wlan0.
type airPhone struct {
	*phone

	namespace string
}

var airNamespaces atomic.Uint32

// newAirPhone also moves the test's thread into the namespace, which ends with the test.
func newAirPhone(t *testing.T) *airPhone {
	t.Helper()
	p := &airPhone{phone: newPhone(t), namespace: fmt.Sprintf("air-%d-%d", os.Getpid(), airNamespaces.Add(1))}
	runTool(t, "ip", "netns", "add", p.namespace)
	t.Cleanup(func() { runTool(t, "ip", "netns", "del", p.namespace) })
	runtime.LockOSThread() // For good: the thread ends with the goroutine.
	file, err := os.Open(filepath.Join("/run/netns", p.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	runTool(t, "ip", "link", "set", "lo", "up")
	runTool(t, "ip", "link", "add", "wlan0", "type", "veth", "peer", "name", "other")
	runTool(t, "ip", "addr", "add", "192.0.2.1/24", "dev", "wlan0")
	runTool(t, "ip", "link", "set", "other", "up")
	runTool(t, "ip", "link", "set", "wlan0", "up")
	runTool(t, "ip", "neigh", "replace", "192.0.2.7", "lladdr", "02:00:00:00:00:07", "dev", "wlan0", "nud", "permanent")
	return p
}

func runTool(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// run starts the agent at wlan0.
func (p *airPhone) run(controller string, arguments ...string) *exec.Cmd {
	p.t.Helper()
	agent := p.command(append([]string{
		"run", "--plain-text", "--controller", controller, "--interface", "wlan0", "--sample-interval", "100ms",
		"--interval", "500ms", "--heartbeat", "1s",
	}, arguments...)...)
	agent.Stderr = p.t.Output()
	if err := agent.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if agent.ProcessState == nil {
			_ = agent.Process.Kill()
			_ = agent.Wait()
		}
	})
	return agent
}

func setFlows(generation uint64, wanted ...*airboundv1.Flow) *response {
	return &response{Command: &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_SetFlows{SetFlows: &airboundv1.SetFlows{
			Generation: generation, LeaseMs: 60_000, Flows: wanted,
		}},
	}}
}

func flowsOf(generation uint64) func(*airboundv1.TerminalReport) bool {
	return func(report *airboundv1.TerminalReport) bool { return report.GetFlows().GetGeneration() == generation }
}

// The whole way from the controller's command to the packets, and back to its report.
func TestFlowsOfARunningAgent(t *testing.T) {
	p := newAirPhone(t)
	c := startController(t, "127.0.0.1:0")
	agent := p.run(c.address)
	stream := c.stream(t)
	first := c.report(t, "the first", func(report *airboundv1.TerminalReport) bool { return report.GetAgent() != nil })
	if self := first.GetAgent(); !self.GetCanMark() || !self.GetCanPace() || self.GetCanAdmit() ||
		self.GetFlowsMax() != flows.Max || !strings.HasPrefix(self.GetFlowsRefusal(), "find nl80211 in the kernel: ") {
		t.Errorf("%v", self)
	}
	uid := uint32(os.Getuid())
	err := stream.Send(setFlows(5, &airboundv1.Flow{
		Uid: &uid, Category: airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO, AdmittedUsPerS: 1000,
	}))
	if err != nil {
		t.Fatal(err)
	}
	c.report(t, "with flows", flowsOf(5))
	runTool(t, "bash", "-c", "echo >/dev/udp/192.0.2.7/9")
	report := c.report(t, "with a marked packet", func(report *airboundv1.TerminalReport) bool {
		return report.GetFlows().GetMarkedPacketsTotal() > 0
	})
	if got := report.GetFlows(); got.GetFailuresTotal() != 1 || !strings.HasPrefix(got.GetFailure(), "admission: ") {
		t.Errorf("%v", got)
	}
	text, _ := p.status()
	for _, want := range []string{
		"flows        can be given access category, rate of UDP; find nl80211 in the kernel: ",
		"generation 5, 1 flow", "uid 0: as video, admitted for 1000 us/s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if err := stream.Send(setFlows(6)); err != nil {
		t.Fatal(err)
	}
	before := c.report(t, "without flows", flowsOf(0)).GetFlows().GetMarkedPacketsTotal()
	runTool(t, "bash", "-c", "echo >/dev/udp/192.0.2.7/9")
	if err := stream.Send(setFlows(7, &airboundv1.Flow{Uid: &uid, UdpBps: 11_999})); err != nil {
		t.Fatal(err)
	}
	refused := c.report(t, "of a refusal", func(report *airboundv1.TerminalReport) bool {
		return report.GetFlows().GetRefusedTotal() == 1
	})
	if got := refused.GetFlows(); got.GetMarkedPacketsTotal() != before || got.GetGeneration() != 0 {
		t.Errorf("%v, %d marked before", got, before)
	}
	if err := agent.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := agent.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTheOwnerForbidsFlows(t *testing.T) {
	p := newAirPhone(t)
	c := startController(t, "127.0.0.1:0")
	p.run(c.address, "--no-flows")
	first := c.report(t, "the first", func(report *airboundv1.TerminalReport) bool { return report.GetAgent() != nil })
	self := first.GetAgent()
	if self.GetCanMark() || self.GetFlowsMax() != 0 || self.GetFlowsRefusal() != "--no-flows" {
		t.Errorf("%v", self)
	}
	findings, _ := p.examined("--plain-text", "--controller", c.address, "--interface", "wlan0", "--no-flows")
	if strings.Contains(fmt.Sprint(findings), "flows") {
		t.Errorf("%v", findings)
	}
}

// An agent that was killed leaves a filter where the kernel has no TCX: its guard, or `cleanup`, removes it.
func TestWhatAKilledAgentHasLeftIsRemoved(t *testing.T) {
	for _, arguments := range [][]string{{"detach-when-orphaned"}, {"cleanup"}} {
		t.Run(arguments[0], func(t *testing.T) {
			p := newAirPhone(t)
			kernel, err := tcbpf.Load(tcbpf.Options{Clsact: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := kernel.Set("wlan0", []flows.Flow{{Video: true}}, 1<<50); err != nil {
				t.Fatal(err)
			}
			filters := func() string { return runTool(t, "tc", "filter", "show", "dev", "wlan0", "egress") }
			if !strings.Contains(filters(), "airbound leave phone") {
				t.Fatalf("%q", filters())
			}
			command := p.command("cleanup")
			if arguments[0] != "cleanup" {
				command = exec.Command(command.Path, arguments...) // Its pipe has ended.
			}
			if out, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if filters() != "" || strings.Contains(runTool(t, "tc", "qdisc", "show", "dev", "wlan0"), "clsact") {
				t.Errorf("%s", filters())
			}
		})
	}
}
