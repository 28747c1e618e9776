// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// setOf takes a SetBounds off the wire as it is; checking it is the business of package bounds.
func setOf(message *airboundv1.SetBounds) bounds.Set {
	set := bounds.Set{
		Generation: message.GetGeneration(),
		LeaseMS:    message.GetLeaseMs(),
		Reason:     message.GetReason(),
		Bounds:     make([]bounds.Bound, len(message.GetBounds())),
	}
	for i, bound := range message.GetBounds() {
		set.Bounds[i] = boundOf(bound)
	}
	return set
}

func boundOf(message *airboundv1.Bound) bounds.Bound {
	bound := bounds.Bound{MinSegs: message.GetMinSegs(), MaxSegs: message.GetMaxSegs()}
	switch selector := message.GetSelector().(type) {
	case *airboundv1.Bound_All:
		bound.Kind, bound.All = bounds.All, selector.All
	case *airboundv1.Bound_DestinationPrefix:
		bound.Kind, bound.Prefix = bounds.Destination, selector.DestinationPrefix
	case *airboundv1.Bound_Uid:
		bound.Kind, bound.UID = bounds.UID, selector.Uid
	}
	return bound
}

func backEndMessage(can bounds.Capabilities) *airboundv1.BackEnd {
	return &airboundv1.BackEnd{
		Name:                 can.Name,
		CanSetMax:            can.CanSetMax,
		CanSetMin:            can.CanSetMin,
		CanSelectDestination: can.CanSelectDestination,
		CanSelectUid:         can.CanSelectUID,
		RulesMax:             can.RulesMax,
	}
}

// triggerOf names the weightiest of the changes.
func triggerOf(changes monitor.Changes) airboundv1.TerminalReportTrigger {
	switch {
	case changes.StartedSending:
		return airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING
	case changes.StoppedSending:
		return airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING
	case changes.RTTRatioBand:
		return airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_RTT_RATIO_BAND
	default:
		return airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL
	}
}

func backEndState(can bounds.Capabilities) status.BackEnd { return status.BackEnd(can) }
