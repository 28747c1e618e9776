// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// state passes a second and returns what the last report says.
func (c *cell) state() *airboundv1.EdcaState {
	c.t.Helper()
	reports, _ := c.pass(time.Second)
	if len(reports) == 0 {
		c.t.Fatal("no report")
	}
	return reports[len(reports)-1].GetEdca()
}

func TestASetIsInForceForItsLease(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	if got := c.state(); !got.GetCanSet() || got.GetGeneration() != 0 || got.GetRefusal() != "" ||
		len(got.GetOwn()) != 4 || len(got.GetStations()) != 4 || got.GetWmm() || c.writes != 0 {
		t.Errorf("before any: %v, %d writes", got, c.writes)
	}
	c.command(set(7, 6*time.Second, queue(be, 5)))
	c.inForce("set", bestEffort(5))
	if got := c.wireless.QueueWrites(); !slices.Equal(got, []edca.Queue{bestEffort(5)}) {
		t.Errorf("written: %v", got)
	}
	if got := c.state(); got.GetGeneration() != 7 || got.GetOwn()[1].GetAifsn() != 3 ||
		got.GetOwn()[1].GetCwMax() != 63 {
		t.Errorf("in force: %v", got)
	}
	for range 5 { // Each two seconds, for ten.
		c.pass(time.Second)
		c.command(set(7, 6*time.Second, queue(be, 5)))
		c.pass(time.Second)
		c.inForce("prolonged", bestEffort(5))
		if c.guard.deadlineUS != c.nowUS+5_000_000 {
			t.Errorf("the guard's deadline is %d, now is %d", c.guard.deadlineUS, c.nowUS)
		}
	}
	if c.writes != 1 {
		t.Errorf("%d writes, one was needed", c.writes)
	}
	c.agent.Disconnected(c.nowUS)
	c.pass(4 * time.Second)
	c.inForce("the stream is gone", bestEffort(5))
	c.pass(2 * time.Second)
	c.inForce("the lease ended")
	if c.saved.Reason != "the lease on generation 7 ended without a renewal" || c.saved.Counters.LeasesEnded != 1 ||
		c.saved.Generation != 0 || c.saved.ReasonCode != "" {
		t.Errorf("%+v", c.saved)
	}
	if next := c.agent.NextWakeUS(); next != math.MaxInt64 {
		t.Errorf("with nothing to do the next wake is at %d", next)
	}
}

func TestTheEndOfALeaseIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, 1500*time.Millisecond, queue(be, 5)))
	reports, at := c.pass(1600 * time.Millisecond)
	last := len(reports) - 1
	if last < 1 || at[last] != 1500*time.Millisecond || reports[last].GetEdca().GetGeneration() != 0 ||
		reports[last].GetTrigger() != interval || reports[last-1].GetEdca().GetGeneration() != 7 {
		t.Errorf("%v at %v", reports, at)
	}
}

func TestASetReplacesTheWholeSet(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(1, time.Minute, queue(be, 5), queue(bk, 4)))
	c.inForce("both", bestEffort(5), background(4))
	c.command(set(2, time.Minute, queue(be, 4)))
	c.inForce("background has its own values again", bestEffort(4))
	c.command(set(3, 0))
	c.inForce("own values")
	if got := c.state(); got.GetGeneration() != 0 || got.GetRefusedTotal() != 0 {
		t.Errorf("%v", got)
	}
	if !strings.HasPrefix(c.saved.Reason, "the controller restored the own values: uploads") ||
		c.saved.ReasonCode != "REASON_CODE_UPLOADS" {
		t.Errorf("%+v", c.saved)
	}
}

func TestACommandThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, 10*time.Second, queue(be, 5)))
	for i, command := range []*airboundv1.AccessPointCommand{
		nil,
		{},
		set(8, 10*time.Second, queue(be, 5), queue(bk, 8)),
		set(8, time.Hour, queue(be, 4)),
		set(7, 10*time.Second, queue(be, 4)),
	} {
		c.command(command)
		if c.saved.Counters.CommandsRefused != uint64(i+1) || c.saved.LastRefusal == "" {
			t.Errorf("%d: %v: %+v", i, command, c.saved)
		}
	}
	c.inForce("refused", bestEffort(5))
	if got := c.state(); got.GetRefusedTotal() != 5 || got.GetGeneration() != 7 || !got.GetCanSet() ||
		c.malformed.Total() != 5 {
		t.Errorf("%v, %d malformed", got, c.malformed.Total())
	}
	if got := strings.Count(c.log.String(), "refused a command"); got != 3 { // The 1st, 2nd and 4th.
		t.Errorf("logged %d times", got)
	}
	c.pass(9 * time.Second)
	c.inForce("the old lease ended")
}

func TestANewStreamHasGenerationsOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	c.agent.Disconnected(c.nowUS)
	c.agent.Connected(c.nowUS)
	c.command(set(1, time.Minute, queue(be, 4)))
	c.inForce("a smaller generation", bestEffort(4))
}

func TestARefusalOfTheKernelIsACapability(t *testing.T) {
	t.Parallel()
	for errno, want := range map[unix.Errno]string{
		unix.EOPNOTSUPP: "the driver cannot set the parameters of its transmit queues",
		unix.EPERM:      "the kernel does not permit it: the agent needs CAP_NET_ADMIN",
		unix.EINVAL:     "set the transmit queues of wlan0: the kernel refuses it: netlink receive: invalid argument",
	} {
		c := newEDCACell(t)
		c.wireless.RefuseQueues(errno)
		c.command(set(7, time.Minute, queue(be, 5)))
		c.inForce(want)
		reports, at := c.pass(0)
		if len(at) != 1 || reports[0].GetEdca().GetCanSet() || reports[0].GetEdca().GetGeneration() != 0 {
			t.Fatalf("%v: not reported at once: %v at %v", errno, reports, at)
		}
		if got := reports[0].GetEdca().GetRefusal(); got != want {
			t.Errorf("%v: refusal %q", errno, got)
		}
		// Further commands do not reach the kernel; nothing is left to be written back.
		writes := c.writes
		c.command(set(8, time.Minute, queue(be, 5)))
		c.pass(50 * time.Second)
		if c.writes != writes || c.saved.RestoreError != "" || c.saved.Counters.CommandsRefused != 1 {
			t.Errorf("%v: %d writes more, %+v", errno, c.writes-writes, c.saved)
		}
		// After a minute the controller may try again; a driver that has recovered does it.
		c.wireless.RefuseQueues(0)
		c.pass(10 * time.Second)
		if got := c.state(); !got.GetCanSet() {
			t.Errorf("%v: after a minute: %v", errno, got)
		}
		c.command(set(8, time.Minute, queue(be, 5)))
		c.inForce("after a minute", bestEffort(5))
	}
}

func TestAnInterfaceThatIsDownHasNothingToRestore(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	c.wireless.Set() // The interface is removed.
	c.command(set(8, 0))
	if c.record != nil || c.guard.running || c.saved.RestoreError != "" {
		t.Errorf("%v, %v, %+v", c.record, c.guard, c.saved)
	}
	c.command(set(9, time.Minute, queue(be, 5)))
	if !strings.Contains(c.saved.Refusal, "no access point is up") || c.record != nil {
		t.Errorf("%+v", c.saved)
	}
	// It comes back, and hostapd starts: at once the controller may set again.
	c.stations()
	c.start(indexOfWLAN0)
	c.agent.Update(c.nowUS, hostapd.Update{Enabled: true})
	if reports, at := c.pass(0); len(at) != 1 || !reports[0].GetEdca().GetCanSet() {
		t.Errorf("%v", reports)
	}
	c.command(set(10, time.Minute, queue(be, 5)))
	c.inForce("again", bestEffort(5))
}

func TestTheSetIsAppliedAgainWhenHostapdStarts(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	// hostapd starts with another configuration.
	c.settings = &hostapd.Settings{Own: hostapd.DefaultSettings(true).Stations}
	c.start(indexOfWLAN0)
	c.inForceNow("hostapd's own")
	c.agent.Update(c.nowUS, hostapd.Update{Enabled: true})
	c.inForce("applied again", bestEffort(5))
	if want := c.settings.Own.Of([]edca.Category{edca.BestEffort}); !slices.Equal(c.record.Own, want) ||
		c.record.Agent != "this one" || c.saved.Counters.AppliedAgain != 1 {
		t.Errorf("recorded %+v, want %v", c.record, want)
	}
	c.pass(time.Minute)
	c.inForce("the lease ended: the new own values")
}

