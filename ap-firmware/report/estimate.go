// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Airtime of a driver that measures none is estimated from what moved since the last sample, at the current rate:
//
//	frames  = packets + retries                        (retries: downlink only, the uplink's are not visible)
//	bytes   = payload * frames / packets               (a retry is as long as the mean packet)
//	airtime = frames * preamble + 8 * (bytes + 4 * frames) / rate + packets * (SIFS + ACK)
//
// mac80211 counts the bytes of whole MPDUs without their 4 octets of FCS. Preamble and header of a PPDU take 20 us with
// OFDM (IEEE 802.11-2020, 17.3.2) and 192 us with DSSS and CCK at long preamble (15.2.2). An ACK is sent at the highest
// of 24, 12 and 6 Mb/s, or of 2 and 1 Mb/s, that is not above the frame's rate (10.6.6.5.2), a SIFS after the frame; a
// frame that was lost, and is a retry's, has none. Nothing of this is added with 802.11n and later, where one preamble
// and one block ACK serve an aggregate of unknown length: with aggregates the estimate is low by them. Neither backoff
// nor a collision's airtime on the uplink is included.
const (
	preambleOFDMUS = 20
	preambleCCKUS  = 192
	fcsBytes       = 4
)

type airtime struct {
	rxUS, txUS uint64
	source     airboundv1.AirtimeSource
}

// estimator has one accumulator for each station, and records whether the driver measures. mac80211 reports an airtime
// of 0 for a driver that measures none, so only a value above 0, of any station, proves that it does.
type estimator struct {
	stations               map[mac.Address]accumulators
	measuresRX, measuresTX bool
}

type accumulators struct {
	rx, tx           accumulator
	rxMeter, txMeter meter
}

// accumulator is what one direction of one station had in the last sample that could be used.
type accumulator struct {
	bytes            uint64
	packets, retries uint32
	airtimeUS        uint64
}

// direction is one direction of one station now.
type direction struct {
	bytes            uint64
	packets, retries uint32
	rate             nl80211.Bitrate
	measuredUS       *uint64
}

// next returns the airtimes in the order of the stations and drops the stations that are gone. nowUS is when they were
// sampled.
func (e *estimator) next(nowUS uint64, stations []nl80211.Station) []airtime {
	for i := range stations {
		e.measuresRX = e.measuresRX || isPositive(stations[i].RXAirtimeUS)
		e.measuresTX = e.measuresTX || isPositive(stations[i].TXAirtimeUS)
	}
	airtimes, now := make([]airtime, len(stations)), make(map[mac.Address]accumulators, len(stations))
	for i := range stations {
		each := &stations[i]
		rx := direction{each.RXBytes, each.RXPackets, 0, each.RXBitrate, each.RXAirtimeUS}
		tx := direction{each.TXBytes, each.TXPackets, each.TXRetries, each.TXBitrate, each.TXAirtimeUS}
		// For a driver that reports one rate only, it is used for both directions.
		if rx.rate.Kbps == 0 {
			rx.rate = tx.rate
		}
		if tx.rate.Kbps == 0 {
			tx.rate = rx.rate
		}
		before := e.stations[each.MAC]
		after := accumulators{
			rx: before.rx.next(rx), tx: before.tx.next(tx), rxMeter: before.rxMeter, txMeter: before.txMeter,
		}
		airtimes[i] = e.choose(nowUS, rx, tx, &after)
		now[each.MAC] = after
	}
	e.stations = now
	return airtimes
}

// unmeasuredUS is how much airtime a direction must have had, by the estimate, before a duration of 0, or one that
// stands still, is no measurement although the driver measures others: it may have none of frames that hardware
// forwards, or of one kind of peer.
const unmeasuredUS = 50_000

// choose prefers what the driver measured, each direction by itself.
func (e *estimator) choose(nowUS uint64, rx, tx direction, estimated *accumulators) airtime {
	chosen := airtime{
		rxUS: estimated.rx.airtimeUS, txUS: estimated.tx.airtimeUS,
		source: airboundv1.AirtimeSource_AIRTIME_SOURCE_ESTIMATED,
	}
	// Whether the driver is known to measure any station in this direction, and this one.
	measuredRX, measuredTX := e.measuresRX && rx.measuredUS != nil, e.measuresTX && tx.measuredUS != nil
	if measuredRX {
		chosen.rxUS, measuredRX = estimated.rxMeter.next(nowUS, *rx.measuredUS, estimated.rx.airtimeUS)
	}
	if measuredTX {
		chosen.txUS, measuredTX = estimated.txMeter.next(nowUS, *tx.measuredUS, estimated.tx.airtimeUS)
	}
	if measuredRX && measuredTX {
		chosen.source = airboundv1.AirtimeSource_AIRTIME_SOURCE_MEASURED
	}
	return chosen
}

func isPositive(us *uint64) bool { return us != nil && *us > 0 }

// next adds what moved. Counters that decreased belong to a new association. What moves while no rate is known is added
// once one is.
func (a accumulator) next(now direction) accumulator {
	if now.bytes < a.bytes || now.packets < a.packets || now.retries < a.retries {
		a = accumulator{}
	}
	if now.rate.Kbps == 0 {
		return a
	}
	moved := direction{now.bytes - a.bytes, now.packets - a.packets, now.retries - a.retries, now.rate, nil}
	return accumulator{
		bytes: now.bytes, packets: now.packets, retries: now.retries, airtimeUS: a.airtimeUS + moved.estimateUS(),
	}
}

func (d direction) estimateUS() uint64 {
	if d.packets == 0 {
		return 0
	}
	const usPerMS, bitsPerByte = 1000, 8
	packets, frames := float64(d.packets), float64(d.packets)+float64(d.retries)
	bits := bitsPerByte * (float64(d.bytes)*frames/packets + fcsBytes*frames)
	// Bits by kb/s are milliseconds. 2^64 bytes at 1 kb/s would not fit, but 64-bit counters do not get there.
	us := frames*preambleUS(d.rate) + packets*ackUS(d.rate) + bits/float64(d.rate.Kbps)*usPerMS
	return uint64(min(us, airtimeUSMax))
}

// airtimeUSMax is 31 years: only wrong counters lead to it.
const airtimeUSMax = 1e15

func preambleUS(rate nl80211.Bitrate) float64 {
	switch {
	case rate.Aggregated():
		return 0
	case rate.Kbps <= 2000, rate.Kbps == 5500, rate.Kbps == 11_000:
		return preambleCCKUS
	default:
		return preambleOFDMUS
	}
}

// ackUS is how long a SIFS and the ACK of a single frame take: 14 octets, after a SIFS of 16 us (OFDM; 10 us and a
// signal extension of 6 us in the 2.4 GHz band) or 10 us.
func ackUS(rate nl80211.Bitrate) float64 {
	switch {
	case rate.Aggregated():
		return 0
	case rate.Kbps < 2000:
		return 10 + 192 + 112
	case rate.Kbps == 2000, rate.Kbps == 5500, rate.Kbps == 11_000:
		return 10 + 192 + 56
	case rate.Kbps < 12_000:
		return 16 + 44
	case rate.Kbps < 24_000:
		return 16 + 32
	default:
		return 16 + 28
	}
}
