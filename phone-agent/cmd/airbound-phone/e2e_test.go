// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/statedir"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	lineStart = "81234567 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 10 50 " +
		"28123 27010 4312 1448 "
	busyLine = lineStart + "98304 60816 0 1234567 0 3 0 0 0 0"
	idleLine = lineStart + "0 0 0 1234567 0 3 0 0 0 0"
)

func TestReportsReachTheControllerAndBoundsTheKernel(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	agent := p.start(c.address)
	stream := c.stream(t)
	first := c.report(t, "first", func(*airboundv1.TerminalReport) bool { return true })
	backEnd := first.GetAgent().GetBackEnd()
	if !bytes.Equal(first.GetMac(), []byte{2, 0, 0, 0, 1, 0xa}) || first.GetAgent().GetVersion() != "e2e" ||
		backEnd.GetName() != "procfs" || backEnd.GetRulesMax() != 256 {
		t.Errorf("first report: %v", first)
	}
	p.connections(busyLine, strings.Replace(busyLine, "10.0.4.1:5001", c.address, 1))
	started := c.report(t, "started sending", func(report *airboundv1.TerminalReport) bool {
		return report.GetTrigger() == airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING
	})
	if got := started.GetDestinations(); len(got) != 1 || !bytes.Equal(got[0].GetAddress(), []byte{10, 0, 4, 1}) ||
		got[0].GetQueuedBytes() != 98304+60816 {
		t.Errorf("destinations: %v", got)
	}
	if err := stream.Send(setBounds(1, 60_000, destination("10.0.4.1/32", 100, 150))); err != nil {
		t.Fatal(err)
	}
	const wanted = "flush\ndst 10.0.4.1/32 100 150\n"
	p.awaitTransaction(wanted)
	c.report(t, "generation 1 in force", func(report *airboundv1.TerminalReport) bool {
		return report.GetBoundsGeneration() == 1 &&
			report.GetTrigger() == airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL
	})
	p.connections(idleLine)
	c.report(t, "stopped sending", func(report *airboundv1.TerminalReport) bool {
		return report.GetTrigger() == airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING
	})

	text, code := p.status()
	for _, want := range []string{
		"because      the terminal began to send to 10.0.4.1\ninputs       active senders 5\n",
		"destination 10.0.4.1/32: 100 to 150 segments\n", "the kernel does not count how often rules change windows",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, text)
		}
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if got := p.rules(); got != "flush\n" {
		t.Errorf("after SIGTERM the last transaction is %q", got)
	}
	if text, code := p.status(); code != 3 || !strings.Contains(text, "stopped in order") {
		t.Errorf("status %d:\n%s", code, text)
	}
}

func TestTheControllerGoneTheDefaultsReturn(t *testing.T) {
	t.Parallel()
	// At an address of its own, a controller that starts again finds its port free.
	p, c := newPhone(t), startController(t, "127.0.66.1:0")
	p.start(c.address)
	// Long enough to be seen before it ends.
	if err := c.stream(t).Send(setBounds(9, 15_000, destination("10.0.4.1/32", 100, 150))); err != nil {
		t.Fatal(err)
	}
	p.awaitTransaction("flush\ndst 10.0.4.1/32 100 150\n")
	c.server.Stop()
	p.awaitTransaction("flush\n")
	if text, code := p.status(); code != 0 ||
		!strings.Contains(text, "the lease on generation 9 ended without a renewal") {
		t.Errorf("status %d:\n%s", code, text)
	}

	// Another controller process has generations of its own; its bounds are applied without restarting the agent.
	again := startController(t, c.address)
	stream := again.stream(t)
	again.report(t, "no bounds in force", func(report *airboundv1.TerminalReport) bool {
		return report.GetBoundsGeneration() == 0
	})
	if err := stream.Send(setBounds(1, 60_000, destination("10.0.4.1/32", 90, 95))); err != nil {
		t.Fatal(err)
	}
	p.awaitTransaction("flush\ndst 10.0.4.1/32 90 95\n")
}