// inForceNow checks the kernel's values alone.
func (c *cell) inForceNow(what string, queues ...edca.Queue) {
	c.t.Helper()
	if got, want := c.wireless.Queues(indexOfWLAN0), c.own().With(queues); got != want {
		c.t.Errorf("%s:\nin force %v\nwant     %v", what, got, want)
	}
}

func TestTheSetIsAppliedAgainToAnInterfaceThatWasCreatedAgain(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	c.wireless.Set(nl80211test.Device{Interface: nl80211.Interface{
		Index: 9, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP,
	}})
	c.routing.SetLink(9, 0)
	c.start(9)
	c.pass(time.Second)
	if got, want := c.wireless.Queues(9), c.own().With([]edca.Queue{bestEffort(5)}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The configuration that hostapd started with is what returns, not the one it will start with.
func TestOwnValuesAreThoseOfBefore(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	before := c.own()
	c.settings = &hostapd.Settings{Own: hostapd.DefaultSettings(true).Stations}
	c.command(set(8, time.Minute, queue(be, 6)))
	if got := c.state().GetOwn(); !reflect.DeepEqual(fmt.Sprint(got), fmt.Sprint(before.Messages())) {
		t.Errorf("reported %v, want %v", got, before)
	}
	c.command(set(9, 0))
	if got := c.wireless.Queues(indexOfWLAN0); got != before {
		t.Errorf("got %v, want %v", got, before)
	}
}

func TestWritingBackIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, 2*time.Second, queue(be, 5)))
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, errors.New("connection reset"))
	c.pass(10 * time.Second)
	if c.saved.Counters.OwnNotRestored < 8 || !strings.Contains(c.saved.RestoreError, "connection reset") ||
		c.record == nil || !c.guard.running {
		t.Errorf("%+v, record %v", c.saved, c.record)
	}
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, nil)
	c.pass(time.Second)
	c.inForce("at last")
	if c.saved.RestoreError != "" {
		t.Errorf("%+v", c.saved)
	}
}

func TestASetAfterAFailureToWriteBackCoversWhatWasLeft(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, 2*time.Second, queue(bk, 5)))
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, errors.New("connection reset"))
	c.pass(3 * time.Second)
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, nil)
	c.command(set(8, time.Minute, queue(be, 5)))
	c.inForce("both written", bestEffort(5))
	if c.saved.RestoreError != "" {
		t.Errorf("%+v", c.saved)
	}
}

func TestNothingIsSetThatCannotBeUndone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(c *cell){
		"no record": func(c *cell) { c.recordErr = errors.New("no space left on device") },
		"no guard":  func(c *cell) { c.guard.err = errors.New("resource temporarily unavailable") },
	} {
		c := newEDCACell(t)
		spoil(c)
		c.command(set(7, time.Minute, queue(be, 5)))
		c.inForce(name)
		if got := c.state(); c.writes != 0 || got.GetCanSet() || got.GetRefusal() == "" {
			t.Errorf("%s: %d writes, %v", name, c.writes, got)
		}
	}
}

func TestAGuardThatCannotBeStartedAgainEndsTheSet(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	c.guard.err = errors.New("resource temporarily unavailable")
	c.pass(2 * time.Second)
	c.inForce("unguarded")
}

func TestStopWritesBack(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5)))
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, errors.New("connection reset"))
	if err := c.agent.Stop(c.nowUS); err == nil || !strings.Contains(err.Error(), "connection reset") ||
		c.saved.Stopped {
		t.Errorf("%v, %+v", err, c.saved)
	}
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, nil)
	if err := c.agent.Stop(c.nowUS); err != nil || !c.saved.Stopped {
		t.Errorf("%v, %+v", err, c.saved)
	}
	c.inForce("stopped")
}

func TestAnAgentWritesBackWhatAnEarlierOneLeft(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.command(set(7, time.Minute, queue(be, 5), queue(bk, 3)))
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, errors.New("connection reset"))
	c.restart()
	c.inForceNow("not yet", bestEffort(5), background(3))
	c.wireless.Break(unix.NL80211_CMD_SET_WIPHY, nil)
	c.pass(time.Second)
	c.guard.running = false // It is another process's.
	c.inForce("the second try")
	if c.saved.Reason == "" || c.saved.RestoreError != "" {
		t.Errorf("%+v", c.saved)
	}
}

