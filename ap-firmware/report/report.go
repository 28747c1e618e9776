// SPDX-License-Identifier: Apache-2.0

// Package report makes AccessPointReports of what the kernel and hostapd report.
//
// It is pure: samples in, messages out; the time is part of the sample.
package report

import (
	"net/netip"
	"slices"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Sample is one sample of one BSS.
type Sample struct {
	// MonotonicUS is when the kernel was read, CLOCK_MONOTONIC.
	MonotonicUS uint64
	Kernel      nl80211.Snapshot
	// Addresses are the stations' IP addresses; nil if they could not be read.
	Addresses neighbours.Table
	// IsAuthorized reports whether hostapd has authorized a station; nil if only the kernel is known to say. A station
	// that has left stays in the kernel's table for a moment after hostapd reported its departure.
	IsAuthorized         func(station *nl80211.Station) bool
	Trigger              airboundv1.AccessPointReportTrigger
	MalformedInputsTotal uint64
	// EDCA is what the access point's queues do; nil if that is not known.
	EDCA *airboundv1.EdcaState
	// Recent is what stations sent in the last moment.
	Recent Recent
}

// Recent is what stations sent within a time before a sample; US is 0 if that is not known.
type Recent struct {
	US     uint64
	Uplink map[mac.Address]Uplink
}

// Uplink is what a station sent, and whether it has sent nothing for longer than it pauses.
type Uplink struct {
	Bytes, Packets uint64
	Silent         bool
}

// Reporter makes the reports of one run of an agent. The zero value with a version is ready.
type Reporter struct {
	AgentVersion string
	// EstimateAirtime makes every airtime an estimate, whatever the driver has.
	EstimateAirtime bool

	sequence uint64
	airtime  estimator
	surveys  surveys
	// links has the surveys of each link of a multi-link device, by its ID.
	links map[uint8]*surveys
}

// Next makes the next report. Airtime that the driver does not measure is estimated; see estimate.go.
func (r *Reporter) Next(sample Sample) *airboundv1.AccessPointReport {
	r.sequence++
	stations := associated(sample)
	if r.EstimateAirtime {
		for i := range stations {
			stations[i].RXAirtimeUS, stations[i].TXAirtimeUS = nil, nil
		}
	}
	airtimes := r.airtime.next(sample.MonotonicUS, stations)
	survey, refusal := r.surveys.next(sample.Kernel.Survey)
	kernel := sample.Kernel.Interface
	report := &airboundv1.AccessPointReport{
		Bssid: kernel.MAC[:], Ssid: kernel.SSID, Interface: kernel.Name,
		Sequence: r.sequence, MonotonicUs: sample.MonotonicUS,
		Channel: channel(kernel.Channel()),
		Survey:  survey, SurveyRefusal: refusal,
		Stations: make([]*airboundv1.Station, len(stations)),
		Trigger:  sample.Trigger, MalformedInputsTotal: sample.MalformedInputsTotal, AgentVersion: r.AgentVersion,
		Edca: sample.EDCA, RecentUs: sample.Recent.US,
	}
	r.addLinks(report, sample.Kernel)
	report.SurveysRefusedTotal = r.refusedSurveys()
	for i := range stations {
		report.Stations[i] = station(&stations[i], airtimes[i], sample.Addresses[stations[i].MAC])
		recent := sample.Recent.Uplink[stations[i].MAC]
		report.Stations[i].RecentRxBytes, report.Stations[i].RecentRxPackets = recent.Bytes, recent.Packets
		report.Stations[i].Silent = recent.Silent
	}
	return report
}

// associated leaves out stations that are only authenticated, that have no keys yet, and that have left.
func associated(sample Sample) []nl80211.Station {
	stations := make([]nl80211.Station, 0, len(sample.Kernel.Stations))
	for i := range sample.Kernel.Stations {
		each := &sample.Kernel.Stations[i]
		authorized := each.Authorized
		if sample.IsAuthorized != nil {
			authorized = sample.IsAuthorized(each)
		}
		if each.Associated && authorized {
			stations = append(stations, *each)
		}
	}
	return stations
}

func rateFormat(bitrate nl80211.Bitrate) airboundv1.RateFormat {
	switch {
	case bitrate.Format == nl80211.FormatHT:
		return airboundv1.RateFormat_RATE_FORMAT_HT
	case bitrate.Format == nl80211.FormatVHT:
		return airboundv1.RateFormat_RATE_FORMAT_VHT
	case bitrate.Format == nl80211.FormatHE:
		return airboundv1.RateFormat_RATE_FORMAT_HE
	case bitrate.Format == nl80211.FormatEHT:
		return airboundv1.RateFormat_RATE_FORMAT_EHT
	case bitrate.Kbps == 0:
		return airboundv1.RateFormat_RATE_FORMAT_UNSPECIFIED
	default:
		return airboundv1.RateFormat_RATE_FORMAT_LEGACY
	}
}

// aggregates returns whether a station's frames may be aggregated. Some drivers report no rates. 802.11n requires WMM,
// and hardly a station has WMM without it: then WMM decides. In a station that has WMM alone windows become too long
// for it, which costs delay; windows of single frames in a station that aggregates cost most of its throughput.
func aggregates(in *nl80211.Station) bool {
	if in.RXBitrate.Kbps == 0 && in.TXBitrate.Kbps == 0 {
		return in.WMM
	}
	return in.RXBitrate.Aggregated() || in.TXBitrate.Aggregated()
}

func station(in *nl80211.Station, air airtime, addresses []netip.Addr) *airboundv1.Station {
	const msPerSecond = 1000
	out := &airboundv1.Station{
		Mac:     slices.Clone(in.MAC[:]),
		RxBytes: in.RXBytes, TxBytes: in.TXBytes,
		RxPackets: uint64(in.RXPackets), TxPackets: uint64(in.TXPackets),
		TxRetries: uint64(in.TXRetries), TxFailed: uint64(in.TXFailed),
		RxBitrateKbps: in.RXBitrate.Kbps, TxBitrateKbps: in.TXBitrate.Kbps,
		RxAirtimeUs: air.rxUS, TxAirtimeUs: air.txUS, AirtimeSource: air.source,
		ConnectedTimeMs: uint64(in.ConnectedSeconds) * msPerSecond,
		Aggregates:      aggregates(in),
		RxRateFormat:    rateFormat(in.RXBitrate), TxRateFormat: rateFormat(in.TXBitrate),
		IpAddresses:   make([][]byte, len(addresses)),
		VlanInterface: in.VLAN, FourAddress: in.FourAddress,
		MultiLink: in.MultiLink, Links: linkBits(in.Links),
		CountsCategories: in.CountsTIDs, RxVideoPackets: in.RXVideo, RxVoicePackets: in.RXVoice,
	}
	for i, address := range addresses {
		out.IpAddresses[i] = address.AsSlice()
	}
	if in.SignalDBM != nil {
		signalDBM := int32(*in.SignalDBM)
		out.SignalDbm = &signalDBM
	}
	return out
}
