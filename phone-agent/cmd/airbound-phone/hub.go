// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"log/slog"
	"sync"

	"github.com/airbound/airbound/internal/sparselog"
	"github.com/airbound/airbound/phone-agent/events"
)

// hub is where every source reports arrivals. Reports of the same arrival become one event.
type hub struct {
	now    func() (nowUS int64)
	logger *slog.Logger
	// arrived is called with each event, after it was published; it must not wait.
	arrived func(events.Event)
	publish func(events.Event)
	// counted is called with each report, and with each input that is none (err).
	counted func(event events.Event, outcome events.Outcome, err error)

	mutex   sync.Mutex
	merger  events.Merger
	refused uint64
}

// report is called by a source, from any goroutine but the agent's.
func (h *hub) report(source events.Source, report events.Report) events.Outcome {
	h.mutex.Lock()
	event := events.Event{
		AtUS: h.now(), Source: source, Kind: report.Kind, Interface: report.Interface, Place: report.Place,
	}
	err := event.Check()
	var outcome events.Outcome
	if err == nil {
		outcome = h.merger.Add(event)
	}
	h.mutex.Unlock()
	switch {
	case err != nil:
		h.refuse(err)
		return events.TooMany
	case outcome == events.TooMany:
		h.refuse(errors.New("too many reports of arrivals from source " + string(source)))
		return outcome
	}
	h.counted(event, outcome, nil)
	if outcome == events.New {
		h.logger.Info("arrived", "source", string(source), "kind", string(event.Kind),
			"interface", event.Interface, "place", event.Place)
		h.publish(event)
		h.arrived(event)
	}
	return outcome
}

// refuse counts an input of a source that is no report.
func (h *hub) refuse(err error) {
	h.mutex.Lock()
	isLogged := sparselog.Add(&h.refused, 1)
	total := h.refused
	h.mutex.Unlock()
	if isLogged {
		h.logger.Warn("refused a report of an arrival", "error", err, "total", total)
	}
	h.counted(events.Event{}, events.TooMany, err)
}
