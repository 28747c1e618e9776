// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"time"
)

// The controller's modes.
const (
	ModeObserve = "observe"
	ModeControl = "control"
)

// PeriodSecondsMin is how long two stations or more must have uploaded in a period before its means say something.
const PeriodSecondsMin = 60

// Period is what the cell carried in a time with one mode, while two stations or more uploaded: means over the last
// hour of that, without the half minute after the switch. Where one station uploads alone there is little to gain.
type Period struct {
	Mode string `json:"mode"`
	// BeganUS and EndedUS are CLOCK_MONOTONIC; EndedUS is 0 of the period that lasts.
	BeganUS int64 `json:"began_monotonic_us"`
	EndedUS int64 `json:"ended_monotonic_us,omitempty"`
	// UploadSeconds is the time that the means are of.
	UploadSeconds int `json:"upload_seconds"`
	// CarriedKbps is in both directions, of all stations.
	CarriedKbps uint64 `json:"carried_kbps"`
	// RTTUS is of the stations that uploaded; 0 if it is not known.
	RTTUS uint32 `json:"rtt_us,omitempty"`
	// Uploaders is the number of stations that uploaded.
	Uploaders float64 `json:"uploaders"`
}

// describePeriods prints the mode, and what was carried before the last switch and since then.
func (s *State) describePeriods(line printer) {
	if s.Mode == "" {
		return
	}
	meaning := "the controller controls this cell"
	if s.Mode == ModeObserve {
		meaning = "the controller applies nothing here, until `airbound mode control`"
	}
	line("mode", "%s: %s", s.Mode, meaning)
	line("before", "%s", s.Before.text())
	line("since then", "%s", s.Since.text())
}

func (p *Period) text() string {
	if p == nil || p.UploadSeconds < PeriodSecondsMin {
		return fmt.Sprintf("not known yet: two devices or more must upload for %d s", PeriodSecondsMin)
	}
	text := fmt.Sprintf("%s: %.1f Mb/s", p.Mode, float64(p.CarriedKbps)/kbpsPerMbps)
	if p.RTTUS != 0 {
		text += fmt.Sprintf(", RTT %.1f ms", milliseconds(p.RTTUS))
	}
	return text + fmt.Sprintf(", while %.1f devices uploaded, for %s", p.Uploaders,
		time.Duration(p.UploadSeconds)*time.Second)
}
