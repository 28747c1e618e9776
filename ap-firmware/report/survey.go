// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// surveySlackMS is how much more than the time that passed a part of it may have grown. Each counter is cut to whole
// milliseconds, and a driver may read one register after the other.
const surveySlackMS = 10

// surveys refuses surveys that cannot be true. Known ones: after an unsigned subtraction that wrapped, mt7915 and its
// kin have a busy time of 10^7 times the channel's, for as long as the radio is up (openwrt/mt76#1135), or one that
// jumps and heals (openwrt/mt76#916).
type surveys struct {
	before       *nl80211.Survey
	refusedTotal uint64
}

// next returns the survey for a report, or why there is none although the driver has one. The one after a jump is
// compared with that of the jump: a jump costs one survey.
func (s *surveys) next(now *nl80211.Survey) (survey *airboundv1.ChannelSurvey, refusal string) {
	if now == nil || now.ActiveMS == nil {
		return nil, ""
	}
	before := s.before
	s.before = now
	if refusal = refuseSurvey(before, now); refusal != "" {
		s.refusedTotal++
		return nil, refusal
	}
	return &airboundv1.ChannelSurvey{
		ActiveUs: usOfMS(*now.ActiveMS), BusyUs: usOfMS(now.BusyMS), RxUs: usOfMS(now.RXMS), TxUs: usOfMS(now.TXMS),
	}, ""
}

// refuseSurvey returns what is wrong; empty if nothing is. A channel time that went back, or another channel, is a new
// beginning: the controller takes no differences over it.
func refuseSurvey(before, now *nl80211.Survey) string {
	isNew := before == nil || before.FrequencyMHz != now.FrequencyMHz || *now.ActiveMS < *before.ActiveMS
	if isNew {
		before = &nl80211.Survey{ActiveMS: new(uint64)}
	}
	passedMS := *now.ActiveMS - *before.ActiveMS
	for _, part := range []struct {
		name            string
		nowMS, beforeMS uint64
	}{{"busy", now.BusyMS, before.BusyMS}, {"rx", now.RXMS, before.RXMS}, {"tx", now.TXMS, before.TXMS}} {
		switch {
		case part.nowMS > *now.ActiveMS:
			return fmt.Sprintf("the %s time, %d ms, exceeds the channel's, %d ms", part.name, part.nowMS, *now.ActiveMS)
		case part.nowMS < part.beforeMS:
			return fmt.Sprintf("the %s time went back, from %d ms to %d ms", part.name, part.beforeMS, part.nowMS)
		case part.nowMS-part.beforeMS > passedMS+surveySlackMS:
			return fmt.Sprintf("the %s time grew by %d ms within %d ms", part.name, part.nowMS-part.beforeMS, passedMS)
		}
	}
	return ""
}

func usOfMS(ms uint64) uint64 {
	const usPerMS = 1000
	return min(ms, math.MaxUint64/usPerMS) * usPerMS
}
