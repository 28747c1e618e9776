// SPDX-License-Identifier: Apache-2.0

// Package status is what `airbound-phone status` tells: the state that the running agent writes to its state
// directory, the rules that the kernel holds, and how both read to a person.
package status

import (
	"encoding/json"
	"fmt"

	"github.com/airbound/airbound/phone-agent/bounds"
)

// Schema is the version of State's JSON. A reader refuses another.
const Schema = 1

// State is the running agent's own account of what holds and why. Times are on CLOCK_BOOTTIME, which every process sees
// alike and which does not stop while the phone sleeps.
type State struct {
	Schema    int    `json:"schema"`
	Version   string `json:"version"`
	PID       int    `json:"pid"`
	WrittenUS int64  `json:"written_boottime_us"`
	// Set by the last write of an agent that ended in order.
	Stopped    bool    `json:"stopped"`
	Controller string  `json:"controller"`
	Connected  bool    `json:"connected"`
	Interface  string  `json:"interface,omitempty"`
	MAC        string  `json:"mac"`
	BackEnd    BackEnd `json:"back_end"`
	// 0 while the kernel's defaults hold.
	Generation uint64 `json:"bounds_generation"`
	Rules      []Rule `json:"rules"`
	// Why these bounds hold, or why none do.
	Reason string `json:"reason"`
	// The lease holds at least until then; renewals are not all written down. 0 without bounds.
	LeaseEndsUS int64 `json:"lease_ends_boottime_us"`
	// Why the kernel's defaults could not be restored; tried again until they are.
	RestoreError string   `json:"restore_error,omitempty"`
	Counters     Counters `json:"counters"`
	// The last input that was refused.
	LastRefusal string `json:"last_refusal,omitempty"`
}

// BackEnd says how bounds reach the kernel and what it can do.
type BackEnd struct {
	Name                 string `json:"name"`
	CanSetMax            bool   `json:"can_set_max"`
	CanSetMin            bool   `json:"can_set_min"`
	CanSelectDestination bool   `json:"can_select_destination"`
	CanSelectUID         bool   `json:"can_select_uid"`
	RulesMax             uint32 `json:"rules_max"`
}

// Rule is one rule; its selector is in the grammar of /proc/net/tcp_cwnd_bounds.
type Rule struct {
	Selector string `json:"selector"`
	MinSegs  uint32 `json:"min_segs"`
	MaxSegs  uint32 `json:"max_segs"`
}

// Counters count since the agent started.
type Counters struct {
	MonitorLinesRefused uint64 `json:"monitor_lines_refused_total"`
	MonitorReadsFailed  uint64 `json:"monitor_reads_failed_total"`
	CommandsRefused     uint64 `json:"commands_refused_total"`
	RenewalsPassedOver  uint64 `json:"renewals_passed_over_total"`
	SetsApplied         uint64 `json:"sets_applied_total"`
	ApplyFailures       uint64 `json:"apply_failures_total"`
	LeasesEnded         uint64 `json:"leases_ended_total"`
	ForeignChanges      uint64 `json:"foreign_changes_total"`
	StateWritesFailed   uint64 `json:"state_writes_failed_total"`
	ControllerConnected uint64 `json:"controller_connected_total"`
	DefaultsNotRestored uint64 `json:"defaults_not_restored_total"`
}

// Malformed is the wire's malformed_inputs_total.
func (c Counters) Malformed() uint64 { return c.MonitorLinesRefused + c.CommandsRefused }

// Rules puts rules into the form that a State and the report of `status` show.
func Rules(rules []bounds.Rule) []Rule {
	shown := make([]Rule, len(rules))
	for i, rule := range rules {
		shown[i] = Rule{Selector: rule.Selector.String(), MinSegs: rule.MinSegs, MaxSegs: rule.MaxSegs}
	}
	return shown
}

// ParseState reads a state file.
func ParseState(text []byte) (State, error) {
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		return State{}, fmt.Errorf("parse the state file: %w", err)
	}
	if state.Schema != Schema {
		return State{}, fmt.Errorf("parse the state file: its schema is %d, this program reads %d", state.Schema, Schema)
	}
	return state, nil
}
