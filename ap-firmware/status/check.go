// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
)

// CheckRequest is what `airbound-ap check` leaves for the agent of a BSS.
type CheckRequest struct {
	ID string `json:"id"`
	// AskedUS is CLOCK_MONOTONIC.
	AskedUS int64 `json:"asked_monotonic_us"`
}

// ParseCheckRequest reads a request.
func ParseCheckRequest(text []byte) (CheckRequest, error) {
	var request CheckRequest
	if err := json.Unmarshal(text, &request); err != nil {
		return CheckRequest{}, fmt.Errorf("parse the request of a check: %w", err)
	}
	return request, nil
}

// Check is the last check that was asked for here: what the cell carries with Airbound and without, turn by turn.
type Check struct {
	ID string `json:"id"`
	// AskedUS is CLOCK_MONOTONIC.
	AskedUS int64 `json:"asked_monotonic_us"`
	// Turn is the one that lasts or was the last, from 1 on, of Turns; 0 until the controller begins.
	Turn  uint32 `json:"turn,omitempty"`
	Turns uint32 `json:"turns,omitempty"`
	// Refusal is why there is none, or why it ended without a result, for a person.
	Refusal string `json:"refusal,omitempty"`
	// Line has all of the result, to paste somewhere; Verdict says whether it is worth it here.
	Line    string `json:"line,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	// Last is the last result before this one was asked for; nil if there was none.
	Last *CheckResult `json:"last,omitempty"`
}

// CheckResult is what a check found out.
type CheckResult struct {
	// AskedUS is CLOCK_MONOTONIC.
	AskedUS int64  `json:"asked_monotonic_us"`
	Line    string `json:"line"`
	Verdict string `json:"verdict"`
}

// LastResult is the result of this check, or the one before it; nil if there is none.
func (c *Check) LastResult() *CheckResult {
	switch {
	case c == nil:
		return nil
	case c.Line != "":
		return &CheckResult{AskedUS: c.AskedUS, Line: c.Line, Verdict: c.Verdict}
	default:
		return c.Last
	}
}

// Runs reports whether it is neither refused nor over.
func (c *Check) Runs() bool { return c != nil && c.Refusal == "" && c.Line == "" }

// Progress is how far one is that runs.
func (c *Check) Progress() string {
	if c.Turn == 0 {
		return "asked for; the controller has not answered yet"
	}
	return fmt.Sprintf("turn %d of %d", c.Turn, c.Turns)
}

func (c *Check) describe(line printer) {
	if c == nil {
		return
	}
	switch {
	case c.Runs():
		line("check", "%s", c.Progress())
	case c.Refusal != "" && c.Turn != 0:
		line("check", "no result, in turn %d of %d: %s", c.Turn, c.Turns, c.Refusal)
	case c.Refusal != "":
		line("check", "none: %s", c.Refusal)
	default:
		line("check", "%s", c.Verdict)
		line("", "%s", c.Line)
		return
	}
	if c.Last != nil {
		line("last check", "%s", c.Last.Verdict)
		line("", "%s", c.Last.Line)
	}
}