func TestRenewalsKeepBoundsBeyondTheirLease(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	p.start(c.address)
	stream := c.stream(t)
	const lease = 8 * time.Second // Within which the agent takes two messages that come one behind the other.
	began := time.Now()
	bounds := setBounds(1, uint32(lease.Milliseconds()), destination("10.0.4.1/32", 100, 150))
	if err := stream.Send(bounds); err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(renewal(1, 60_000)); err != nil {
		t.Fatal(err)
	}
	for time.Since(began) < lease+time.Second {
		c.report(t, "generation 1 in force", func(report *airboundv1.TerminalReport) bool {
			return report.GetBoundsGeneration() == 1
		})
	}
	text, code := p.status("--json")
	var view struct {
		Running bool
		State   struct {
			Generation uint64 `json:"bounds_generation"`
			Code       string `json:"reason_code"`
		}
		Live        []struct{ Selector string } `json:"live_rules"`
		LeaseLeftMS int64                       `json:"lease_left_ms"`
	}
	if err := json.Unmarshal([]byte(text), &view); err != nil || code != 0 {
		t.Fatalf("status %d, %v:\n%s", code, err, text)
	}
	if !view.Running || view.State.Generation != 1 || view.State.Code != "REASON_CODE_STARTED_SENDING" ||
		len(view.Live) != 1 || view.LeaseLeftMS < 10_000 {
		t.Errorf("%+v", view)
	}
}

func TestAnAgentThatWasKilledIsCleanedUpAfter(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	agent := p.start(c.address)
	if err := c.stream(t).Send(setBounds(1, 60_000, destination("10.0.4.1/32", 100, 150))); err != nil {
		t.Fatal(err)
	}
	const clamped = "flush\ndst 10.0.4.1/32 100 150\n"
	p.awaitTransaction(clamped)
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	if text, code := p.status(); code != 3 || !strings.Contains(text, "did not stop in order") ||
		!strings.Contains(text, "airbound-phone cleanup") {
		t.Errorf("status %d:\n%s", code, text)
	}
	if got := p.rules(); got != clamped {
		t.Fatalf("rules are %q: there is nothing to clean up", got)
	}
	p.start(c.address)
	c.stream(t)
	if strings.Contains(p.rules(), "dst 10.0.4.1") {
		t.Errorf("rules are still %q", p.rules())
	}
}

// At boot, or with Wi-Fi off, there may be no interface yet; a full or read-only disk takes no state file.
func TestAnAgentThatCannotStartCleansUpAllTheSame(t *testing.T) {
	t.Parallel()
	const clamped = "dst 10.0.4.1/32 100 150\n"
	run := []string{"run", "--plain-text", "--controller", "127.0.0.1:1"}
	tests := map[string]struct {
		arguments []string
		prepare   func(p *phone) error
		rules     string
		message   string
	}{
		"no interface": {
			append(
				run,
				"--interface",
				"nosuch0",
			),
			func(*phone) error { return nil },
			"flush\n",
			"find interface nosuch0",
		},
		"no state directory": {
			append(run, "--mac", "02:00:00:00:01:0a"),
			func(p *phone) error { return os.WriteFile(p.stateDir, nil, 0o600) },
			"flush\n", "create the state directory",
		},
		"another agent runs": {
			append(run, "--mac", "02:00:00:00:01:0a"),
			func(p *phone) error {
				unlock, err := statedir.New(p.stateDir).Lock()
				p.t.Cleanup(func() { _ = unlock() })
				return err
			},
			clamped, "another agent is running",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPhone(t)
			p.writeFile("tcp_cwnd_bounds", clamped)
			if err := test.prepare(p); err != nil {
				t.Fatal(err)
			}
			command := p.command(test.arguments...)
			output, _ := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(output), test.message) {
				t.Errorf("exit %d: %s", code, output)
			}
			if got := p.rules(); got != test.rules {
				t.Errorf("rules are %q, want %q", got, test.rules)
			}
		})
	}
}

