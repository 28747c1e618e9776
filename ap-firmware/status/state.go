// SPDX-License-Identifier: Apache-2.0

// Package status is what `airbound-ap status` shows: the state that the running agent writes to its state directory, as
// text.
package status

import (
	"encoding/json"
	"fmt"

	"github.com/airbound/airbound/ap-firmware/edca"
)

// Schema is the version of State's JSON. A reader refuses another.
const Schema = 2

// State is the running agent's account of what is in force and why. Times are on CLOCK_MONOTONIC, which is the same for
// every process.
type State struct {
	Schema    int    `json:"schema"`
	Version   string `json:"version"`
	PID       int    `json:"pid"`
	WrittenUS int64  `json:"written_monotonic_us"`
	// Set by the last write of an agent that ended in order.
	Stopped    bool   `json:"stopped"`
	Controller string `json:"controller"`
	Connected  bool   `json:"connected"`
	Interface  string `json:"interface"`
	BSS
	// The end of what went wrong last: with the controller, or in reading the BSS. Empty since either went well again.
	LastError string `json:"last_error,omitempty"`
	// Why a controller cannot set EDCA parameters; empty if it can.
	Refusal string `json:"refusal,omitempty"`
	// The same of what is announced to the stations.
	StationsRefusal string `json:"stations_refusal,omitempty"`
	// 0 while the access point's own values are in force.
	Generation uint64 `json:"edca_generation"`
	// The queues that have other values than the access point's own.
	Queues []edca.Queue `json:"queues"`
	// What is announced to the stations otherwise than the access point does of its own.
	Announced []edca.Queue `json:"announced"`
	Own       []edca.Queue `json:"own"`
	// Where the own values come from, for a person: nl80211 cannot read them.
	OwnSource string `json:"own_source"`
	// What the access point announces of its own.
	Stations []edca.Queue `json:"stations"`
	WMM      bool         `json:"wmm"`
	// Why these values are in force, for a person.
	Reason string `json:"reason"`
	// The controller's code, such as "REASON_CODE_UPLOADS"; empty if the reason is the agent's own.
	ReasonCode string `json:"reason_code,omitempty"`
	// The lease ends at this time or later: not every renewal is written. 0 while own values are in force.
	LeaseEndsUS int64 `json:"lease_ends_monotonic_us"`
	// Why the own values could not be written back; the agent tries again until they are.
	RestoreError string   `json:"restore_error,omitempty"`
	Counters     Counters `json:"counters"`
	// The last command that was refused.
	LastRefusal string `json:"last_refusal,omitempty"`
	// Devices are the stations of the last report, by what they take of the air, most first.
	Devices []Station `json:"devices,omitempty"`
	// Mode is the controller's, of this cell: ModeObserve or ModeControl; empty if it is not known.
	Mode string `json:"mode,omitempty"`
	// Before is the last period with the other mode that was long enough to say something; nil if there is none.
	Before *Period `json:"before,omitempty"`
	// Since is the period that lasts; nil while the mode is not known.
	Since *Period `json:"since,omitempty"`
	// Check is the last that was asked for here; nil since the agent's start if none was.
	Check *Check `json:"check,omitempty"`
	// Nil from an agent that may not follow its stations' connections: --window-clamp is not given.
	Windows *Windows `json:"windows,omitempty"`
	// Nil from an agent that may give packets no other category: --no-station-flows is given.
	StationFlows *StationFlows `json:"station_flows,omitempty"`
}

// Leased is what is said of a controller's set that is in force under a lease.
type Leased struct {
	// Why a controller cannot have one here; empty if it can.
	Refusal string `json:"refusal,omitempty"`
	// 0 while none is in force.
	Generation uint64 `json:"generation"`
	// Stations are those that the set is about.
	Stations int `json:"stations"`
	// As those of EDCA parameters.
	LeaseEndsUS int64  `json:"lease_ends_monotonic_us"`
	Reason      string `json:"reason"`
	ReasonCode  string `json:"reason_code,omitempty"`
	// Since the agent started.
	CommandsRefused uint64 `json:"commands_refused_total"`
	LastRefusal     string `json:"last_refusal,omitempty"`
	SetsApplied     uint64 `json:"sets_applied_total"`
	ApplyFailures   uint64 `json:"apply_failures_total"`
	LeasesEnded     uint64 `json:"leases_ended_total"`
}

// BSS is what the last report said. It is written at once when something but the time has changed, the time at the
// latest after 10 s.
type BSS struct {
	BSSID string `json:"bssid,omitempty"`
	SSID  string `json:"ssid,omitempty"`
	// FrequencyMHz is the primary channel's; 0 while there is none.
	FrequencyMHz uint32 `json:"frequency_mhz,omitempty"`
	// Band is "2.4 GHz" or so; empty if it is not known.
	Band string `json:"band,omitempty"`
	// Links are the IDs of the links of a multi-link device.
	Links            []uint32 `json:"links,omitempty"`
	StationsReported int      `json:"stations_reported"`
	// LastReportUS is CLOCK_MONOTONIC; 0 if nothing was reported yet.
	LastReportUS int64 `json:"last_report_us"`
}

// Counters count since the agent started.
type Counters struct {
	CommandsRefused uint64 `json:"commands_refused_total"`
	// Sets of any kind that came faster than they are executed: the last of them is, soon after.
	SetsHeldBack      uint64 `json:"sets_held_back_total"`
	SetsApplied       uint64 `json:"sets_applied_total"`
	AppliedAgain      uint64 `json:"applied_again_total"`
	ApplyFailures     uint64 `json:"apply_failures_total"`
	LeasesEnded       uint64 `json:"leases_ended_total"`
	OwnNotRestored    uint64 `json:"own_values_not_restored_total"`
	StateWritesFailed uint64 `json:"state_writes_failed_total"`
}

// ParseState reads a state file.
func ParseState(text []byte) (State, error) {
	// The version first: the fields of another one may not parse.
	var version struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return State{}, fmt.Errorf("parse the state file: %w", err)
	}
	if version.Schema != Schema {
		return State{}, fmt.Errorf("parse the state file: its schema is %d, this program reads %d",
			version.Schema, Schema)
	}
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		return State{}, fmt.Errorf("parse the state file: %w", err)
	}
	return state, nil
}
