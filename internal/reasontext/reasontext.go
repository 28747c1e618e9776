// SPDX-License-Identifier: Apache-2.0

// Package reasontext makes a sentence for a person from the code and the values of a Reason: why a phone has these
// bounds, or an access point these EDCA parameters. It is pure.
package reasontext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Sentence returns the template of the reason's code (reason.proto) with the reason's values. It is one printable line.
func Sentence(reason *airboundv1.Reason) string {
	template := fmt.Sprintf("code %d[: {subject}]", reason.GetCode()) // of a code that is newer than this program
	if code := reason.GetCode().Descriptor().Values().ByNumber(reason.GetCode().Number()); code != nil {
		template, _ = proto.GetExtension(code.Options(), airboundv1.E_Text).(string)
	}
	text, _ := filled(template, reason)
	return text
}

// Inputs returns what bounds were computed from, "" if that is not known.
func Inputs(activeSenders uint32, capacityBPS uint64) string {
	var parts []string
	if activeSenders > 0 {
		parts = append(parts, "active senders "+strconv.FormatUint(uint64(activeSenders), 10))
	}
	if capacityBPS > 0 {
		parts = append(parts, "capacity "+number(float64(capacityBPS), "mbps")+" Mb/s")
	}
	return strings.Join(parts, ", ")
}

// filled returns a template with values, and whether the reason has all of them. A part in square brackets is left out
// if it has not.
func filled(template string, reason *airboundv1.Reason) (string, bool) {
	var text strings.Builder
	complete := true
	for {
		start := strings.IndexAny(template, "[{")
		if start < 0 {
			text.WriteString(template)
			return text.String(), complete
		}
		text.WriteString(template[:start])
		if template[start] == '{' {
			place, rest, _ := strings.Cut(template[start+1:], "}")
			value, isThere := valueAt(place, reason)
			text.WriteString(value)
			complete = complete && isThere
			template = rest
			continue
		}
		part, rest, _ := strings.Cut(template[start+1:], "]")
		if value, isComplete := filled(part, reason); isComplete {
			text.WriteString(value)
		}
		template = rest
	}
}

// valueAt returns the value for a place, NAME or NAME:FORMAT, and whether the reason has it; "?" if not.
func valueAt(place string, reason *airboundv1.Reason) (string, bool) {
	name, format, _ := strings.Cut(place, ":")
	var value *float64
	switch name {
	case "subject":
		subject := clean(reason.GetSubject())
		if subject == "" {
			return "?", false
		}
		return subject, true
	case "before":
		value = reason.Before
	case "after":
		value = reason.After
	case "limit":
		value = reason.Limit
	}
	if value == nil {
		return "?", false
	}
	return number(*value, format), true
}

// number returns a number in a format of docs/reasons.md, or without one.
func number(value float64, format string) string {
	const year10000S, decimalUpTo = 253_402_300_800, 1e15
	if format == "time" && value >= 0 && value < year10000S {
		return time.Unix(int64(value), 0).UTC().Format("2006-01-02 15:04:05 UTC")
	}
	verb, digits := byte('g'), 15
	if perUnit, ok := map[string]float64{"ratio": 1, "ms": 1e3, "mbps": 1e6, "percent": 0.01}[format]; ok {
		value /= perUnit
		if math.Abs(value) < decimalUpTo {
			verb, digits = 'f', 1
		}
	}
	text := strconv.FormatFloat(value, verb, digits, 64)
	return strings.ToLower(strings.TrimPrefix(text, "+")) // "inf", "nan", as in Python
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
