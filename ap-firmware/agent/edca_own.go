// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func (q *queues) settings() hostapd.Settings {
	if settings := q.cfg.Settings(); settings != nil {
		return *settings
	}
	return hostapd.DefaultSettings(q.wmmSeen)
}

// source is where the own values come from, for people.
func (q *queues) source() string {
	switch {
	case q.cfg.ConfigPath == "":
		return "hostapd's defaults, since no --hostapd-config is given"
	case q.cfg.Settings() == nil:
		return "hostapd's defaults, since " + q.cfg.ConfigPath + " could not be read"
	default:
		return q.cfg.ConfigPath + ", and hostapd's defaults for what it does not set"
	}
}

// ownNow returns what hostapd's configuration says, and the values that return when a lease ends.
func (q *queues) ownNow() (settings hostapd.Settings, own edca.Values) {
	settings = q.settings()
	settings.Stations = q.stationsNow(settings)
	if len(q.touched) > 0 {
		return settings, q.own
	}
	return settings, settings.Own
}

// stationsNow returns what the access point announces of its own.
func (q *queues) stationsNow(settings hostapd.Settings) edca.Values {
	if len(q.announced.touched) > 0 {
		return q.announced.own
	}
	return settings.Stations
}

// readOwn reads the own values of what is not set yet.
func (q *queues) readOwn() {
	settings := q.settings()
	if len(q.touched) == 0 {
		q.own = settings.Own
	}
	if len(q.announced.touched) == 0 {
		q.announced.own, q.announced.current = settings.Stations, settings.Stations
	}
}

// isLeft reports whether anything may have other values than its own.
func (q *queues) isLeft() bool { return len(q.touched)+len(q.announced.touched) > 0 }

// recordOf is what must be written back if the agent ends without doing so.
func (q *queues) recordOf(own, announced []edca.Category, deadlineUS int64) edca.Record {
	return edca.Record{
		Schema: edca.RecordSchema, Agent: q.cfg.AgentName, Interface: q.cfg.State.Interface, Own: q.own.Of(own),
		OwnStations: q.announced.own.Of(announced),
		Announced:   q.announced.own.With(q.lease.Announced()).Of(announced), DeadlineUS: deadlineUS,
	}
}

// takeOver makes the values of an earlier agent's record those that must be written back.
func (q *queues) takeOver(left *edca.Record) {
	settings := q.settings()
	q.own, q.touched = settings.Own.With(left.Own), edca.CategoriesOf(left.Own)
	q.announced.own = settings.Stations.With(left.OwnStations)
	q.announced.current = q.announced.own.With(left.Announced)
	q.announced.touched = edca.CategoriesOf(left.OwnStations)
}

// message is what a report says.
func (q *queues) message() *airboundv1.EdcaState {
	settings, own := q.ownNow()
	refusal, stationsRefusal := q.cannot(), q.cannotAnnounce()
	return &airboundv1.EdcaState{
		CanSet: refusal == "", Refusal: refusal, Generation: q.lease.InForce().Generation,
		Own: own.Messages(), Stations: settings.Stations.Messages(), Wmm: settings.WMM,
		RefusedTotal:   q.account.state.Counters.CommandsRefused,
		CanSetStations: stationsRefusal == "", StationsRefusal: stationsRefusal,
		TakesPriorities: stationsRefusal == "",
	}
}

// describe fills in the status.
func (q *queues) describe(state *status.State) {
	settings, own := q.ownNow()
	state.Refusal, state.StationsRefusal, state.OwnSource = q.cannot(), q.cannotAnnounce(), q.source()
	state.Generation, state.LeaseEndsUS = q.lease.InForce().Generation, q.lease.InForce().DeadlineUS
	state.Queues = append([]edca.Queue{}, q.lease.Queues()...) // Never null in JSON.
	state.Announced = append([]edca.Queue{}, q.lease.Announced()...)
	state.Own, state.Stations, state.WMM = own.Queues(), settings.Stations.Queues(), settings.WMM
}
