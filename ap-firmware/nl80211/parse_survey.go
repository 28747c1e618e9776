// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"errors"

	"github.com/mdlayher/netlink"
)

// Survey is one channel of the radio.
type Survey struct {
	FrequencyMHz uint32
	// InUse marks the channel that the radio is on.
	InUse bool
	// ActiveMS is nil if the driver does not measure. The others are parts of it, cumulative like it.
	ActiveMS           *uint64
	BusyMS, RXMS, TXMS uint64
}

// NL80211_SURVEY_INFO_*.
const (
	surveyFrequency = 1
	surveyInUse     = 3
	surveyTime      = 4
	surveyTimeBusy  = 5
	surveyTimeRX    = 7
	surveyTimeTX    = 8
)

// ParseSurvey parses the attributes of an NL80211_CMD_NEW_SURVEY_RESULTS.
func ParseSurvey(attributes []byte) (Survey, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Survey{}, malformed("survey", err)
	}
	var parsed Survey
	for decoder.Next() {
		if decoder.Type() == attrSurveyInfo {
			decoder.Nested(nested(parsed.decode))
		}
	}
	if err := decoder.Err(); err != nil {
		return Survey{}, malformed("survey", err)
	}
	if parsed.FrequencyMHz == 0 {
		return Survey{}, malformed("survey", errors.New("no frequency"))
	}
	return parsed, nil
}

func (s *Survey) decode(info *netlink.AttributeDecoder) {
	for info.Next() {
		switch info.Type() {
		case surveyFrequency:
			s.FrequencyMHz = info.Uint32()
		case surveyInUse:
			s.InUse = info.Flag()
		case surveyTime:
			activeMS := info.Uint64()
			s.ActiveMS = &activeMS
		case surveyTimeBusy:
			s.BusyMS = info.Uint64()
		case surveyTimeRX:
			s.RXMS = info.Uint64()
		case surveyTimeTX:
			s.TXMS = info.Uint64()
		}
	}
}
