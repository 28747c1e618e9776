// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

type (
	request  = airboundv1.AccessPointServiceConnectRequest
	response = airboundv1.AccessPointServiceConnectResponse
)

// agent turns what happens into reports. Everything that happens comes in through a channel; one goroutine runs it.
type agent struct {
	look func() (nl80211.Snapshot, error)
	// updates are hostapd's associations; refreshHostapd asks for them when the kernel's table tells otherwise.
	updates        <-chan hostapd.Update
	refreshHostapd func()
	// connected tells of each beginning and end of the stream to the controller, commands what comes through it.
	connected <-chan bool
	commands  <-chan *airboundv1.AccessPointCommand
	outgoing  chan<- *request

	reporter    report.Reporter
	malformed   *malformedInputs
	monotonicUS func() uint64
	interval    time.Duration
	logger      *slog.Logger

	isConnected   bool
	associations  hostapd.Associations
	lastLookError string
}

// run reports until ctx ends. While there is no controller nobody wants to know: nothing is looked at.
func (a *agent) run(ctx context.Context) {
	ticker := time.NewTicker(a.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case a.isConnected = <-a.connected:
			a.report(ctx, airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL)
		case <-ticker.C:
			a.report(ctx, airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL)
		case update := <-a.updates:
			if trigger := a.apply(update); trigger != airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED {
				a.report(ctx, trigger)
			}
		case command := <-a.commands:
			a.obey(command)
			ticker.Reset(a.interval)
		}
	}
}

// apply takes in every update that waits, so that a crowd of stations costs one report.
func (a *agent) apply(update hostapd.Update) airboundv1.AccessPointReportTrigger {
	change := update.Change
	a.associations = update.Associations
	for {
		select {
		case update := <-a.updates:
			change.Joined, change.Left = change.Joined || update.Change.Joined, change.Left || update.Change.Left
			a.associations = update.Associations
			continue
		default:
		}
		switch {
		case change.Joined:
			return airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
		case change.Left:
			return airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT
		default:
			return airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED
		}
	}
}

func (a *agent) obey(command *airboundv1.AccessPointCommand) {
	asked := time.Duration(command.GetReportIntervalMs()) * time.Millisecond
	if asked == 0 {
		return
	}
	a.interval = min(max(asked, intervalMin), intervalMax)
	a.logger.Info("controller set the report interval", "asked", asked, "interval", a.interval)
}

func (a *agent) report(ctx context.Context, trigger airboundv1.AccessPointReportTrigger) {
	if !a.isConnected {
		return
	}
	snapshot, err := a.look()
	if err != nil {
		if text := err.Error(); text != a.lastLookError {
			a.logger.Warn("cannot look at the BSS", "error", err)
			a.lastLookError = text
		}
		return
	}
	a.lastLookError = ""
	if trigger == airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL && a.differs(snapshot.Stations) {
		a.refreshHostapd()
	}
	next := a.reporter.Next(report.Sample{
		MonotonicUS: a.monotonicUS(), Kernel: snapshot, IsAuthorized: a.isAuthorized(), Trigger: trigger,
		MalformedInputsTotal: a.malformed.count(),
	})
	select {
	case a.outgoing <- &request{Report: next}:
	case <-ctx.Done():
	}
}

func (a *agent) isAuthorized() func(string) bool {
	if !a.associations.Known() {
		return nil
	}
	return a.associations.Has
}

// differs tells whether the kernel's associated stations are others than hostapd's.
func (a *agent) differs(stations []nl80211.Station) bool {
	if !a.associations.Known() {
		return false
	}
	common := 0
	for i := range stations {
		switch {
		case !stations[i].Associated:
		case a.associations.Has(stations[i].MAC):
			common++
		default:
			return true
		}
	}
	return common != a.associations.Len()
}