func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.off = "switched off on the access point"
	c.restart()
	c.agent.Connected(c.nowUS)
	c.command(set(7, time.Minute, queue(be, 5)))
	if got := c.state(); got.GetCanSet() || got.GetRefusal() != c.off || got.GetRefusedTotal() != 1 || c.writes != 0 ||
		c.malformed.Total() != 0 {
		t.Errorf("%v, %d writes", got, c.writes)
	}
	c.command(set(8, 0)) // To restore own values is no error.
	if c.saved.Counters.CommandsRefused != 1 {
		t.Errorf("%+v", c.saved)
	}
}

func TestWhatStationsUse(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	dcf := edca.Parameters{AIFSN: 2, CWMin: 15, CWMax: 1023}
	if got := c.state(); got.GetWmm() || got.GetStations()[1].GetAifsn() != uint32(dcf.AIFSN) {
		t.Errorf("without a station: %v", got)
	}
	station := nl80211.Station{MAC: phone1, Associated: true, Authorized: true, WMM: true}
	c.wireless.Set(nl80211test.Device{
		Interface: nl80211.Interface{
			Index: 3, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP,
		},
		Stations: []nl80211.Station{station},
	})
	if got := c.state(); !got.GetWmm() || got.GetStations()[1].GetAifsn() != 3 {
		t.Errorf("with a station that has WMM: %v", got)
	}
	c.stations()
	if got := c.state(); !got.GetWmm() {
		t.Errorf("it left, the access point is the same: %v", got)
	}
	c.agent.Update(c.nowUS, hostapd.Update{Enabled: true})
	if got := c.state(); got.GetWmm() {
		t.Errorf("hostapd may have another configuration now: %v", got)
	}
	c.settings = &hostapd.Settings{WMM: true}
	if got := c.state(); !got.GetWmm() {
		t.Errorf("by the configuration: %v", got)
	}
}

func TestTheStateSaysWhatWasReportedAndWhatFailed(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	c.stations(phone1, phone2)
	c.pass(time.Second)
	if got := c.saved.BSS; got.StationsReported != 2 || got.Band != "2.4 GHz" || got.FrequencyMHz != 2437 ||
		got.BSSID != "02:00:00:00:00:00" {
		t.Errorf("%+v", got)
	}
	before := c.saved.LastReportUS
	c.pass(5 * time.Second)
	if c.saved.LastReportUS != before {
		t.Error("the file is written for the time alone")
	}
	c.pass(10 * time.Second)
	if age := c.nowUS - c.saved.LastReportUS; age > 11_000_000 {
		t.Errorf("the last report was %d us ago", age)
	}
	c.wireless.Set()
	c.pass(time.Second)
	if got := c.saved.LastError; !strings.HasPrefix(got, "kernel: find wlan0") {
		t.Error(got)
	}
	c.stations(phone1)
	c.pass(time.Second)
	if got := c.saved.LastError; got != "" {
		t.Error(got)
	}
	c.agent.Disconnected(c.nowUS)
	c.agent.ConnectionFailed(c.nowUS, errors.New("connection refused"))
	if got := c.saved.LastError; got != "controller: connection refused" {
		t.Error(got)
	}
	c.agent.Connected(c.nowUS)
	if got := c.saved.LastError; got != "" {
		t.Error(got)
	}
}

func TestOfSetsOfParametersThatComeTooFastTheLastOneCounts(t *testing.T) {
	t.Parallel()
	c := newEDCACell(t)
	const count = 1000
	for generation := range uint64(count) {
		c.command(set(generation+1, 6*time.Second, queue(be, uint32(2+generation%5))))
		c.pass(time.Millisecond)
	}
	c.pass(100 * time.Millisecond)
	c.inForce("the last set", bestEffort(2+(count-1)%5))
	if got := len(c.wireless.QueueWrites()); got > 22 {
		t.Errorf("%d writes", got)
	}
	c.command(set(count+1, 0))
	c.inForce("removed at once")
	c.pass(11 * time.Second) // counters are saved every 10 s
	if got := c.saved.Counters; got.SetsHeldBack < count-21 || got.SetsApplied > 21 || got.CommandsRefused != 0 {
		t.Errorf("%+v", got)
	}
}
