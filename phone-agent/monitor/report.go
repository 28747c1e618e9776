// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"cmp"
	"math"
	"slices"

	"github.com/airbound/airbound/phone-agent/applications"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// DestinationsReported is the most destinations a report names: the most active ones.
const DestinationsReported = 256

// view is a destination's connections summed up; the fields are those of airboundv1.Destination.
type view struct {
	connections        uint32
	connectionsSending uint32
	grew               bool
	srttUS             uint32
	minRTTUS           uint32
	cwndSegs           uint32
	ssthreshSegs       uint32
	mssBytes           uint32
	total              totals
	queuedBytes        uint64
	uids               []uint32
	// What is of each class; that of the default is not used.
	parts [applications.ClassCount]part
}

// part is what is of one class; the fields are those of airboundv1.ClassPart.
type part struct {
	connections        uint32
	connectionsSending uint32
	deliveredBytes     uint64
	queuedBytes        uint64
	uids               []uint32
}

func (d *destination) summarise() view {
	var v view
	for class, closed := range d.closed {
		v.total = v.total.plus(closed)
		v.parts[class].deliveredBytes = closed.bytes
	}
	var cwnd, ssthresh uint64
	var sending, all mean
	for _, connection := range d.connections {
		carried, own := connection.carried(), &v.parts[connection.class]
		v.total = v.total.plus(carried)
		own.deliveredBytes = saturatingAdd(own.deliveredBytes, carried.bytes)
		if !connection.present {
			continue
		}
		last := &connection.last
		v.connections++
		own.connections++
		v.grew = v.grew || connection.grew
		all.add(last.SRTTUS)
		if queued := last.QueuedBytes(); queued > 0 {
			v.connectionsSending++
			v.queuedBytes = saturatingAdd(v.queuedBytes, queued)
			own.connectionsSending++
			own.queuedBytes = saturatingAdd(own.queuedBytes, queued)
			sending.add(last.SRTTUS)
		}
		v.minRTTUS = smallestSet(v.minRTTUS, last.MinRTTUS)
		v.mssBytes = smallestSet(v.mssBytes, last.MSSBytes)
		cwnd += uint64(last.CwndSegs)
		ssthresh += uint64(last.SsthreshSegs)
		v.uids = append(v.uids, last.UID)
		own.uids = append(own.uids, last.UID)
	}
	v.srttUS = all.value()
	if sending.count > 0 {
		v.srttUS = sending.value()
	}
	v.cwndSegs = uint32(min(cwnd, math.MaxUint32))
	// One connection without a threshold makes the destination one without: the sum is "not set" as well.
	v.ssthreshSegs = uint32(min(ssthresh, SsthreshUnset))
	v.uids = sorted(v.uids)
	for class := range v.parts {
		v.parts[class].uids = sorted(v.parts[class].uids)
	}
	return v
}

// sorted has each once.
func sorted(uids []uint32) []uint32 {
	slices.Sort(uids)
	return slices.Compact(uids)
}

// mean is the mean of the RTT samples that exist; 0 stands for none.
type mean struct{ sum, count uint64 }

func (m *mean) add(sampleUS uint32) {
	if sampleUS > 0 {
		m.sum += uint64(sampleUS)
		m.count++
	}
}

func (m *mean) value() uint32 {
	if m.count == 0 {
		return 0
	}
	return uint32(m.sum / m.count) //nolint:gosec // a mean of 32-bit values fits 32 bits
}

// smallestSet returns the smaller; 0 stands for "not known".
func smallestSet(a, b uint32) uint32 {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// Report returns the destinations of a report: at most DestinationsReported, those being sent to first, then by queued
// and by delivered bytes. It remembers their RTTs for RTTRatioMoved. The messages are new at every call.
func (a *Aggregator) Report() []*airboundv1.Destination {
	known := make([]*destination, 0, len(a.destinations))
	for _, entry := range a.destinations {
		known = append(known, entry)
		entry.reported = rtts{}
	}
	slices.SortFunc(known, moreActive)
	known = known[:min(len(known), DestinationsReported)]
	messages := make([]*airboundv1.Destination, len(known))
	for i, entry := range known {
		messages[i] = entry.message()
		entry.reported = rtts{entry.view.srttUS, entry.view.minRTTUS}
	}
	return messages
}

func moreActive(x, y *destination) int {
	return cmp.Or(
		cmp.Compare(rank(y.sending), rank(x.sending)),
		cmp.Compare(y.view.queuedBytes, x.view.queuedBytes),
		cmp.Compare(y.view.connections, x.view.connections),
		cmp.Compare(y.view.total.bytes, x.view.total.bytes),
		x.address.Compare(y.address),
	)
}

func rank(sending bool) int {
	if sending {
		return 1
	}
	return 0
}

func (d *destination) message() *airboundv1.Destination {
	v := &d.view
	return &airboundv1.Destination{
		Address:            d.address.AsSlice(),
		Connections:        v.connections,
		ConnectionsSending: v.connectionsSending,
		SrttUs:             v.srttUS,
		MinRttUs:           v.minRTTUS,
		CwndSegs:           v.cwndSegs,
		SsthreshSegs:       v.ssthreshSegs,
		MssBytes:           v.mssBytes,
		DeliveredBytes:     v.total.bytes,
		QueuedBytes:        v.queuedBytes,
		Events: &airboundv1.EventCounts{
			LocalCongestion: v.total.events.LocalCongestion,
			DuplicateAck:    v.total.events.DupAck,
			Sack:            v.total.events.Sack,
			FastRetransmit:  v.total.events.FastRetransmit,
			Timeout:         v.total.events.Timeout,
			Undo:            v.total.events.Undo,
		},
		Uids:    slices.Clone(v.uids),
		Classes: v.classParts(),
	}
}

// classParts has one for each class but the default that there is or was a connection of.
func (v *view) classParts() []*airboundv1.ClassPart {
	var parts []*airboundv1.ClassPart
	for class := applications.Default + 1; class < applications.ClassCount; class++ {
		if own := &v.parts[class]; own.connections > 0 || own.deliveredBytes > 0 {
			parts = append(parts, &airboundv1.ClassPart{
				ApplicationClass:   airboundv1.ApplicationClass(class),
				Connections:        own.connections,
				ConnectionsSending: own.connectionsSending,
				DeliveredBytes:     own.deliveredBytes,
				QueuedBytes:        own.queuedBytes,
				Uids:               slices.Clone(own.uids),
			})
		}
	}
	return parts
}
