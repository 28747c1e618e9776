// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"errors"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Survey is one channel of the radio.
type Survey struct {
	FrequencyMHz uint32
	// InUse is set for the channel that the radio is on.
	InUse bool
	// ActiveMS is nil if the driver does not measure. The others are parts of it, cumulative like it.
	ActiveMS           *uint64
	BusyMS, RXMS, TXMS uint64
}

// ParseSurvey parses the attributes of an NL80211_CMD_NEW_SURVEY_RESULTS.
func ParseSurvey(attributes []byte) (Survey, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Survey{}, malformed("survey", err)
	}
	var parsed Survey
	for decoder.Next() {
		if decoder.Type() == unix.NL80211_ATTR_SURVEY_INFO {
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
		case unix.NL80211_SURVEY_INFO_FREQUENCY:
			s.FrequencyMHz = info.Uint32()
		case unix.NL80211_SURVEY_INFO_IN_USE:
			s.InUse = info.Flag()
		case unix.NL80211_SURVEY_INFO_TIME:
			activeMS := info.Uint64()
			s.ActiveMS = &activeMS
		case unix.NL80211_SURVEY_INFO_TIME_BUSY:
			s.BusyMS = info.Uint64()
		case unix.NL80211_SURVEY_INFO_TIME_RX:
			s.RXMS = info.Uint64()
		case unix.NL80211_SURVEY_INFO_TIME_TX:
			s.TXMS = info.Uint64()
		}
	}
}
