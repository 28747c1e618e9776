// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
)

// announcingCell is a cell whose hostapd is attached, and whose configuration with WMM is known.
func announcingCell(t *testing.T) *cell {
	t.Helper()
	c := newEDCACell(t)
	settings := hostapd.DefaultSettings(true)
	c.settings = &settings
	c.attach()
	c.pass(time.Second)
	return c
}

// attach is a connection to hostapd's control socket.
func (c *cell) attach() {
	var associations hostapd.Associations
	associations.Replace(nil)
	c.agent.Update(c.nowUS, hostapd.Update{Associations: associations, Enabled: true})
}

// announces checks what stations are told: the own values, but for some queues.
func (c *cell) announces(what string, queues ...edca.Queue) {
	c.t.Helper()
	own := c.settings.Stations
	if got, want := own.With(c.announced.changed), own.With(queues); got != want {
		c.t.Errorf("%s:\nannounced %v\nwant      %v", what, got, want)
	}
}

func TestWhatIsAnnouncedIsLeasedWithTheQueues(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	if got := c.state(); !got.GetCanSetStations() || got.GetStationsRefusal() != "" || !got.GetWmm() {
		t.Errorf("%v", got)
	}
	c.command(announcing(set(7, 6*time.Second, queue(be, 5)), queue(be, 4)))
	c.inForce("set", bestEffort(5))
	c.announces("set", bestEffort(4))
	if want := c.settings.Stations.Of([]edca.Category{edca.BestEffort}); !slices.Equal(c.record.OwnStations, want) {
		t.Errorf("recorded %v, want %v", c.record.OwnStations, want)
	}
	// What it announces of its own stays what it reports: the controller computes from it.
	if got := c.state(); got.GetStations()[1].GetAifsn() != 3 || got.GetGeneration() != 7 {
		t.Errorf("%v", got)
	}
	c.pass(3 * time.Second)
	c.command(announcing(set(7, 6*time.Second, queue(be, 5)), queue(be, 4)))
	if c.announced.writes != 1 {
		t.Errorf("a renewal announces: %d writes", c.announced.writes)
	}
	c.pass(6 * time.Second)
	c.inForce("the lease ended")
	c.announces("the lease ended")
	if got := c.state(); got.GetGeneration() != 0 {
		t.Errorf("%v", got)
	}
}

func TestASetMayBeOfTheStationsAlone(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	c.wireless.RefuseQueues(unix.EOPNOTSUPP)
	c.command(announcing(set(7, time.Minute), queue(be, 4), queue(bk, 9)))
	c.announces("set", background(9), bestEffort(4))
	if c.writes != 0 || c.record == nil || len(c.record.Own) != 0 || !c.guard.running {
		t.Errorf("%d writes, %+v, %+v", c.writes, c.record, c.guard)
	}
	c.pass(2 * time.Second)
	c.command(announcing(set(8, time.Minute), queue(be, 6)))
	c.announces("background has its own values again", bestEffort(6))
	c.command(set(9, 0))
	c.announces("own values")
	if c.record != nil || c.guard.running {
		t.Errorf("%+v, %+v", c.record, c.guard)
	}
	// What the driver does not take ends the whole set: there is one generation.
	c.command(announcing(set(10, time.Minute, queue(be, 5)), queue(be, 4)))
	c.announces("the driver refuses")
	if got := c.state(); got.GetCanSet() || !got.GetCanSetStations() || got.GetGeneration() != 0 || c.record != nil {
		t.Errorf("%v, %+v", got, c.record)
	}
}

