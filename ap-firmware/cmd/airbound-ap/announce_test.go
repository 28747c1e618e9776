// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// announcingCell is a cell with WMM whose hostapd announces AIFSN 4 of its own to best effort.
func announcingCell(t *testing.T) (*cell, edca.Values) {
	t.Helper()
	c := newCell(t)
	path := filepath.Join(t.TempDir(), "hostapd.conf")
	const text = "interface=wlan0\nwmm_enabled=1\nwmm_ac_be_aifs=4\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.options.hostapdConfig = []string{path}
	settings, refused := hostapd.ParseConfig([]byte(text), "wlan0")
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.hostapd.Restart(settings.Stations)
	return c, settings.Stations
}

// announcing is a set that also has video by admission, and voice without advantage.
func announcing(set *airboundv1.SetEdca, aifsn uint32) *airboundv1.SetEdca {
	set.Stations = []*airboundv1.Edca{
		{Category: airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT, Aifsn: aifsn, CwMin: 15, CwMax: 1023},
		{
			Category: airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO, Aifsn: 2, CwMin: 7, CwMax: 15, TxopLimit: 94,
			Admission: true,
		},
		{Category: airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE, Aifsn: aifsn, CwMin: 15, CwMax: 1023},
	}
	return set
}

// announced is what hostapd announces of such a set.
func announced(aifsn uint8) []edca.Queue {
	voice := bestEffort(aifsn)
	voice.Category = edca.Voice
	return []edca.Queue{bestEffort(aifsn), {Category: edca.Video, Parameters: edca.Parameters{
		AIFSN: 2, CWMin: 7, CWMax: 15, TXOPLimit: 94, Admission: true,
	}}, voice}
}

// awaitAnnounced waits until hostapd announces the own values, but for some queues.
func (c *cell) awaitAnnounced(what string, own edca.Values, queues ...edca.Queue) {
	c.t.Helper()
	want := own.With(queues)
	eventually(c.t, what, func() bool { return c.hostapd.Announced() == want })
}

func TestAnAnnouncementReachesHostapdAndReturns(t *testing.T) {
	c, own := announcingCell(t)
	c.options.interval = 20 * time.Millisecond
	stop := c.startAgent()
	stream := c.stream()
	awaitListed(t, c.hostapd)
	state := c.awaitReport("can", (*airboundv1.EdcaState).GetCanSetStations)
	if got := state.GetStations()[1].GetAifsn(); got != 4 || !state.GetTakesPriorities() {
		t.Errorf("it announces AIFSN %d of its own", got)
	}
	sendSet(t, stream, announcing(setOf(7, time.Minute, 5), 6))
	c.awaitAnnounced("set", own, announced(6)...)
	c.awaitGeneration(7)
	if record := c.record(); record == nil || len(record.OwnStations) != 3 || record.OwnStations[0].AIFSN != 4 ||
		record.OwnStations[1].Admission {
		t.Errorf("%+v", record)
	}
	text, code := c.status()
	for _, want := range []string{
		"can announce yes", "announced    best effort: AIFSN 6, CW 15 to 1023",
		"             video: AIFSN 2, CW 7 to 15, TXOP limit 94, by admission\n", "EDCA         generation 7\n",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, text)
		}
	}
	stop()
	if got := c.hostapd.Announced(); got != own || c.record() != nil {
		t.Errorf("after the end: %v, record %v", got, c.record())
	}
}

func TestTheGuardAnnouncesTheOwnValuesAfterAKill(t *testing.T) {
	c, own := announcingCell(t)
	agent := c.startProcess("--hostapd-config", c.options.hostapdConfig[0])
	stream := c.stream()
	c.awaitReport("can", (*airboundv1.EdcaState).GetCanSetStations)
	sendSet(t, stream, announcing(setOf(7, time.Minute, 5), 6))
	c.awaitAnnounced("set", own, announced(6)...)
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	c.awaitAnnounced("own values", own)
	c.awaitQueues("own queues")
	c.awaitNoRecord()
}

func TestTheNextStartAnnouncesTheOwnValuesAfterAKillOfAll(t *testing.T) {
	c, own := announcingCell(t)
	agent := c.startProcess("--hostapd-config", c.options.hostapdConfig[0])
	stream := c.stream()
	c.awaitReport("can", (*airboundv1.EdcaState).GetCanSetStations)
	set := announcing(setOf(7, time.Minute, 5), 6)
	set.Queues = nil // The stations alone.
	sendSet(t, stream, set)
	c.awaitAnnounced("set", own, announced(6)...)
	eventually(t, "a guard", func() bool { return len(c.guards()) == 1 })
	guards := c.guards()
	if err := errorsOf(syscall.Kill(guards[0], syscall.SIGKILL), agent.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	c.awaitAnnounced("still set", own, announced(6)...)
	if text, code := c.status(); code != exitNotRunning || !strings.Contains(text, "values were not written back") ||
		!strings.Contains(text, "stations     best effort: AIFSN 4, CW 15 to 1023") {
		t.Errorf("status %d:\n%s", code, text)
	}
	// Without the file: the record has what returns.
	c.startProcess("--no-edca")
	c.awaitAnnounced("own values", own)
	c.awaitNoRecord()
}
