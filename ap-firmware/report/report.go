// SPDX-License-Identifier: Apache-2.0

// Package report makes the controller's AccessPointReport of what the kernel and hostapd tell.
//
// It is pure: samples in, messages out; the time is part of the sample.
package report

import (
	"math"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Sample is one look at one BSS.
type Sample struct {
	// MonotonicUS is when the kernel was asked.
	MonotonicUS uint64
	Kernel      nl80211.Snapshot
	// IsAuthorized is hostapd's word about a station; nil while hostapd is away. A station that has left stays in the
	// kernel's table for a moment after hostapd told so.
	IsAuthorized         func(mac string) bool
	Trigger              airboundv1.AccessPointReportTrigger
	MalformedInputsTotal uint64
}

// Reporter makes the reports of one agent's life. The zero value with a version is ready.
type Reporter struct {
	AgentVersion string

	sequence uint64
	airtime  estimator
}

// Next makes the next report. Airtime that the driver does not measure is estimated; see estimate.go.
func (r *Reporter) Next(sample Sample) *airboundv1.AccessPointReport {
	r.sequence++
	stations := associated(sample)
	airtimes := r.airtime.next(stations)
	kernel := sample.Kernel.Interface
	report := &airboundv1.AccessPointReport{
		Bssid: kernel.MAC, Ssid: kernel.SSID, Interface: kernel.Name,
		Sequence: r.sequence, MonotonicUs: sample.MonotonicUS,
		Channel:  &airboundv1.Channel{CenterFrequencyMhz: kernel.CenterFrequencyMHz, WidthMhz: kernel.WidthMHz},
		Survey:   survey(sample.Kernel.Survey),
		Stations: make([]*airboundv1.Station, len(stations)),
		Trigger:  sample.Trigger, MalformedInputsTotal: sample.MalformedInputsTotal, AgentVersion: r.AgentVersion,
	}
	for i := range stations {
		report.Stations[i] = station(&stations[i], airtimes[i])
	}
	return report
}

// associated drops who is only authenticated, who has no keys yet, and who has left.
func associated(sample Sample) []nl80211.Station {
	stations := make([]nl80211.Station, 0, len(sample.Kernel.Stations))
	for _, each := range sample.Kernel.Stations {
		if each.Associated && (sample.IsAuthorized == nil || sample.IsAuthorized(each.MAC)) {
			stations = append(stations, each)
		}
	}
	return stations
}

func survey(in *nl80211.Survey) *airboundv1.ChannelSurvey {
	if in == nil || in.ActiveMS == nil {
		return nil
	}
	return &airboundv1.ChannelSurvey{
		ActiveUs: usOfMS(*in.ActiveMS), BusyUs: usOfMS(in.BusyMS), RxUs: usOfMS(in.RXMS), TxUs: usOfMS(in.TXMS),
	}
}

func usOfMS(ms uint64) uint64 {
	const usPerMS = 1000
	return min(ms, math.MaxUint64/usPerMS) * usPerMS
}

func station(in *nl80211.Station, air airtime) *airboundv1.Station {
	const msPerSecond = 1000
	out := &airboundv1.Station{
		Mac:     in.MAC,
		RxBytes: in.RXBytes, TxBytes: in.TXBytes,
		RxPackets: uint64(in.RXPackets), TxPackets: uint64(in.TXPackets),
		TxRetries: uint64(in.TXRetries), TxFailed: uint64(in.TXFailed),
		RxBitrateKbps: in.RXBitrate.Kbps, TxBitrateKbps: in.TXBitrate.Kbps,
		RxAirtimeUs: air.rxUS, TxAirtimeUs: air.txUS, AirtimeSource: air.source,
		ConnectedTimeMs: uint64(in.ConnectedSeconds) * msPerSecond,
	}
	if in.SignalDBM != nil {
		signalDBM := int32(*in.SignalDBM)
		out.SignalDbm = &signalDBM
	}
	return out
}
