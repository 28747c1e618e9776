// SPDX-License-Identifier: Apache-2.0

// Package diagnosis is what `doctor` of both agents finds out about a device: configuration, certificate, clock,
// directories, the way to the controller. Each finding that is not as it should be names the next step. It changes
// nothing.
package diagnosis

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/airbound/airbound/internal/command"
)

// Level is how bad a finding is.
type Level string

// OK is as it should be. With a Warning the agent works, but not as well as it could, or not for long. With a Failure
// it does not work.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Failure Level = "failed"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Part is what it is about: "kernel", "permissions".
	Part  string `json:"part"`
	Level Level  `json:"level"`
	// Found is what was found.
	Found string `json:"found"`
	// Do is what to do about it, one sentence; empty if it is as it should be.
	Do string `json:"do,omitempty"`
}

// Good makes a finding that is as it should be.
func Good(part, format string, values ...any) Finding {
	return Finding{Part: part, Level: OK, Found: fmt.Sprintf(format, values...)}
}

// Warn makes a warning with its remedy.
func Warn(part, do, format string, values ...any) Finding {
	return Finding{Part: part, Level: Warning, Found: fmt.Sprintf(format, values...), Do: do}
}

// Fail makes a failure with its remedy.
func Fail(part, do, format string, values ...any) Finding {
	return Finding{Part: part, Level: Failure, Found: fmt.Sprintf(format, values...), Do: do}
}

// Failed reports whether any of the findings is a failure.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Failure })
}

// schema is the version of the JSON.
const schema = 1

// WriteJSON writes findings for programs.
func WriteJSON(to io.Writer, findings []Finding) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(struct {
		Schema   int       `json:"schema"`
		Failed   bool      `json:"failed"`
		Findings []Finding `json:"findings"`
	}{schema, Failed(findings), findings})
}

// WriteText writes findings for a person.
func WriteText(to io.Writer, findings []Finding) error {
	var text strings.Builder
	counts := map[Level]int{}
	for _, finding := range findings {
		counts[finding.Level]++
		fmt.Fprintf(&text, "%-8s %-13s %s\n", finding.Level, finding.Part, finding.Found)
		if finding.Do != "" {
			fmt.Fprintf(&text, "%-22s -> %s\n", "", finding.Do)
		}
	}
	fmt.Fprintf(&text, "\n%d ok, %d warnings, %d failed\n", counts[OK], counts[Warning], counts[Failure])
	_, err := io.WriteString(to, text.String())
	return err
}

// Print prints findings as `doctor` does, and returns its exit code.
func Print(to io.Writer, findings []Finding, asJSON bool) (int, error) {
	write := WriteText
	if asJSON {
		write = WriteJSON
	}
	if err := write(to, findings); err != nil {
		return command.ExitError, fmt.Errorf("print the findings: %w", err)
	}
	if Failed(findings) {
		return command.ExitError, nil
	}
	return command.ExitOK, nil
}
