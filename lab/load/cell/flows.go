// SPDX-License-Identifier: Apache-2.0

package cell

import (
	"math"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	// FlowsMax is how many addresses a terminal may send to: so many have different ones, see Parameters.destination.
	FlowsMax = 64
	// livePerUS is what a live flow sends, if it has so much: 0.7 Mb/s, what a controller takes one to need.
	livePerUS = 0.7 / 8
	firstUID  = 10_001
)

// classes are those of a terminal's flows in turn.
var classes = []airboundv1.ApplicationClass{
	airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE, airboundv1.ApplicationClass_APPLICATION_CLASS_BURST,
	airboundv1.ApplicationClass_APPLICATION_CLASS_BULK, airboundv1.ApplicationClass_APPLICATION_CLASS_BACKGROUND,
}

// flow is an application's TCP connection to an address of its own.
type flow struct {
	address   []byte
	minRTTUS  uint32
	uids      []uint32
	class     airboundv1.ApplicationClass
	delivered float64
}

func newFlows(p Parameters, cell, terminal int, ownDelayUS int64) []flow {
	flows := make([]flow, max(1, p.Flows))
	for i := range flows {
		address, minRTTUS := p.destination(cell, terminal, i)
		flows[i] = flow{
			address:  address.AsSlice(),
			minRTTUS: uint32(minRTTUS + ownDelayUS), //nolint:gosec // milliseconds
			uids:     []uint32{firstUID + uint32(i)},
		}
		if p.Classes {
			flows[i].class = classes[i%len(classes)]
		}
	}
	return flows
}

// rates are what each flow sends of a terminal's bytes: live ones what they need, the others the same of the rest.
func (t *Terminal) rates() (livePerUSEach, otherPerUSEach float64) {
	whole, live := t.cell.bytesPerUS(), 0
	for i := range t.flows {
		if t.flows[i].class == airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE {
			live++
		}
	}
	equal := whole / float64(len(t.flows))
	if live == 0 || live == len(t.flows) || livePerUS >= equal {
		return equal, equal
	}
	return livePerUS, (whole - float64(live)*livePerUS) / float64(len(t.flows)-live)
}

// bytesPerUS is what one of its flows sends.
func (t *Terminal) bytesPerUS(f *flow) float64 {
	live, other := t.rates()
	if f.class == airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE {
		return live
	}
	return other
}

func (t *Terminal) fill(f *flow, d *airboundv1.Destination) {
	d.Address = f.address
	d.Connections = 1
	d.SrttUs = uint32(float64(f.minRTTUS) * t.ratio)
	d.MinRttUs = f.minRTTUS
	d.MssBytes = segmentBytes
	d.DeliveredBytes = uint64(f.delivered)
	d.SsthreshSegs = math.MaxInt32
	d.Uids = f.uids
	if t.sending {
		inFlight := t.bytesPerUS(f) * float64(d.GetSrttUs())
		d.ConnectionsSending = 1
		d.CwndSegs = uint32(inFlight/segmentBytes) + 1
		d.QueuedBytes = uint64(inFlight) + 1
	} else {
		const initialWindow = 10
		d.ConnectionsSending, d.CwndSegs, d.QueuedBytes = 0, initialWindow, 0
	}
	d.Events.Sack = d.GetDeliveredBytes() >> 20
	if f.class == airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED {
		return
	}
	if len(d.GetClasses()) != 1 {
		d.Classes = []*airboundv1.ClassPart{{}}
	}
	part := d.GetClasses()[0]
	part.ApplicationClass, part.Connections, part.ConnectionsSending = f.class, 1, d.GetConnectionsSending()
	part.DeliveredBytes, part.QueuedBytes = d.GetDeliveredBytes(), d.GetQueuedBytes()
	part.Uids = f.uids
}

// setFlows takes a set of the controller over, as the phone agent does, or refuses it.
func (t *Terminal) setFlows(nowUS int64, set *airboundv1.SetFlows) {
	again := set.GetGeneration() == t.flowsGeneration && t.flowsGeneration != 0
	if !again && set.GetGeneration() <= t.flowsGenerated || !leaseAllowed(set.GetLeaseMs()) ||
		len(set.GetFlows()) > FlowsMax {
		t.refused++
		return
	}
	t.flowsGenerated = set.GetGeneration()
	if len(set.GetFlows()) == 0 {
		t.flowsGeneration = 0
	} else {
		t.flowsGeneration, t.flowsEndUS = set.GetGeneration(), leaseEnd(nowUS, set.GetLeaseMs())
	}
}
