// SPDX-License-Identifier: Apache-2.0

// Package reasontext makes a sentence for a person from the code and the values of a Reason: why a phone has these
// bounds, or an access point these EDCA parameters. It is pure.
package reasontext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Sentence returns why a set of bounds, or of EDCA parameters, replaced the one before. It is one printable line.
func Sentence(reason *airboundv1.Reason) string {
	subject := clean(reason.GetSubject())
	about := func(format, without string) string {
		if subject == "" {
			return without
		}
		return fmt.Sprintf(format, subject)
	}
	switch reason.GetCode() {
	case airboundv1.ReasonCode_REASON_CODE_UNSPECIFIED:
		return "the controller gave no reason"

	case airboundv1.ReasonCode_REASON_CODE_OBSERVE_MODE:
		return "the controller only observes"
	case airboundv1.ReasonCode_REASON_CODE_EXEMPT:
		return "an operator exempted this terminal"
	case airboundv1.ReasonCode_REASON_CODE_NOT_SENDING:
		return "this terminal sends nothing"
	case airboundv1.ReasonCode_REASON_CODE_BACK_END_CANNOT_BOUND:
		return about("back end %s cannot set a maximum", "the back end cannot set a maximum")
	case airboundv1.ReasonCode_REASON_CODE_MAC_CLAIMED_TWICE:
		return about("terminal %s reports the same MAC address", "another terminal reports the same MAC address")
	case airboundv1.ReasonCode_REASON_CODE_ADDRESS_MISMATCH:
		return about(
			"the access point reports other IP addresses for this station than %s, where the stream comes from",
			"the access point reports other IP addresses for this station",
		)
	case airboundv1.ReasonCode_REASON_CODE_LEFT_CELL:
		return about("the access point of cell %s no longer reports this terminal as associated",
			"the access point no longer reports this terminal as associated")
	case airboundv1.ReasonCode_REASON_CODE_TERMINAL_STALE:
		return "the controller received no report from this terminal" + longerThan(reason.Limit)
	case airboundv1.ReasonCode_REASON_CODE_CELL_STALE:
		return about(
			"the access point of cell %s sent no report",
			"the access point sent no report",
		) + longerThan(
			reason.Limit,
		)
	case airboundv1.ReasonCode_REASON_CODE_INTERNAL_ERROR:
		return about("the controller failed to decide: %s", "the controller failed to decide")
	case airboundv1.ReasonCode_REASON_CODE_EDCA_OFF:
		return "the controller's configuration leaves the access point its own EDCA parameters"
	case airboundv1.ReasonCode_REASON_CODE_CANNOT_SET_EDCA:
		return about("the access point cannot set EDCA parameters: %s", "the access point cannot set EDCA parameters")
	case airboundv1.ReasonCode_REASON_CODE_FEW_SENDERS:
		return "too few stations send" + compared(reason, "", 1, "fewest")
	case airboundv1.ReasonCode_REASON_CODE_DOWNLOADS:
		return "downloads are too much of the payload" + compared(reason, " %", percent, "smallest share of uploads")

	case airboundv1.ReasonCode_REASON_CODE_WINDOW_CLAMP_OFF:
		return "the controller's configuration leaves the windows of stations alone"
	case airboundv1.ReasonCode_REASON_CODE_CANNOT_SET_WINDOWS:
		return about("the access point cannot limit windows: %s", "the access point cannot limit windows")
	case airboundv1.ReasonCode_REASON_CODE_AGENT_BOUNDS:
		return about("the station's agent bounds it: terminal %s", "the station's agent bounds it")
	case airboundv1.ReasonCode_REASON_CODE_NO_STATION_TO_LIMIT:
		return "no station without a working agent sends"

	case airboundv1.ReasonCode_REASON_CODE_STARTED_SENDING:
		return about("this terminal began to send to %s", "this terminal began to send")
	case airboundv1.ReasonCode_REASON_CODE_STOPPED_SENDING:
		return about("this terminal no longer sends to %s", "this terminal no longer sends to a destination")
	case airboundv1.ReasonCode_REASON_CODE_ACTIVE_SENDERS:
		return "the number of active senders in the cell changed" + change(reason, "", 1)
	case airboundv1.ReasonCode_REASON_CODE_CONNECTIONS:
		return "the number of this terminal's sending connections changed" + change(reason, "", 1)
	case airboundv1.ReasonCode_REASON_CODE_CAPACITY:
		return "the cell's capacity changed" + change(reason, " Mb/s", 1e6)
	case airboundv1.ReasonCode_REASON_CODE_SHARE:
		return "this terminal's share of the cell changed" + change(reason, " Mb/s", 1e6)
	case airboundv1.ReasonCode_REASON_CODE_MIN_RTT:
		return about("the minimum RTT to %s changed", "the minimum RTT changed") + change(reason, " ms", 1e3)
	case airboundv1.ReasonCode_REASON_CODE_RTT_RATIO:
		return about("the RTT ratio (smoothed / minimum) to %s changed", "the RTT ratio (smoothed / minimum) changed") +
			change(reason, "", 1)
	case airboundv1.ReasonCode_REASON_CODE_POLICY:
		return about("policy %s or a parameter of it was changed", "the policy or a parameter of it was changed")
	case airboundv1.ReasonCode_REASON_CODE_UPLOADS:
		return "uploads are a good part of the payload" + compared(reason, " %", percent, "smallest share of uploads")
	case airboundv1.ReasonCode_REASON_CODE_STATIONS_LIMITED:
		return "the number of stations with limited windows changed" + change(reason, "", 1)
	case airboundv1.ReasonCode_REASON_CODE_REPEATED:
		if reason.Before == nil {
			return "sent again: another generation was still reported"
		}
		return "sent again: generation " + number(reason.GetBefore(), 1) + " was still reported"

	case airboundv1.ReasonCode_REASON_CODE_SWITCH_STATIONS:
		return "the stations of the switch's cell, or what is done for them, changed" + compared(reason, "", 1, "most")
	case airboundv1.ReasonCode_REASON_CODE_METERED:
		return "a station has no agent that bounds it" + compared(reason, " kb/s", 1, "most")

	default:
		// A code that no set has, or that is newer than this program.
		return about("reason "+reason.GetCode().String()+": %s", "reason "+reason.GetCode().String())
	}
}

