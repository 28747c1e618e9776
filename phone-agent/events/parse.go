// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// LineOctetsMax is the longest line of either direction, with its newline.
const LineOctetsMax = 512

// Line is an event as the agent's sockets write it: one object of JSON and a newline.
func (e Event) Line() []byte {
	// Texts and an integer: nothing that JSON cannot have.
	line, _ := json.Marshal(e)
	return append(line, '\n')
}

// ParseLine reads what Line has written. Keys that do not exist are skipped: the agent may be newer than its reader.
func ParseLine(line []byte) (Event, error) {
	var parsed Event
	if err := decode(line, &parsed, false); err != nil {
		return Event{}, err
	}
	if err := parsed.Check(); err != nil {
		return Event{}, err
	}
	return parsed, nil
}

// ParseReport reads a report as a program writes it to a socket of the agent, for example
// {"kind":"base_station","place":"440-10-1234-5678"}. Keys that do not exist are refused.
func ParseReport(line []byte) (Report, error) {
	var parsed Report
	if err := decode(line, &parsed, true); err != nil {
		return Report{}, err
	}
	if err := parsed.Check(); err != nil {
		return Report{}, err
	}
	return parsed, nil
}

func decode(line []byte, into any, strict bool) error {
	if len(line) > LineOctetsMax {
		return refused("a line of %d bytes, more than %d", len(line), LineOctetsMax)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	if strict {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(into); err != nil {
		return refused("read %q: %w", shortened(string(line)), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refused("read %q: more than one value", shortened(string(line)))
	}
	return nil
}

// ParsePlaceFile reads the file that a script writes: the base station's id, alone in its first line. Lines after it
// are comments of the script's. An empty file has no place.
func ParsePlaceFile(text []byte) (string, error) {
	if !utf8.Valid(text) {
		return "", refused("the file is not UTF-8")
	}
	line, _, _ := strings.Cut(string(text), "\n")
	place := strings.TrimSpace(line)
	if place == "" {
		return "", nil
	}
	if err := CheckPlace(place); err != nil {
		return "", fmt.Errorf("read the first line: %w", err)
	}
	return place, nil
}

// Following is the outcome of the first answer on a connection: from now on it gets each arrival.
const Following = "following"

// Answer is what a program that reports gets for each of its lines.
type Answer struct {
	// Outcome is empty if the line was refused.
	Outcome string `json:"outcome,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Line is an answer as the agent's sockets write it.
func (a Answer) Line() []byte {
	a.Refused = shortened(a.Refused)
	line, _ := json.Marshal(a)
	return append(line, '\n')
}

// ParseAnswer reads what an agent's socket has written. It returns false for an event.
func ParseAnswer(line []byte) (Answer, bool, error) {
	var parsed Answer
	if err := decode(line, &parsed, false); err != nil {
		return Answer{}, false, err
	}
	return parsed, parsed != Answer{}, nil
}

// Tokens of the loopback port, in octets. One that the agent makes has 32.
const (
	tokenOctetsMin = 32
	tokenOctetsMax = 128
)

// CheckToken returns what is wrong with a token: 32 to 128 letters, digits and the characters "-_".
func CheckToken(token string) error {
	if len(token) < tokenOctetsMin || len(token) > tokenOctetsMax || strings.ContainsFunc(token, notOfToken) {
		return fmt.Errorf("a token has %d to %d letters, digits and the characters \"-_\"",
			tokenOctetsMin, tokenOctetsMax)
	}
	return nil
}

func notOfToken(letter rune) bool { return letter == ':' || letter == '.' || notOfPlace(letter) }

type tokenLine struct {
	Token string `json:"token"`
}

// TokenLine is the first line that an app writes to the loopback port.
func TokenLine(token string) []byte {
	line, _ := json.Marshal(tokenLine{token})
	return append(line, '\n')
}

// ParseTokenLine reads what TokenLine has written.
func ParseTokenLine(line []byte) (string, error) {
	var parsed tokenLine
	if err := decode(line, &parsed, true); err != nil {
		// Not with the text: it may have most of a token.
		return "", refused("the first line is not a token")
	}
	if err := CheckToken(parsed.Token); err != nil {
		return "", refused("the first line: %w", err)
	}
	return parsed.Token, nil
}
