// SPDX-License-Identifier: Apache-2.0

// Package status is what `airbound-phone status` shows: the state that the running agent writes to its state directory,
// the rules in force in the kernel, and both as text.
package status

import (
	"encoding/json"
	"fmt"

	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/flows"
)

// Schema is the version of State's JSON. A reader refuses another.
const Schema = 2

// State is the running agent's account of what is in force and why. Times are on CLOCK_BOOTTIME, which is the same for
// every process and which does not stop while the phone sleeps.
type State struct {
	Schema    int    `json:"schema"`
	Version   string `json:"version"`
	PID       int    `json:"pid"`
	WrittenUS int64  `json:"written_boottime_us"`
	// Set by the last write of an agent that ended in order.
	Stopped    bool   `json:"stopped"`
	Controller string `json:"controller"`
	Connected  bool   `json:"connected"`
	Interface  string `json:"interface,omitempty"`
	MAC        string `json:"mac"`
	// The access point and the network that the interface is connected to; empty if not known.
	BSSID   string              `json:"bssid,omitempty"`
	SSID    string              `json:"ssid,omitempty"`
	BackEnd bounds.Capabilities `json:"back_end"`
	Starts  Starts              `json:"starts"`
	// 0 while the kernel's defaults are in force.
	Generation uint64        `json:"bounds_generation"`
	Rules      []bounds.Rule `json:"rules"`
	// Why these bounds are in force, or why none are, for a person.
	Reason string `json:"reason"`
	// The controller's code, such as "REASON_CODE_ACTIVE_SENDERS"; empty if the reason is the agent's own.
	ReasonCode string `json:"reason_code,omitempty"`
	// What the bounds were computed from; 0 without bounds.
	ActiveSenders uint32 `json:"active_senders"`
	CapacityBPS   uint64 `json:"capacity_bps"`
	// The lease ends at this time or later: not every renewal is written. 0 without bounds.
	LeaseEndsUS int64 `json:"lease_ends_boottime_us"`
	// Why the kernel's defaults could not be restored; the agent tries again until they are.
	RestoreError string `json:"restore_error,omitempty"`
	// The last time that the phone arrived somewhere; nil if it did not since the agent started.
	LastArrival *events.Event `json:"last_arrival,omitempty"`
	// How TCP is made to retransmit after an arrival; empty until the phone's link changes for the first time.
	Retransmission Retransmission `json:"retransmission"`
	// Downloads is what makes servers retransmit after an arrival; empty if nothing is to.
	Downloads Retransmission `json:"downloads,omitzero"`
	// The silence after the last arrival that was followed by one: until the first answer to a connection that waited.
	// 0 if there was none yet.
	LastSilenceMS uint64 `json:"last_silence_ms,omitempty"`
	// Nil without --applications.
	Applications *Applications `json:"applications,omitempty"`
	Flows        Flows         `json:"flows"`
	Counters     Counters      `json:"counters"`
	// The last input that was refused.
	LastRefusal string `json:"last_refusal,omitempty"`
}

// How the agent notices that a connection begins to send: trace events wake it, or not.
const (
	TraceEvents = "trace events"
	Sampling    = "sampling"
)

// Starts is how the agent notices that a connection begins to send.
type Starts struct {
	By string `json:"by"`
	// Why not by trace events.
	Why string `json:"why,omitempty"`
}

// Applications is what the table of classes is, and what of it could not be used.
type Applications struct {
	Table   string `json:"table"`
	Entries uint64 `json:"entries"`
	// Packages of the table that are not installed, and user ids that packages of different classes share.
	NotInstalled uint64 `json:"packages_not_installed"`
	Conflicts    uint64 `json:"user_ids_in_conflict"`
	// Lines of the table and of the list of packages that were left out.
	LinesRefused    uint64 `json:"lines_refused"`
	PackagesRefused uint64 `json:"packages_refused"`
	// Why connections' DSCPs could not be read the last time that this failed since the files were read; empty if it
	// has not.
	DSCPError string `json:"dscp_error,omitempty"`
	// What is wrong with the files; empty if nothing is.
	Error string `json:"error,omitempty"`
}

// Flows is how packets leave the phone.
type Flows struct {
	Can flows.Capabilities `json:"can"`
	// 0 while packets leave as they are.
	Generation uint64       `json:"generation"`
	InForce    []flows.Flow `json:"in_force"`
	// Why these flows are in force, or why none are, for a person; empty until there were any.
	Reason string `json:"reason,omitempty"`
	// As State.LeaseEndsUS.
	LeaseEndsUS int64 `json:"lease_ends_boottime_us"`
	// What the driver has admitted, in microseconds of each second; 0 where the access point does not demand admission.
	AdmittedUSPerS uint32 `json:"admitted_us_per_s"`
	// Why the last set could not be applied, or not all of it; empty if it could.
	Failure  string         `json:"failure,omitempty"`
	Counters flows.Counters `json:"counters"`
}

