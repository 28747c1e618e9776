// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a configuration file: far more than a person writes.
const (
	fileBytesMax = 64 << 10
	lineBytesMax = 4096
)

// Setting is one line `KEY = VALUE` of a configuration file.
type Setting struct {
	// Line counts from 1.
	Line       int
	Key, Value string
}

// LineError is what is wrong with a line of a configuration file.
type LineError struct {
	// Line counts from 1; 0 means the file as a whole.
	Line int
	What string
}

// Error is what is wrong, without the name of the file.
func (e *LineError) Error() string {
	if e.Line == 0 {
		return e.What
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.What)
}

// ParseFile reads the text of a configuration file: lines `KEY = VALUE`. Empty lines, and what follows a # at the
// beginning of a line or after a space, are left out. An error is a *LineError.
func ParseFile(text []byte) ([]Setting, error) {
	if len(text) > fileBytesMax {
		return nil, &LineError{0, fmt.Sprintf("the file has %d bytes, more than %d", len(text), fileBytesMax)}
	}
	var settings []Setting
	number := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		number++
		key, value, err := parseLine(line)
		if err != "" {
			return nil, &LineError{number, err}
		}
		if key != "" {
			settings = append(settings, Setting{number, key, value})
		}
	}
	return settings, nil
}

// parseLine returns what is wrong as text, which is empty if nothing is; the key is empty without a setting.
func parseLine(line []byte) (key, value, wrong string) {
	if wrong := unreadable(line); wrong != "" {
		return "", "", wrong
	}
	text := withoutComment(string(line))
	if text == "" {
		return "", "", ""
	}
	key, value, found := strings.Cut(text, "=")
	if !found {
		return "", "", fmt.Sprintf("%q is not KEY = VALUE: the = is missing", text)
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case key == "":
		return "", "", "the key before = is missing"
	case strings.HasPrefix(key, "-"):
		return "", "", fmt.Sprintf("the key %q is written without dashes: %s", key, strings.TrimLeft(key, "-"))
	case value == "", value[0] == '#': // as `key = # comment` would be
		return "", "", "the value of " + key + " is missing; to leave it at its default, remove the line"
	case value[0] == '"' || value[0] == '\'':
		return "", "", "the value of " + key + " is written without quotation marks"
	}
	return key, value, ""
}

// unreadable returns why a line is no text of a configuration file. Errors do not quote it: a terminal shows them.
func unreadable(line []byte) string {
	switch {
	case len(line) > lineBytesMax:
		return fmt.Sprintf("the line has %d bytes, more than %d", len(line), lineBytesMax)
	case !utf8.Valid(line):
		return "the line is not UTF-8"
	case bytes.HasSuffix(line, []byte("\r")):
		return "the line ends in CR LF, as Windows writes it; save the file with LF line ends"
	}
	for _, character := range string(line) {
		if character != '\t' && (unicode.IsControl(character) || !unicode.IsPrint(character) && character != ' ') {
			return fmt.Sprintf("the line has the character %U, which no value contains", character)
		}
	}
	return ""
}

// withoutComment removes a comment and the space around what is left. A # within a word is part of it.
func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}