// Video is announced as it is to stations that are admitted, and a set that would change it otherwise is refused.
func TestVideoIsAnnouncedByAdmission(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	if got := c.state(); !got.GetTakesPriorities() {
		t.Errorf("%v", got)
	}
	present := c.settings.Stations.Of([]edca.Category{edca.Video})[0]
	video := c.settings.Stations.Messages()[edca.Video]
	video.Admission = true
	admitted := present
	admitted.Admission = true
	c.command(announcing(set(7, 6*time.Second), video))
	c.announces("set", admitted)
	if c.record == nil || !slices.Equal(c.record.OwnStations, []edca.Queue{present}) ||
		!slices.Equal(c.record.Announced, []edca.Queue{admitted}) || !c.guard.running {
		t.Errorf("%+v", c.record)
	}
	if got := c.state(); got.GetStations()[edca.Video].GetAdmission() || got.GetGeneration() != 7 {
		t.Errorf("%v", got)
	}
	c.pass(3 * time.Second)
	c.command(announcing(set(7, 6*time.Second), video))
	better := c.settings.Stations.Messages()[edca.Video]
	c.command(announcing(set(8, 6*time.Second), better))
	if c.saved.LastRefusal == "" || !strings.Contains(c.saved.LastRefusal, "stations[0]: cw_max 15 of video") {
		t.Errorf("%q", c.saved.LastRefusal)
	}
	c.pass(5 * time.Second)
	c.announces("renewed", admitted)
	c.pass(time.Second)
	c.announces("the lease ended")
	if c.record != nil || c.guard.running {
		t.Errorf("%+v", c.record)
	}
	// Without WMM there is nothing to announce.
	settings := hostapd.DefaultSettings(false)
	c.settings = &settings
	if got := c.state(); got.GetTakesPriorities() {
		t.Errorf("%v", got)
	}
}

func TestWhyNothingCanBeAnnounced(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(c *cell){
		"hostapd's control socket does not answer": func(c *cell) { c.agent.Update(c.nowUS, hostapd.Update{}) },
		"the access point announces no WMM": func(c *cell) {
			settings := hostapd.DefaultSettings(false)
			c.settings = &settings
		},
		"what the access point announces of its own is not known: no configuration of hostapd was read": func(c *cell) {
			c.settings = nil
		},
	} {
		c := announcingCell(t)
		spoil(c)
		if got := c.state(); !got.GetCanSet() || got.GetCanSetStations() || got.GetStationsRefusal() != want {
			t.Errorf("%s: %v", want, got)
		}
		if c.saved.StationsRefusal != want {
			t.Errorf("%s: saved %q", want, c.saved.StationsRefusal)
		}
		c.command(announcing(set(7, time.Minute, queue(be, 5)), queue(be, 4)))
		if c.announced.writes != 0 || c.writes != 0 ||
			c.saved.LastRefusal != "set_edca: cannot set what the stations use: "+want {
			t.Errorf("%s: %+v", want, c.saved)
		}
		// Its own queues can be set.
		c.command(set(8, time.Minute, queue(be, 5)))
		c.inForceNow(want, bestEffort(5))
	}
	c := newEDCACell(t)
	c.off = "switched off on the access point"
	c.restart()
	c.agent.Connected(c.nowUS)
	if got := c.state(); got.GetCanSetStations() || got.GetStationsRefusal() != c.off {
		t.Errorf("%v", got)
	}
}

func TestHostapdRefuses(t *testing.T) {
	t.Parallel()
	for _, took := range []bool{false, true} {
		c := announcingCell(t)
		c.announced.err, c.announced.took = fmt.Errorf("SET wmm_ac_be_aifs 4: %w", hostapd.ErrRefused), took
		c.command(announcing(set(7, time.Minute, queue(be, 5)), queue(be, 4)))
		c.inForceNow("the whole set is gone")
		reports, at := c.pass(0)
		if len(at) != 1 {
			t.Fatalf("not reported at once: %v", at)
		}
		if got := reports[0].GetEdca(); !got.GetCanSet() || got.GetCanSetStations() || got.GetGeneration() != 0 ||
			got.GetStationsRefusal() != "SET wmm_ac_be_aifs 4: hostapd refuses it" {
			t.Errorf("%v", got)
		}
		if (c.record != nil) != took || (c.saved.RestoreError != "") != took {
			t.Errorf("took %v: record %+v, %+v", took, c.record, c.saved)
		}
		writes := c.announced.writes
		c.command(announcing(set(8, time.Minute, queue(be, 5)), queue(be, 4)))
		if c.announced.writes != writes {
			t.Errorf("it is asked again")
		}
		c.announced.err, c.announced.took = nil, false
		c.command(set(9, time.Minute, queue(be, 5))) // What the controller then sends.
		c.inForceNow("the queues alone", bestEffort(5))
		c.pass(59 * time.Second)
		c.announces("own values")
		c.pass(2 * time.Second)
		if got := c.state(); !got.GetCanSetStations() {
			t.Errorf("after a minute: %v", got)
		}
	}
}