// TimersOnly is Retransmission.By where the agent has no way, or may not use it.
const TimersOnly = "timers"

// Retransmission is how TCP is made to retransmit after an arrival.
type Retransmission struct {
	// The name of an arrival.BackEnd, or TimersOnly.
	By string `json:"by,omitempty"`
	// Why TCP is left to its timers.
	Why string `json:"why,omitempty"`
}

// Counters count since the agent started.
type Counters struct {
	MonitorLinesRefused uint64 `json:"monitor_lines_refused_total"`
	MonitorReadsFailed  uint64 `json:"monitor_reads_failed_total"`
	// Samples without the DSCPs of connections that the table of classes has lines about.
	DSCPReadsFailed uint64 `json:"dscp_reads_failed_total"`
	CommandsRefused uint64 `json:"commands_refused_total"`
	RenewalsIgnored uint64 `json:"renewals_ignored_total"`
	SetsApplied     uint64 `json:"sets_applied_total"`
	// Sets that came faster than they are applied: the last of them is, soon after.
	SetsHeldBack        uint64 `json:"sets_held_back_total"`
	ApplyFailures       uint64 `json:"apply_failures_total"`
	LeasesEnded         uint64 `json:"leases_ended_total"`
	ExternalChanges     uint64 `json:"external_changes_total"`
	StateWritesFailed   uint64 `json:"state_writes_failed_total"`
	ControllerConnected uint64 `json:"controller_connected_total"`
	DefaultsNotRestored uint64 `json:"defaults_not_restored_total"`
	// Of sets of flows: how many were refused, could not be applied or not as a whole, and ended without another.
	FlowSetsRefused uint64 `json:"flow_sets_refused_total"`
	FlowFailures    uint64 `json:"flow_failures_total"`
	FlowLeasesEnded uint64 `json:"flow_leases_ended_total"`
	// How often trace events woke the agent.
	StartsSeen uint64 `json:"starts_seen_total"`
	// How often the phone arrived somewhere, how many further reports of the same arrivals there were, and how many
	// that were none.
	Arrivals        uint64 `json:"arrivals_total"`
	ArrivalsMerged  uint64 `json:"arrival_reports_merged_total"`
	ArrivalsRefused uint64 `json:"arrival_reports_refused_total"`
	// How many connections waited for their retransmission timers then, and how many of them sent at once.
	ArrivalsUnanswered uint64 `json:"arrivals_unanswered_total"`
	ArrivalsAtOnce     uint64 `json:"arrivals_at_once_total"`
	// How many messages that took, how many the kernel refused to send, and how many connections were left to their
	// timers since there were too many.
	ArrivalMessages        uint64 `json:"arrival_messages_total"`
	ArrivalMessagesRefused uint64 `json:"arrival_messages_refused_total"`
	ArrivalsUnsent         uint64 `json:"arrivals_unsent_total"`
	// How many arrivals were followed by an answer to a connection that waited, and how long that took altogether.
	ArrivalsAnswered uint64 `json:"arrivals_answered_total"`
	ArrivalSilenceMS uint64 `json:"arrival_silence_ms_total"`
	// How many downloads had stopped at an arrival, and how many of them went on within a second of messages to their
	// servers.
	DownloadsSilent  uint64 `json:"downloads_silent_total"`
	DownloadsResumed uint64 `json:"downloads_resumed_total"`
	// How many messages to servers that took, how many the kernel refused to send, and how many downloads were left to
	// their servers' timers since there were too many.
	ServerMessages        uint64 `json:"server_messages_total"`
	ServerMessagesRefused uint64 `json:"server_messages_refused_total"`
	DownloadsUnsent       uint64 `json:"downloads_unsent_total"`
}

// Malformed is the wire's malformed_inputs_total.
func (c Counters) Malformed() uint64 {
	return c.MonitorLinesRefused + c.CommandsRefused + c.ArrivalsRefused
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
		return State{}, fmt.Errorf(
			"parse the state file: its schema is %d, this program reads %d",
			version.Schema,
			Schema,
		)
	}
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		return State{}, fmt.Errorf("parse the state file: %w", err)
	}
	return state, nil
}
