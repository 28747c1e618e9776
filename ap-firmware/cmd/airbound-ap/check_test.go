// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/statedir"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// check runs the program's own check and returns its output and its exit code.
func (c *cell) check(arguments ...string) (string, int) {
	c.t.Helper()
	arguments = append([]string{"check", "--state-dir", c.options.state.parent}, arguments...)
	command := exec.Command("/proc/self/exe", arguments...)
	text, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		c.t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// awaitCheck waits until the status says this of a check.
func (c *cell) awaitCheck(says string) {
	c.t.Helper()
	eventually(c.t, says, func() bool {
		text, _ := c.status()
		return strings.Contains(text, "\ncheck        "+says+"\n")
	})
}

// awaitRequest waits for a report that asks for another check than one before, and returns its identifier. Reports that
// ask for that one may still be on their way when it is over.
func (c *cell) awaitRequest(before string) string {
	c.t.Helper()
	id := ""
	c.awaitBSS("a request", "wlan0", func(report *airboundv1.AccessPointReport) bool {
		id = report.GetCheck().GetId()
		return id != "" && id != before
	})
	return id
}

func TestACheckIsAskedForByTheCommandAndItsResultIsInTheStatus(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	if text, code := c.check(); code != exitNotRunning || !strings.Contains(text, "no agent runs") {
		t.Errorf("without an agent: %d, %s", code, text)
	}
	c.startProcess()
	stream := c.stream()
	c.awaitBSS("a report", "wlan0", func(*airboundv1.AccessPointReport) bool { return true })
	eventually(t, "connected", func() bool {
		text, _ := c.status()
		return strings.Contains(text, ", connected\n")
	})
	text, code := c.check("--interface", "wlan0")
	if code != 0 || !strings.HasPrefix(text, "wlan0: asked for; ") {
		t.Fatalf("%d, %s", code, text)
	}
	id := c.awaitRequest("")
	c.awaitCheck("asked for; the controller has not answered yet")
	if text, code := c.check(); code != 1 || !strings.Contains(text, "wlan0: not asked for: a check runs already: ") {
		t.Errorf("a second one: %d, %s", code, text)
	}
	say := func(said *airboundv1.CellCheck) {
		said.Id = id
		if err := stream.Send(&response{Check: said}); err != nil {
			t.Fatal(err)
		}
	}
	say(&airboundv1.CellCheck{Turn: 4, Turns: 12})
	c.awaitCheck("turn 4 of 12")
	const line, verdict = "airbound 1.2 check: carried +50%", "It is worth it."
	say(&airboundv1.CellCheck{Turn: 12, Turns: 12, Line: line, Verdict: verdict})
	c.awaitCheck(verdict + "\n             " + line)

	if text, code := c.check(); code != 0 {
		t.Errorf("another one: %d, %s", code, text)
	}
	c.awaitRequest(id)
}

func TestNoCheckIsAskedForWithoutAController(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.controller.Stop()
	c.startProcess()
	eventually(t, "running", func() bool {
		text, code := c.status()
		return code == 0 && strings.Contains(text, ", not connected\n")
	})
	text, code := c.check()
	if code != 1 || text != "wlan0: not asked for: the agent is not connected to the controller\n" {
		t.Errorf("%d, %s", code, text)
	}
	files, err := filepath.Glob(filepath.Join(c.options.state.parent, "wlan0", "check*"))
	if err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestARequestThatCannotBeReadIsRemoved(t *testing.T) {
	t.Parallel()
	directory := statedir.New(t.TempDir(), "wlan0")
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unlock() })
	if request, err := directory.TakeCheckRequest(); request != nil || err != nil {
		t.Errorf("without one: %v, %v", request, err)
	}
	if err := directory.Save("check.json", []int{1}); err != nil {
		t.Fatal(err)
	}
	if request, err := directory.TakeCheckRequest(); request != nil || err == nil || os.IsNotExist(err) {
		t.Errorf("%v, %v", request, err)
	}
	if request, err := directory.TakeCheckRequest(); request != nil || err != nil {
		t.Errorf("afterwards: %v, %v", request, err)
	}
}