func TestALogThatNobodyReadsDoesNotKeepThePhoneClamped(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	reader, log := os.NewFile(uintptr(ends[0]), "reader"), os.NewFile(uintptr(ends[1]), "log")
	defer reader.Close() //nolint:errcheck // nothing was read
	defer log.Close()    //nolint:errcheck // nothing is to be written
	for {
		if _, err := unix.Write(ends[1], make([]byte, 4096)); err != nil {
			break
		}
	}
	if err := unix.SetNonblock(ends[1], false); err != nil {
		t.Fatal(err)
	}
	agent := p.startWithLog(c.address, log)
	if err := c.stream(t).Send(setBounds(1, 1_000, destination("10.0.4.1/32", 100, 150))); err != nil {
		t.Fatal(err)
	}
	p.awaitTransaction("flush\ndst 10.0.4.1/32 100 150\n")
	p.awaitTransaction("flush\n")
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(timeout):
		t.Error("SIGTERM does not end it")
	}
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.writeFile("tcp_cwnd_bounds", "all 1 2\ndst 10.0.4.1/32 3 4\n")
	output, err := p.command("cleanup").CombinedOutput()
	if err != nil || string(output) != "The kernel's defaults are in force. Rules removed: 2.\n" ||
		p.rules() != "flush\n" {
		t.Errorf("%v, %s, rules %q", err, output, p.rules())
	}
}