func TestOwnValuesAreAnnouncedAgainUntilHostapdTakesThem(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	c.command(announcing(set(7, 2*time.Second, queue(be, 5)), queue(be, 4)))
	c.announced.err = errors.New("hostapd did not answer")
	c.pass(12 * time.Second)
	c.inForceNow("the queues do not wait for hostapd")
	if c.record == nil || !c.guard.running || c.saved.Counters.OwnNotRestored != 3 ||
		c.saved.RestoreError != "hostapd did not answer" {
		t.Errorf("%+v, %+v", c.record, c.saved)
	}
	c.announced.err = nil
	c.pass(5 * time.Second)
	c.announces("at last")
	c.inForce("at last")
	// A hostapd that is gone announces its own values when it starts.
	c.command(announcing(set(8, 2*time.Second, queue(be, 5)), queue(be, 4)))
	c.announced.err = fmt.Errorf("connect to hostapd: %w", syscall.ECONNREFUSED)
	c.pass(3 * time.Second)
	c.inForce("gone")
	if c.saved.RestoreError != "" {
		t.Errorf("%+v", c.saved)
	}
}

func TestWhatIsAnnouncedOutlastsHostapd(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	command := announcing(set(7, 20*time.Second, queue(be, 5)), queue(be, 4))
	c.command(command)
	c.agent.Update(c.nowUS, hostapd.Update{}) // It ends.
	c.announced.changed = nil
	c.pass(time.Second)
	c.command(command)
	if c.saved.Counters.CommandsRefused != 0 {
		t.Errorf("a renewal is refused: %+v", c.saved)
	}
	c.attach()
	c.announces("it starts", bestEffort(4))
	// It reads its configuration again, and sends no event: within ten seconds it announces what is in force.
	c.announced.changed, c.announced.forgotten = nil, true
	c.pass(11 * time.Second)
	c.announces("reloaded", bestEffort(4))
	c.pass(9 * time.Second)
	c.announces("the lease ended")
}

func TestAnAgentAnnouncesWhatAnEarlierOneLeft(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	c.command(announcing(set(7, time.Minute, queue(be, 5)), queue(be, 4), queue(bk, 9)))
	before := c.announced.writes
	c.restart()
	c.guard.running = false // It is another process's.
	c.inForce("restored")
	c.announces("restored")
	if c.announced.writes != before+1 {
		t.Errorf("%d announcements", c.announced.writes-before)
	}
	if err := c.agent.Stop(c.nowUS); err != nil {
		t.Error(err)
	}
}

func TestStopAnnouncesTheOwnValues(t *testing.T) {
	t.Parallel()
	c := announcingCell(t)
	c.command(announcing(set(7, time.Minute), queue(be, 4)))
	c.announced.err = errors.New("hostapd did not answer")
	if err := c.agent.Stop(c.nowUS); err == nil || !strings.Contains(err.Error(), "hostapd did not answer") ||
		c.saved.Stopped {
		t.Errorf("%v, %+v", err, c.saved)
	}
	c.announced.err = nil
	if err := c.agent.Stop(c.nowUS); err != nil || !c.saved.Stopped {
		t.Errorf("%v, %+v", err, c.saved)
	}
	c.announces("stopped")
}
