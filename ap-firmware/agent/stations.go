// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net/netip"
	"reflect"
	"slices"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/ap-firmware/windows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	// stationsSavedUS is the time between two accounts of the stations: the page of LuCI asks as often.
	stationsSavedUS = 5_000_000
	// uploadKbpsMin is less than a sender of interest sends, and more than a station in a drawer.
	uploadKbpsMin = 100
	// acksOf: of what a station receives, its ACKs are less than this part (66 of 3028 octets: RFC 5681, 4.2).
	acksOf = 10
)

// counted is what a station's counters were, and when.
type counted struct {
	rxBytes, txBytes, airtimeUS uint64
	atUS                        int64
}

// stationAccount is what the stations did since the last account.
type stationAccount struct {
	before  map[mac.Address]counted
	sinceUS int64
	rows    []status.Station
	// elapsedUS is the time that rows are of if the last report made them; else 0.
	elapsedUS int64
}

// reported takes over a report, and returns whether the account is another one. A station that comes or goes is in it,
// or not, at once.
func (s *stationAccount) reported(nowUS int64, stations []*airboundv1.Station) bool {
	isDue := nowUS-s.sinceUS >= stationsSavedUS
	known := make(map[string]status.Station, len(s.rows))
	for _, each := range s.rows {
		known[each.MAC] = each
	}
	rows := make([]status.Station, 0, len(stations))
	next := make(map[mac.Address]counted, len(stations))
	for _, station := range stations {
		address := mac.Address(station.GetMac())
		before, isKnown := s.before[address]
		now := countersOf(nowUS, station)
		switch {
		// Of a station that was not there, or began anew, nothing is known yet.
		case !isKnown || now.isNotAfter(before):
			next[address] = now
			rows = append(rows, row(station, counted{}))
		case isDue:
			next[address] = now
			rows = append(rows, row(station, now.since(before)))
		default:
			next[address] = before
			rows = append(rows, known[address.String()])
		}
	}
	slices.SortFunc(rows, status.ByAir)
	isNews := !reflect.DeepEqual(rows, s.rows)
	s.before, s.rows = next, rows
	s.elapsedUS = 0
	if isDue {
		s.elapsedUS, s.sinceUS = nowUS-s.sinceUS, nowUS
	}
	return isNews
}

func countersOf(nowUS int64, station *airboundv1.Station) counted {
	return counted{
		station.GetRxBytes(), station.GetTxBytes(), station.GetRxAirtimeUs() + station.GetTxAirtimeUs(), nowUS,
	}
}

// isNotAfter reports whether a counter was greater before.
func (c counted) isNotAfter(before counted) bool {
	return c.rxBytes < before.rxBytes || c.txBytes < before.txBytes || c.airtimeUS < before.airtimeUS
}

// since is what was counted after `before`, and how long that took.
func (c counted) since(before counted) counted {
	return counted{
		c.rxBytes - before.rxBytes, c.txBytes - before.txBytes, c.airtimeUS - before.airtimeUS, c.atUS - before.atUS,
	}
}

// row is a station that did something in the time that `did` has.
func row(station *airboundv1.Station, did counted) status.Station {
	elapsedUS := max(did.atUS, 1)
	const bitsPerByte, usPerMS, percent = 8, 1000, 100
	kbps := func(bytes uint64) uint64 {
		return bytes * bitsPerByte * usPerMS / uint64(elapsedUS) //nolint:gosec // positive
	}
	r := status.Station{
		MAC: mac.Address(station.GetMac()).String(), SignalDBm: station.SignalDbm,
		UpPHYKbps: station.GetRxBitrateKbps(), DownPHYKbps: station.GetTxBitrateKbps(),
		UpKbps: kbps(did.rxBytes), DownKbps: kbps(did.txBytes),
		AirPercent: min(percent, percent*float64(did.airtimeUS)/float64(elapsedUS)),
	}
	r.Uploads = r.UpKbps >= uploadKbpsMin && r.UpKbps > r.DownKbps/acksOf
	for _, octets := range station.GetIpAddresses() {
		if address, is := netip.AddrFromSlice(octets); is {
			r.Addresses = append(r.Addresses, address.String())
		}
	}
	r.SRTTUS, r.MinRTTUS = rtts(station.GetDestinations())
	return r
}

// rtts are the means over the connections that send.
func rtts(destinations []*airboundv1.StationDestination) (srttUS, minUS uint32) {
	var srtt, least, connections uint64
	for _, each := range destinations {
		if each.GetSrttUs() == 0 || each.GetMinRttUs() == 0 {
			continue
		}
		n := uint64(each.GetConnectionsSending())
		srtt += n * uint64(each.GetSrttUs())
		least += n * uint64(each.GetMinRttUs())
		connections += n
	}
	if connections == 0 {
		return 0, 0
	}
	return uint32(srtt / connections), uint32(least / connections) //nolint:gosec // means of values of 32 bits
}

// limited returns the account with the limits in force.
func (s *stationAccount) limited(limits []windows.Limit) []status.Station {
	most := make(map[string]uint32, len(limits))
	for _, limit := range limits {
		address := limit.Station.String()
		most[address] = max(most[address], limit.MaxBytes)
	}
	rows := slices.Clone(s.rows)
	for i := range rows {
		rows[i].LimitBytes = most[rows[i].MAC]
	}
	return rows
}
