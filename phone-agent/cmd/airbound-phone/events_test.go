// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/events"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// follower runs `airbound-phone events` until the test ends, and returns what it prints, line by line. When it returns,
// no arrival is missed any more.
func follower(t *testing.T, p *phone) <-chan string {
	t.Helper()
	command := p.stateCommand("events")
	output, printed := io.Pipe()
	ready, isReady := io.Pipe()
	command.Stdout, command.Stderr = printed, isReady
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = output.Close()
		_ = ready.Close()
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if text, err := bufio.NewReader(ready).ReadString('\n'); text != "airbound-phone events: following\n" {
		t.Fatalf("%q, %v", text, err)
	}
	read := make(chan string, 100)
	go func() {
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			read <- scanner.Text()
		}
	}()
	return read
}

// stateCommand is a command without --proc-root.
func (p *phone) stateCommand(arguments ...string) *exec.Cmd {
	p.t.Helper()
	made := p.command(arguments...)
	made.Args = append(made.Args[:len(arguments)+1], "--state-dir", p.stateDir)
	return made
}

// nextEvent waits for the next arrival.
func nextEvent(t *testing.T, from <-chan string) events.Event {
	t.Helper()
	select {
	case line := <-from:
		event, err := events.ParseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		return event
	case <-time.After(timeout):
		t.Fatal("no event")
		return events.Event{}
	}
}

func TestOtherProgramsFollowAndReportArrivals(t *testing.T) {
	t.Parallel()
	server := startController(t, "127.0.0.1:0")
	p := newPhone(t)
	p.startWith(t.Output(), "--plain-text", "--controller", server.address)
	first := server.stream(t) // The socket is made before.
	arrivals := follower(t, p)
	report := p.stateCommand("arrived", "--kind", "link_up", "--link", "wwan0")
	if output, err := report.CombinedOutput(); err != nil || string(output) != "new\n" {
		t.Errorf("%v: %s", err, output)
	}
	if got := nextEvent(t, arrivals); got.Source != events.Program || got.Kind != events.LinkUp ||
		got.Interface != "wwan0" || got.AtUS == 0 {
		t.Errorf("%+v", got)
	}
	if second := server.stream(t); first == second {
		t.Error("the stream was not made anew")
	}
	eventually(t, "the status shows it", func() bool {
		text, _ := p.status()
		return strings.Contains(text, "last: link_up wwan0, reported by program")
	})
}

func TestTheControllerReportsAnArrival(t *testing.T) {
	t.Parallel()
	server := startController(t, "127.0.0.1:0")
	p := newPhone(t)
	p.startWith(t.Output(), "--plain-text", "--controller", server.address)
	stream := server.stream(t)
	arrivals := follower(t, p)
	arrived := &airboundv1.Arrived{Bssid: []byte{2, 0, 0, 0, 0, 1}}
	if err := stream.Send(&response{Command: &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_Arrived{Arrived: arrived},
	}}); err != nil {
		t.Fatal(err)
	}
	if got := nextEvent(t, arrivals); got.Source != events.Controller || got.Kind != events.Association ||
		got.Place != "02:00:00:00:00:01" {
		t.Errorf("%+v", got)
	}
	server.report(t, "it reports the arrival", func(report *airboundv1.TerminalReport) bool {
		return report.GetArrivals().GetLastSource() == airboundv1.ArrivalSource_ARRIVAL_SOURCE_CONTROLLER
	})
}

func TestAFileSaysWhereThePhoneIs(t *testing.T) {
	t.Parallel()
	server := startController(t, "127.0.0.1:0")
	p := newPhone(t)
	file := filepath.Join(t.TempDir(), "place")
	p.startWith(t.Output(), "--plain-text", "--controller", server.address, "--place-file", file)
	server.stream(t)
	arrivals := follower(t, p)
	// The agent may begin to watch the file after the first of them.
	place := 0
	eventually(t, "the file is watched", func() bool {
		place++
		if err := os.WriteFile(file, fmt.Appendf(nil, "440-10-%d\n", place), 0o600); err != nil {
			t.Fatal(err)
		}
		return len(arrivals) > 0
	})
	if got := nextEvent(t, arrivals); got.Source != events.File || got.Kind != events.BaseStation ||
		!strings.HasPrefix(got.Place, "440-10-") {
		t.Errorf("%+v", got)
	}
}

func TestReportsOfNoAgentOrOfNothing(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	for arguments, want := range map[string]string{
		"events":                  "connect to the agent",
		"arrived":                 "connect to the agent",
		"arrived --kind teleport": `no kind "teleport"`,
		"arrived --place a/b":     "not the id of a base station",
	} {
		output, err := p.stateCommand(strings.Fields(arguments)...).CombinedOutput()
		if err == nil || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v\n%s", arguments, err, output)
		}
	}
}