// Inputs returns what bounds were computed from, "" if that is not known.
func Inputs(activeSenders uint32, capacityBPS uint64) string {
	var parts []string
	if activeSenders > 0 {
		parts = append(parts, "active senders "+strconv.FormatUint(uint64(activeSenders), 10))
	}
	if capacityBPS > 0 {
		parts = append(parts, "capacity "+number(float64(capacityBPS), 1e6)+" Mb/s")
	}
	return strings.Join(parts, ", ")
}

func change(reason *airboundv1.Reason, unit string, perUnit float64) string {
	var text string
	if reason.Before != nil {
		text += " from " + number(reason.GetBefore(), perUnit) + unit
	}
	if reason.After != nil {
		text += " to " + number(reason.GetAfter(), perUnit) + unit
	}
	return text
}

// percent is the unit of a share.
const percent = 0.01

// compared returns ": 80 % (smallest share of uploads 60 %)".
func compared(reason *airboundv1.Reason, unit string, perUnit float64, limit string) string {
	var text string
	if reason.After != nil {
		text = ": " + number(reason.GetAfter(), perUnit) + unit
	}
	if reason.Limit != nil {
		text += " (" + limit + " " + number(reason.GetLimit(), perUnit) + unit + ")"
	}
	return text
}

func longerThan(seconds *float64) string {
	if seconds == nil {
		return " for too long"
	}
	return " for " + number(*seconds, 1) + " s"
}

// number rounds to one decimal, and leaves out a decimal of 0.
func number(value, perUnit float64) string {
	const tenths, largestExact = 10, 1 << 53
	value /= perUnit
	if math.Abs(value) > largestExact {
		return strconv.FormatFloat(value, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(value*tenths)/tenths, 'f', -1, 64)
}

// subjectBytesMax is longer than any name, address or prefix.
const subjectBytesMax = 128

// clean makes text of the wire fit for a terminal: no control characters, and not long.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > subjectBytesMax {
		text = strings.ToValidUTF8(text[:subjectBytesMax], "")
	}
	return strings.TrimSpace(text)
}
