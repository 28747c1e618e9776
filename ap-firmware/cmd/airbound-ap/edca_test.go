// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/statedir"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// processesWith returns the PIDs of the processes that have all of these arguments.
func processesWith(tb testing.TB, arguments ...string) []int {
	tb.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		tb.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue // It has ended.
		}
		line := strings.Split(string(text), "\x00")
		isMissing := func(argument string) bool { return !slices.Contains(line, argument) }
		if !slices.ContainsFunc(arguments, isMissing) {
			found = append(found, pid)
		}
	}
	return found
}

func TestASetReachesTheKernelAndReturns(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	stop := c.startAgent()
	stream := c.stream()
	first := c.awaitReport("the first", func(*airboundv1.EdcaState) bool { return true })
	if !first.GetCanSet() || first.GetGeneration() != 0 || first.GetWmm() || len(first.GetOwn()) != 4 {
		t.Errorf("first: %v", first)
	}
	sendSet(t, stream, setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	if record := c.record(); record == nil || record.Interface != "wlan0" || len(c.guards()) != 1 {
		t.Errorf("record %+v, guards %v", record, c.guards())
	}
	sendSet(t, stream, &airboundv1.SetEdca{Generation: 8})
	c.awaitQueues("own values")
	c.awaitNoRecord()
	eventually(t, "no guard", func() bool { return len(c.guards()) == 0 })
	sendSet(t, stream, setOf(9, time.Minute, 4))
	c.awaitQueues("set again", bestEffort(4))
	stop()
	if got := c.kernel.Queues(indexOfWLAN0); got != c.own() || c.record() != nil {
		t.Errorf("after the end: %v, record %v", got, c.record())
	}
	eventually(t, "no guard", func() bool { return len(c.guards()) == 0 })
}

func TestALeaseEndsWithoutAController(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startAgent()
	sendSet(t, c.stream(), setOf(7, time.Second, 5))
	c.awaitWritten(bestEffort(5))
	c.controller.Stop()
	c.awaitQueues("own values")
	c.startController(c.options.controller.String())
	stream := c.stream()
	c.awaitGeneration(0)
	// Another controller process has generations of its own.
	sendSet(t, stream, setOf(1, time.Minute, 4))
	c.awaitQueues("set again", bestEffort(4))
}

func TestAReloadOfHostapd(t *testing.T) {
	c := newCell(t)
	path := filepath.Join(t.TempDir(), "hostapd.conf")
	c.options.hostapdConfig = []string{path}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("interface=wlan0\nwmm_enabled=1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.startAgent()
	stream := c.stream()
	awaitListed(t, c.hostapd)
	if got := c.awaitGeneration(0); !got.GetWmm() || got.GetStations()[1].GetAifsn() != 3 {
		t.Errorf("%v", got)
	}
	sendSet(t, stream, setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	// hostapd starts with other values.
	const changed = "tx_queue_data2_aifs=4\ntx_queue_data3_aifs=9\n"
	write(changed)
	settings, _ := hostapd.ParseConfig([]byte("interface=wlan0\n"+changed), "wlan0")
	c.kernel.SetQueues(indexOfWLAN0, settings.Own)
	c.hostapd.Send("<3>AP-ENABLED ")
	eventually(t, "applied again", func() bool {
		return c.kernel.Queues(indexOfWLAN0) == settings.Own.With([]edca.Queue{bestEffort(5)})
	})
	sendSet(t, stream, &airboundv1.SetEdca{Generation: 8})
	eventually(t, "the new own values", func() bool { return c.kernel.Queues(indexOfWLAN0) == settings.Own })
}

func TestWithoutAStateDirectoryThereAreReports(t *testing.T) {
	c := newCell(t)
	c.options.state.parent = "/dev/null/state"
	c.setStations(phone1)
	c.startAgent()
	stream := c.stream()
	got := c.awaitGeneration(0)
	if got.GetCanSet() || !strings.HasPrefix(got.GetRefusal(), "the state directory cannot be used: ") {
		t.Errorf("%v", got)
	}
	sendSet(t, stream, setOf(7, time.Minute, 5))
	time.Sleep(100 * time.Millisecond)
	if writes := c.kernel.QueueWrites(); len(writes) > 0 {
		t.Errorf("written: %v", writes)
	}
}

func TestStatus(t *testing.T) {
	c := newCell(t)
	if text, code := c.status(); code != exitNotRunning || text != "agent        not running\n" {
		t.Errorf("%d:\n%s", code, text)
	}
	c.setStations(phone1)
	agent := c.startProcess("--hostapd-config", "/nowhere/hostapd.conf")
	sendSet(t, c.stream(), setOf(7, time.Minute, 5))
	c.awaitGeneration(7)
	text, code := c.status()
	for _, want := range []string{
		fmt.Sprintf("agent        running, pid %d, version development\n", agent.Process.Pid),
		", connected\n", "interface    wlan0\n", "can set      yes", "EDCA         generation 7\n",
		"because      uploads are 95.3 % of the payload (first needed: 60.0 %)\n", "lease        at least 5",
		"in force     best effort: AIFSN 5, CW 15 to 1023, TXOP limit 0\n",
		"own values   background: AIFSN 7", "             best effort: AIFSN 3, CW 15 to 63, TXOP limit 0\n",
		"hostapd's defaults, since /nowhere/hostapd.conf could not be read\n", "stations     without WMM: DCF\n",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, text)
		}
	}
	text, code = c.status("--json", "--interface", "wlan0")
	var account struct {
		Schema int
		Agents []struct {
			Interface string
			Running   bool
			State     struct {
				Generation uint64 `json:"edca_generation"`
				Queues     []edca.Queue
				Code       string `json:"reason_code"`

				BSSID, SSID, Band string
				FrequencyMHz      uint32 `json:"frequency_mhz"`
				StationsReported  int    `json:"stations_reported"`
				LastReportUS      int64  `json:"last_report_us"`
			}
			LeaseLeftMS int64 `json:"lease_left_ms"`
		}
	}
	if err := json.Unmarshal([]byte(text), &account); err != nil || code != 0 || len(account.Agents) != 1 ||
		account.Schema != 2 {
		t.Fatalf("status %d, %v:\n%s", code, err, text)
	}
	view := account.Agents[0]
	if state := view.State; view.Interface != "wlan0" || state.BSSID != "02:00:00:00:00:00" || state.SSID != "cell" ||
		state.Band != "2.4 GHz" || state.FrequencyMHz != 2437 || state.StationsReported != 1 ||
		state.LastReportUS == 0 {
		t.Errorf("%+v", view)
	}
	if !view.Running || view.State.Generation != 7 || !slices.Equal(view.State.Queues, []edca.Queue{bestEffort(5)}) ||
		view.State.Code != "REASON_CODE_UPLOADS" || view.LeaseLeftMS < 10_000 {
		t.Errorf("%+v", view)
	}
	// There is one agent for each interface, and one alone.
	second := c.startProcess()
	if err := second.Wait(); err == nil || !strings.Contains(second.log.String(), "another agent is running") {
		t.Errorf("%v, %s", err, second.log)
	}
	if err := os.Mkdir(filepath.Join(c.options.state.parent, "wlan1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if text, code := c.status(); code != 0 || strings.Count(text, "agent  ") != 1 { // Nothing ran there.
		t.Errorf("%d: %s", code, text)
	}
	if text, code := c.status("--interface", "wlan1"); code != exitNotRunning ||
		!strings.Contains(text, "not running") {
		t.Errorf("%d: %s", code, text)
	}
}

func TestSIGTERMRestoresTheOwnValues(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	agent := c.startProcess()
	sendSet(t, c.stream(), setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	guards := c.guards()
	if len(guards) != 1 {
		t.Fatalf("guards: %v", guards)
	}
	// systemd stops every process of the service at once.
	if err := errorsOf(agent.Process.Signal(syscall.SIGTERM), syscall.Kill(guards[0], syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if got := c.kernel.Queues(indexOfWLAN0); got != c.own() || c.record() != nil {
		t.Errorf("after SIGTERM: %v, record %v", got, c.record())
	}
	eventually(t, "no guard", func() bool { return len(c.guards()) == 0 })
	if text, code := c.status(); code != exitNotRunning || !strings.Contains(text, "stopped in order") {
		t.Errorf("status %d:\n%s", code, text)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTheGuardRestoresAfterAKill(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	agent := c.startProcess()
	sendSet(t, c.stream(), setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	guards := c.guards()
	if len(guards) != 1 {
		t.Fatalf("guards: %v", guards)
	}
	// It is in a session of its own, so that a signal to the agent's group does not reach it.
	if session, err := unix.Getsid(guards[0]); err != nil || session != guards[0] {
		t.Errorf("its session is %d, %v", session, err)
	}
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	c.awaitQueues("own values")
	c.awaitNoRecord()
	eventually(t, "no guard", func() bool { return len(c.guards()) == 0 })
	if text, code := c.status(); code != exitNotRunning || !strings.Contains(text, "did not stop in order") ||
		strings.Contains(text, "not written back") {
		t.Errorf("status %d:\n%s", code, text)
	}
}

// A kill of the whole cgroup, as systemd does, takes the guard as well; the next start restores.
func TestTheNextStartRestoresAfterAKillOfAll(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	agent := c.startProcess()
	sendSet(t, c.stream(), setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	guards := c.guards()
	if len(guards) != 1 {
		t.Fatalf("guards: %v", guards)
	}
	if err := errorsOf(syscall.Kill(guards[0], syscall.SIGKILL), agent.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	c.awaitQueues("still set", bestEffort(5))
	text, code := c.status()
	if code != exitNotRunning || !strings.Contains(text, "own values were not written back") ||
		!strings.Contains(text, "own values   best effort: AIFSN 3, CW 15 to 63") {
		t.Errorf("status %d:\n%s", code, text)
	}
	c.startProcess("--no-edca")
	c.awaitQueues("own values")
	c.awaitNoRecord()
	got := c.awaitReport("switched off", func(state *airboundv1.EdcaState) bool { return !state.GetCanSet() })
	if got.GetRefusal() != "switched off on the access point" {
		t.Errorf("%v", got)
	}
}

func TestAGuardThatWasKilledIsStartedAgain(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	agent := c.startProcess()
	sendSet(t, c.stream(), setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	first := c.guards()
	if len(first) != 1 {
		t.Fatalf("guards: %v", first)
	}
	if err := syscall.Kill(first[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another guard", func() bool {
		guards := c.guards()
		return len(guards) == 1 && guards[0] != first[0]
	})
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	c.awaitQueues("own values")
}

func TestTheGuardRestoresWhileTheAgentHangs(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	agent := c.startProcess()
	stream := c.stream()
	sendSet(t, stream, setOf(7, time.Second, 5))
	c.awaitWritten(bestEffort(5))
	if err := agent.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.awaitQueues("own values")
	if err := agent.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// It goes on as if nothing had happened, with its guard.
	sendSet(t, stream, setOf(8, time.Minute, 4))
	c.awaitQueues("set again", bestEffort(4))
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	c.awaitQueues("own values again")
	c.awaitNoRecord()
}

func TestARecordThatCannotBeUsedIsRemoved(t *testing.T) {
	c := newCell(t)
	c.options.interval = 20 * time.Millisecond
	directory := filepath.Join(c.options.state.parent, "wlan0")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	other := edca.Record{
		Schema: edca.RecordSchema, Agent: "x", Interface: "wlan1", Own: []edca.Queue{bestEffort(3)},
	}
	for name, spoil := range map[string]func() error{
		"garbage": func() error { return os.WriteFile(filepath.Join(directory, "edca.json"), []byte("{"), 0o600) },
		"another interface's": func() error {
			return statedir.New(c.options.state.parent, "wlan0").SaveRecord(other)
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		c.setStations(phone1)
		stop := c.startAgent()
		c.stream()
		report := c.await(interval, phone1)
		if report.GetMalformedInputsTotal() != 1 || len(c.kernel.QueueWrites()) > 0 {
			t.Errorf("%s: %d refused, written %v", name, report.GetMalformedInputsTotal(), c.kernel.QueueWrites())
		}
		stop()
		if c.record() != nil {
			t.Errorf("%s: it stays", name)
		}
		for len(c.reports) > 0 {
			<-c.reports
		}
	}
}