// An agent can have raised them in a kernel that has no bounds for this cleanup: another cgroup, fewer rights.
func TestCleanupRestoresPacingRatiosWhereThereAreNoBounds(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	settings := filepath.Join(p.root, "sys", "net", "ipv4")
	if err := errors.Join(os.Remove(filepath.Join(p.root, "net", "tcp_cwnd_bounds")), os.MkdirAll(settings, 0o755),
		os.WriteFile(filepath.Join(settings, "tcp_pacing_ca_ratio"), []byte("400\n"), 0o644),
		os.MkdirAll(p.stateDir, 0o755),
		os.WriteFile(filepath.Join(p.stateDir, "pacing.json"), []byte(`{"tcp_pacing_ca_ratio": 150}`), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	output, err := p.command("cleanup").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "No bounds to clean up") {
		t.Errorf("%v, %s", err, output)
	}
	if percent, err := os.ReadFile(filepath.Join(settings, "tcp_pacing_ca_ratio")); string(percent) != "150\n" {
		t.Errorf("%v, %s", err, percent)
	}
}

func TestCleanupBesideARunningAgent(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	p.start(c.address)
	if err := c.stream(t).Send(setBounds(1, 60_000, destination("10.0.4.1/32", 100, 150))); err != nil {
		t.Fatal(err)
	}
	p.awaitTransaction("flush\ndst 10.0.4.1/32 100 150\n")
	output, err := p.command("cleanup").CombinedOutput()
	if err != nil || !strings.Contains(string(output), "An agent is running") || p.rules() != "flush\n" {
		t.Errorf("%v, %s, rules %q", err, output, p.rules())
	}
	if text, code := p.status(); code != 0 || !strings.Contains(text, "something else changed them") {
		t.Errorf("status %d:\n%s", code, text)
	}
}

func TestErrorsAndExitCodes(t *testing.T) {
	t.Parallel()
	run := []string{"run", "--plain-text", "--controller", "127.0.0.1:1", "--mac", "02:00:00:00:01:0a"}
	tests := map[string]struct {
		arguments []string
		missing   string
		code      int
		message   string
	}{
		"not patched": {
			append(slices.Clone(run), "--back-end", "procfs"), "tcp_cwnd_bounds", 1, "the kernel is not patched",
		},
		"no monitor":    {append(slices.Clone(run), "--monitor", "procfs"), "tcp_monitor", 1, "is the kernel patched?"},
		"no controller": {[]string{"run", "--interface", "lo"}, "", 2, "--controller is missing"},
		"odd controller": {
			[]string{"run", "--plain-text", "--controller", "nowhere", "--interface", "lo"},
			"", 2,
			`--controller "nowhere" is not ADDR:PORT`,
		},
		"unknown interface": {
			[]string{"run", "--plain-text", "--controller", "127.0.0.1:1", "--interface", "nosuch0"},
			"", 1, "find interface nosuch0",
		},
		"no MAC": {
			[]string{
				"run", "--plain-text",
				"--controller",
				"127.0.0.1:1",
				"--interface",
				"lo",
			},
			"",
			1,
			"interface lo has no MAC address",
		},
		"odd MAC": {
			[]string{"run", "--plain-text", "--controller", "127.0.0.1:1", "--mac", "02:00"},
			"", 2,
			`--mac "02:00" is not a MAC address of six octets`,
		},
		"interval":  {append(run, "--interval", "1ms"), "", 2, "--interval 1ms is not within 100ms to 1m0s"},
		"heartbeat": {append(run, "--heartbeat", "11m"), "", 2, "--heartbeat 11m0s is not within 1s to 10m0s"},
		"sample interval": {
			append(run, "--sample-interval", "2s"),
			"",
			2,
			"--sample-interval 2s is not within 50ms to 1s",
		},
		"log format": {append(run, "--log-format", "xml"), "", 2, `--log-format "xml" is neither text nor json`},
		"unknown flag": {
			append(run, "--color"),
			"",
			2,
			"flag provided but not defined: -color; see airbound-phone run --help",
		},
		"stray argument":    {append(run, "now"), "", 2, `unexpected argument "now"`},
		"unknown command":   {[]string{"start"}, "", 2, `no command "start"`},
		"status of nothing": {[]string{"status"}, "", 3, ""},
		"status misspelt":   {[]string{"status", "--jason"}, "", 2, "flag provided but not defined: -jason"},
		"cleanup misspelt":  {[]string{"cleanup", "all"}, "", 2, `unexpected argument "all"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPhone(t)
			if test.missing != "" {
				if err := os.Remove(filepath.Join(p.root, "net", test.missing)); err != nil {
					t.Fatal(err)
				}
			}
			// Places first: flags end at a stray argument.
			path := p.command().Path
			arguments := append([]string{
				test.arguments[0], "--proc-root", p.root, "--state-dir", p.stateDir,
			}, test.arguments[1:]...)
			var stderr strings.Builder
			command := exec.Command(path, arguments...)
			command.Stderr = &stderr
			_ = command.Run()
			if code := command.ProcessState.ExitCode(); code != test.code ||
				!strings.Contains(stderr.String(), test.message) {
				t.Errorf("exit code %d, %s", code, stderr.String())
			}
		})
	}
}

func TestOneAgentPerStateDirectory(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	p.start(c.address)
	c.stream(t)
	second := p.command("run", "--plain-text", "--controller", c.address, "--mac", "02:00:00:00:01:0b")
	output, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "another agent is running") {
		t.Errorf("%v, %s", err, output)
	}
}

func TestAStateFileOfAnotherKindIsAnError(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	if err := os.Mkdir(p.stateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.stateDir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, code := p.status(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	path := p.command().Path
	for arguments, want := range map[string]string{
		"--help":         "airbound-phone run --controller 192.0.2.1:50051 --interface wlan0",
		"--version":      "airbound-phone e2e\n",
		"run --help":     "Usage: airbound-phone run [FLAGS]",
		"status --help":  "print JSON",
		"cleanup --help": "-proc-root",
		"run -h":         "Examples:\n  airbound-phone run --controller",
	} {
		output, err := exec.Command(path, strings.Fields(arguments)...).Output()
		if err != nil || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v\n%s", arguments, err, output)
		}
	}
	if output, err := exec.Command(
		path,
	).CombinedOutput(); err == nil ||
		!strings.Contains(string(output), "Exit codes") {
		t.Errorf("without a command: %v\n%s", err, output)
	}
}

// A write to standard error that nobody reads any more ends a Go program unless it ignores SIGPIPE; this one would
// leave its rules in the kernel.
func TestAnAgentWhoseLogIsGoneStillRestoresTheDefaults(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	agent := p.startWithLog(c.address, writer)
	stream := c.stream(t)
	if err := errors.Join(writer.Close(), reader.Close()); err != nil {
		t.Fatal(err)
	}
	for generation := uint64(1); generation <= 2; generation++ {
		if err := stream.Send(setBounds(generation, 60_000, destination("10.0.4.1/32", 100, 150))); err != nil {
			t.Fatal(err)
		}
		c.report(t, "a set in force", func(report *airboundv1.TerminalReport) bool {
			return report.GetBoundsGeneration() == generation
		})
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if got := p.rules(); got != "flush\n" {
		t.Errorf("after SIGTERM the last transaction is %q", got)
	}
}

func TestStatusShowsHowOftenRulesChangedAWindow(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.writeFile("tcp_cwnd_bounds", "dst 10.0.4.1/32 10 20\n")
	p.writeFile("tcp_cwnd_bounds_stat", "dst 10.0.4.1/32 10 20 raised 3 lowered 591\n")
	const want = "kernel       destination 10.0.4.1/32: 10 to 20 segments; " +
		"lowered a window 591 times, raised one 3 times\n"
	if text, code := p.status(); code != 3 || !strings.Contains(text, want) {
		t.Errorf("status %d:\n%s", code, text)
	}
}

// What the agent does with trace events is tested in phone-agent/trace/starts and phone-agent/agent with a fake kernel
// and in lab/tests/test_trace_command_uml.py and test_chain_uml.py with a real one; here, that it goes on without them.
func TestWithoutTraceEventsTheAgentSamples(t *testing.T) {
	t.Parallel()
	notTracefs := t.TempDir() // A directory where an instance stays empty.
	for _, directory := range []string{
		"instances", "events/tcp_monitor/tcp_monitor_window", "events/tcp_monitor/tcp_monitor_event",
	} {
		if err := os.MkdirAll(filepath.Join(notTracefs, directory), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // after all of them
		if left, err := os.ReadDir(filepath.Join(notTracefs, "instances")); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	for why, arguments := range map[string][]string{
		"no tracefs at /nowhere; mount it with": {"--tracefs", "/nowhere"},
		"no such file or directory":             {"--tracefs", notTracefs},
		"--no-tracing":                          {"--no-tracing", "--tracefs", notTracefs},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			p, c := newPhone(t), startController(t, "127.0.0.1:0")
			if err := os.MkdirAll(filepath.Join(p.root, "self/ns/net"), 0o700); err != nil {
				t.Fatal(err)
			}
			run := []string{"run", "--plain-text", "--controller", c.address, "--mac", "02:00:00:00:01:0A"}
			arguments := append(run, arguments...)
			agent := p.command(arguments...)
			var log strings.Builder
			agent.Stderr = &log
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			c.stream(t)
			if text, code := p.status(); code != 0 || !strings.Contains(text, "starts       seen by sampling: ") ||
				!strings.Contains(text, why) {
				t.Errorf("status %d:\n%s", code, text)
			}
			if text, _ := p.status("--json"); !strings.Contains(text, `"by": "sampling",`) {
				t.Error(text)
			}
			if err := errors.Join(agent.Process.Signal(syscall.SIGTERM), agent.Wait()); err != nil {
				t.Error(err)
			}
			if logged := strings.Contains(log.String(), "no trace events"); logged == (why == "--no-tracing") {
				t.Error(log.String())
			}
		})
	}
}

func TestTheLogInJSON(t *testing.T) {
	t.Parallel()
	p, c := newPhone(t), startController(t, "127.0.0.1:0")
	agent := p.command("run", "--plain-text", "--controller", c.address, "--mac", "02:00:00:00:01:0A",
		"--log-format", "json")
	var log strings.Builder
	agent.Stderr = &log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	c.stream(t)
	if err := errors.Join(agent.Process.Signal(syscall.SIGTERM), agent.Wait()); err != nil {
		t.Error(err)
	}
	var line struct{ Msg, MAC string }
	var err error
	for text := range strings.Lines(log.String()) {
		if err = json.Unmarshal([]byte(text), &line); err != nil || line.Msg == "started" {
			break
		}
	}
	if err != nil || line.Msg != "started" || line.MAC != "02:00:00:00:01:0a" {
		t.Errorf("%v, %s", err, log.String())
	}
}
