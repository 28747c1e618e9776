// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	modeUnknown = airboundv1.CellMode_CELL_MODE_UNSPECIFIED
	modeObserve = airboundv1.CellMode_CELL_MODE_OBSERVE
	modeControl = airboundv1.CellMode_CELL_MODE_CONTROL
)

// timedWindows has one connection of each station, with an RTT.
type timedWindows struct {
	fakeWindows

	rtt time.Duration
}

func (f *timedWindows) Destinations(mac.Address) []*airboundv1.StationDestination {
	if f.rtt == 0 {
		return nil
	}
	us := uint32(f.rtt.Microseconds())
	return []*airboundv1.StationDestination{{ConnectionsSending: 1, SrttUs: us, MinRttUs: us}}
}

// uploading is a cell whose stations upload.
type uploading struct {
	*cell

	kernel *timedWindows
	bytes  map[mac.Address]uint64
}

func newUploading(t *testing.T) *uploading {
	t.Helper()
	kernel := &timedWindows{}
	u := &uploading{
		cell: newWindowsCell(t, agent.Windows{On: true, Kernel: kernel}), kernel: kernel,
		bytes: map[mac.Address]uint64{phone1: 1000, phone2: 1000},
	}
	u.put()
	u.agent.Connected(u.nowUS)
	u.pass(time.Second)
	return u
}

func (u *uploading) put() {
	u.stationsWith(
		u.station(phone1), u.station(phone2),
	)
}

func (u *uploading) station(address mac.Address) nl80211.Station {
	return counters(address, u.bytes[address], 1000, 1000)
}

// upload has stations send at a rate each for a time.
func (u *uploading) upload(seconds int, kbps uint64, rtt time.Duration, stations ...mac.Address) {
	u.t.Helper()
	u.kernel.rtt = rtt
	for range seconds {
		for _, station := range stations {
			u.bytes[station] += kbps * 1000 / 8
		}
		u.put()
		u.pass(time.Second)
	}
}

func near(got, want float64) bool { return got > 0.97*want && got < 1.03*want }

func (u *uploading) means(what string, got *status.Period, mode string, kbps uint64, rtt time.Duration) {
	u.t.Helper()
	if got == nil || got.Mode != mode || got.UploadSeconds < status.PeriodSecondsMin ||
		!near(float64(got.CarriedKbps), float64(kbps)) || !near(float64(got.RTTUS), float64(rtt.Microseconds())) ||
		!near(got.Uploaders, 2) {
		u.t.Errorf("%s: %+v", what, got)
	}
}

func TestWhatWasCarriedBeforeASwitchOfTheModeAndSince(t *testing.T) {
	t.Parallel()
	u := newUploading(t)
	u.upload(10, 1000, time.Second, phone1, phone2)
	if u.saved.Mode != "" || u.saved.Before != nil || u.saved.Since != nil {
		t.Errorf("of a controller that does not say the mode: %+v", u.saved)
	}
	u.agent.Mode(u.nowUS, modeObserve)
	u.upload(30, 9000, 9*time.Second, phone1, phone2) // What settles does not count,
	u.upload(120, 1000, 400*time.Millisecond, phone1, phone2)
	u.upload(20, 9000, 9*time.Second, phone1) // nor does one that uploads alone.
	u.upload(10, 1000, 400*time.Millisecond, phone1, phone2)
	if u.saved.Before != nil {
		t.Errorf("before the first switch: %+v", u.saved.Before)
	}
	u.means("observe", u.saved.Since, status.ModeObserve, 2000, 400*time.Millisecond)

	switchedUS := u.nowUS
	u.agent.Mode(u.nowUS, modeControl)
	if got := u.saved; got.Mode != status.ModeControl || got.Since == nil || got.Since.UploadSeconds != 0 ||
		got.Since.BeganUS != switchedUS {
		t.Errorf("at once after a switch: %+v", got.Since)
	}
	u.upload(120, 2000, 20*time.Millisecond, phone1, phone2)
	u.means("before", u.saved.Before, status.ModeObserve, 2000, 400*time.Millisecond)
	u.means("since", u.saved.Since, status.ModeControl, 4000, 20*time.Millisecond)
	if u.saved.Before.EndedUS != switchedUS || u.saved.Since.EndedUS != 0 {
		t.Errorf("%+v, %+v", u.saved.Before, u.saved.Since)
	}

	// A mode for too short a time to say something changes nothing of what is known of both.
	u.agent.Mode(u.nowUS, modeObserve)
	u.upload(50, 1, time.Second, phone1, phone2)
	u.agent.Mode(u.nowUS, modeControl)
	u.upload(120, 3000, 30*time.Millisecond, phone1, phone2)
	u.means("before", u.saved.Before, status.ModeObserve, 2000, 400*time.Millisecond)
	u.means("since", u.saved.Since, status.ModeControl, 6000, 30*time.Millisecond)
}

func TestAPeriodGoesOnAfterAStreamThatEnded(t *testing.T) {
	t.Parallel()
	u := newUploading(t)
	u.agent.Mode(u.nowUS, modeControl)
	u.upload(120, 2000, 20*time.Millisecond, phone1, phone2)
	beganUS := u.saved.Since.BeganUS
	u.agent.Disconnected(u.nowUS)
	if u.saved.Mode != "" || u.saved.Since != nil {
		t.Errorf("without a controller: %q, %+v", u.saved.Mode, u.saved.Since)
	}
	u.upload(600, 9000, time.Second, phone1, phone2) // Nobody limits, and nobody looks.
	u.agent.Connected(u.nowUS)
	u.upload(10, 9000, time.Second, phone1, phone2)
	u.agent.Mode(u.nowUS, modeControl)
	u.upload(30, 9000, time.Second, phone1, phone2)
	u.upload(120, 2000, 20*time.Millisecond, phone1, phone2)
	u.means("since", u.saved.Since, status.ModeControl, 4000, 20*time.Millisecond)
	if u.saved.Since.BeganUS != beganUS || u.saved.Before != nil {
		t.Errorf("%+v, %+v", u.saved.Since, u.saved.Before)
	}
	u.agent.Mode(u.nowUS, modeUnknown)
	if u.saved.Mode != "" {
		t.Errorf("a controller that does not say the mode: %q", u.saved.Mode)
	}
}

func TestAPeriodHasTheLastHourOfUploads(t *testing.T) {
	t.Parallel()
	u := newUploading(t)
	u.agent.Mode(u.nowUS, modeControl)
	u.upload(60, 50_000, time.Second, phone1, phone2)
	u.upload(3700, 2000, 20*time.Millisecond, phone1, phone2)
	u.means("since", u.saved.Since, status.ModeControl, 4000, 20*time.Millisecond)
	if got := u.saved.Since.UploadSeconds; got < 3500 || got > 3700 {
		t.Errorf("%d s", got)
	}
}

func TestRTTsThatAreNotKnownAreLeftOut(t *testing.T) {
	t.Parallel()
	u := newUploading(t)
	u.agent.Mode(u.nowUS, modeControl)
	u.upload(120, 2000, 0, phone1, phone2)
	if got := u.saved.Since; got.RTTUS != 0 || !near(float64(got.CarriedKbps), 4000) {
		t.Errorf("%+v", got)
	}
}
