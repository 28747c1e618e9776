// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/ap-firmware/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	// settledUS: after a release a window grows for half a minute, and what is in flight drains after a set.
	settledUS = 30_000_000
	// uploadersMin: where one station uploads alone there is little to gain.
	uploadersMin = 2
	// minutesKept of uploads are in the means of a period.
	minutesKept   = 60
	minuteSeconds = 60
	usPerSecond   = 1_000_000
)

// sums are of some time in which stations uploaded: each value times the seconds that it was there.
type sums struct {
	seconds, kilobits, rttUS, rttSeconds, uploaders float64
}

func (s *sums) add(other sums) {
	s.seconds += other.seconds
	s.kilobits += other.kilobits
	s.rttUS += other.rttUS
	s.rttSeconds += other.rttSeconds
	s.uploaders += other.uploaders
}

// period is a time with one mode.
type period struct {
	mode             string
	beganUS, endedUS int64
	// minutes of uploads, the oldest first.
	minutes []sums
}

func (p *period) add(sample sums) {
	if last := len(p.minutes) - 1; last >= 0 && p.minutes[last].seconds < minuteSeconds {
		p.minutes[last].add(sample)
		return
	}
	if len(p.minutes) == minutesKept {
		p.minutes = p.minutes[1:]
	}
	p.minutes = append(p.minutes, sample)
}

// saved is the period for the status; nil of none.
func (p *period) saved() *status.Period {
	if p == nil {
		return nil
	}
	var total sums
	for _, minute := range p.minutes {
		total.add(minute)
	}
	saved := &status.Period{
		Mode: p.mode, BeganUS: p.beganUS, EndedUS: p.endedUS, UploadSeconds: int(total.seconds),
	}
	if total.seconds > 0 {
		saved.CarriedKbps = uint64(total.kilobits / total.seconds)
		saved.Uploaders = total.uploaders / total.seconds
	}
	if total.rttSeconds > 0 {
		saved.RTTUS = uint32(total.rttUS / total.rttSeconds)
	}
	return saved
}

// periods are the last time with each of the controller's two modes.
type periods struct {
	// mode is the controller's; empty if it is not known.
	mode string
	// since is the period of the mode that is known, or was last.
	since *period
	// before has of each mode the last period that was long enough to say something.
	before map[string]*period
	// settledAtUS is when the means may go on.
	settledAtUS int64
}

var modeNames = map[airboundv1.CellMode]string{
	airboundv1.CellMode_CELL_MODE_OBSERVE: status.ModeObserve,
	airboundv1.CellMode_CELL_MODE_CONTROL: status.ModeControl,
}

// is takes over the mode, and returns whether it is another one.
func (p *periods) is(nowUS int64, mode airboundv1.CellMode) bool {
	name := modeNames[mode]
	if name == p.mode {
		return false
	}
	p.mode, p.settledAtUS = name, nowUS+settledUS
	if name == "" || p.since != nil && p.since.mode == name {
		return true // Of a stream that ended, or that the same mode follows.
	}
	if p.since != nil {
		p.since.endedUS = nowUS
		if p.since.saved().UploadSeconds >= status.PeriodSecondsMin {
			if p.before == nil {
				p.before = map[string]*period{}
			}
			p.before[p.since.mode] = p.since
		}
	}
	p.since = &period{mode: name, beganUS: nowUS}
	return true
}

// add takes over what the stations did in the time before now.
func (p *periods) add(nowUS, elapsedUS int64, stations []status.Station) {
	if p.mode == "" || nowUS-elapsedUS < p.settledAtUS {
		return
	}
	seconds := float64(elapsedUS) / usPerSecond
	sample := sums{seconds: seconds}
	uploaders, rtts, rttUS := 0, 0, 0.0
	for i := range stations {
		each := &stations[i]
		sample.kilobits += float64(each.UpKbps+each.DownKbps) * seconds
		if !each.Uploads {
			continue
		}
		uploaders++
		if each.SRTTUS != 0 {
			rtts++
			rttUS += float64(each.SRTTUS)
		}
	}
	if uploaders < uploadersMin {
		return
	}
	sample.uploaders = float64(uploaders) * seconds
	if rtts > 0 {
		sample.rttSeconds, sample.rttUS = seconds, rttUS/float64(rtts)*seconds
	}
	p.since.add(sample)
}

// describe puts the periods into the status.
func (p *periods) describe(state *status.State) {
	state.Mode, state.Before, state.Since = p.mode, nil, nil
	if p.mode == "" {
		return
	}
	other := status.ModeControl
	if p.mode == status.ModeControl {
		other = status.ModeObserve
	}
	state.Before, state.Since = p.before[other].saved(), p.since.saved()
}
