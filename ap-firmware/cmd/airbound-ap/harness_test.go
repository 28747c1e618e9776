// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/neighbours/neighbourstest"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	"github.com/airbound/airbound/ap-firmware/statedir"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// A kernel serves every process: the agent, its guard, and an agent that is started later. The fake one is in the
// test's process; other processes reach it by a socket that this variable names.
const kernelVariable = "AIRBOUND_AP_TEST_KERNEL"

// TestMain makes the test binary the program itself when it is run by a test or, as the guard, by an agent.
func TestMain(m *testing.M) {
	path := os.Getenv(kernelVariable)
	enterNamespace()
	if isTest := len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test."); path == "" || isTest {
		os.Exit(m.Run())
	}
	var routing neighbourstest.Kernel
	routing.SetLink(indexOfWLAN0, 0)
	program(sockets{
		wireless: func(malformed func(error)) (*nl80211.Client, error) {
			conn, err := nl80211test.DialPath(path)
			if err != nil {
				return nil, err
			}
			return nl80211.New(conn, malformed)
		},
		routing: func(malformed func(error)) (*neighbours.Client, error) {
			return neighbours.New(routing.Dial(), malformed), nil
		},
		events: new(nl80211test.Events).Dial, windows: loadElsewhere, flows: flowsElsewhere,
	}).Main()
}

const indexOfWLAN0 = 3

// serveKernel lets other processes reach the cell's kernel, in which hostapd has set its own values.
func (c *cell) serveKernel() {
	c.t.Helper()
	// The path of t.TempDir outgrows the 108 bytes of a socket's address with the name of the test.
	directory, err := os.MkdirTemp("", "kernel")
	if err != nil {
		c.t.Fatal(err)
	}
	path := filepath.Join(directory, "socket")
	closeListener, err := c.kernel.Listen(path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Setenv(kernelVariable, path)
	c.t.Cleanup(func() {
		_ = closeListener()
		_ = os.RemoveAll(directory)
	})
	c.kernel.SetQueues(indexOfWLAN0, c.own())
}

func (c *cell) own() edca.Values { return hostapd.DefaultSettings(false).Own }

// process is the program, really executed.
type process struct {
	*exec.Cmd

	log *bytes.Buffer
}

// startProcess runs an agent in a process of its own until the test ends.
func (c *cell) startProcess(arguments ...string) *process {
	c.t.Helper()
	arguments = append([]string{
		"run", "--plain-text", "--controller", c.options.controller.String(),
		"--interface", "wlan0", "--interval", "100ms",
		"--hostapd-control", c.options.hostapdControl, "--state-dir", c.options.state.parent,
	}, arguments...)
	p := &process{Cmd: exec.Command("/proc/self/exe", arguments...), log: &bytes.Buffer{}}
	p.Stderr = io.MultiWriter(p.log, c.t.Output())
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

// status runs the program's own status and returns its output and its exit code.
func (c *cell) status(arguments ...string) (string, int) {
	c.t.Helper()
	arguments = append([]string{"status", "--state-dir", c.options.state.parent}, arguments...)
	command := exec.Command("/proc/self/exe", arguments...)
	text, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		c.t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// stream waits for an agent to connect.
func (c *cell) stream() grpc.BidiStreamingServer[request, response] {
	c.t.Helper()
	select {
	case stream := <-c.streams:
		return stream
	case <-time.After(timeout):
		c.t.Fatal("no agent connected")
		return nil
	}
}

// awaitReport takes reports until one satisfies the condition.
func (c *cell) awaitReport(what string, condition func(*airboundv1.EdcaState) bool) *airboundv1.EdcaState {
	c.t.Helper()
	timedOut := time.After(timeout)
	var last *airboundv1.AccessPointReport
	for {
		select {
		case last = <-c.reports:
			if condition(last.GetEdca()) {
				return last.GetEdca()
			}
		case <-timedOut:
			c.t.Fatalf("never: %s; the last report is %v", what, last)
		}
	}
}

// awaitGeneration takes reports until a generation is in force.
func (c *cell) awaitGeneration(generation uint64) *airboundv1.EdcaState {
	c.t.Helper()
	return c.awaitReport("generation in force", func(state *airboundv1.EdcaState) bool {
		return state.GetGeneration() == generation
	})
}

// eventually waits until a condition is true; no test depends on how long that takes.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	tb.Fatalf("never: %s", what)
}

// awaitQueues waits until the kernel has the own values, but for some queues.
func (c *cell) awaitQueues(what string, queues ...edca.Queue) {
	c.t.Helper()
	want := c.own().With(queues)
	eventually(c.t, what, func() bool { return c.kernel.Queues(indexOfWLAN0) == want })
}

// awaitWritten waits until a queue has been written to the kernel, whatever it has now: a lease that ends soon may be
// over before anybody looks.
func (c *cell) awaitWritten(queue edca.Queue) {
	c.t.Helper()
	eventually(c.t, "written", func() bool { return slices.Contains(c.kernel.QueueWrites(), queue) })
}

// awaitNoRecord waits until nothing is left to be written back.
func (c *cell) awaitNoRecord() {
	c.t.Helper()
	eventually(c.t, "no record", func() bool { return c.record() == nil })
}

func (c *cell) record() *edca.Record {
	c.t.Helper()
	record, err := statedir.New(c.options.state.parent, "wlan0").LoadRecord()
	if err != nil {
		c.t.Fatal(err)
	}
	return record
}

// sendSet sends a set of EDCA parameters on a stream.
func sendSet(tb testing.TB, stream grpc.BidiStreamingServer[request, response], set *airboundv1.SetEdca) {
	tb.Helper()
	if set.Reason == nil {
		share, least := 0.953, 0.6
		set.Reason = &airboundv1.Reason{
			Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS, After: &share, Limit: &least,
		}
	}
	command := &airboundv1.AccessPointCommand{Command: &airboundv1.AccessPointCommand_SetEdca{SetEdca: set}}
	if err := stream.Send(&response{Command: command}); err != nil {
		tb.Fatal(err)
	}
}

func bestEffort(aifsn uint8) edca.Queue {
	return edca.Queue{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: aifsn, CWMin: 15, CWMax: 1023}}
}

// setOf is a set of best effort alone.
func setOf(generation uint64, lease time.Duration, aifsn uint32) *airboundv1.SetEdca {
	return &airboundv1.SetEdca{
		Generation: generation, LeaseMs: uint32(lease.Milliseconds()),
		Queues: []*airboundv1.Edca{{
			Category: airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT, Aifsn: aifsn, CwMin: 15, CwMax: 1023,
		}},
	}
}

// guards returns the PIDs of the guards of the cell's agents.
func (c *cell) guards() []int {
	c.t.Helper()
	return processesWith(c.t, guardName, c.options.state.parent)
}
