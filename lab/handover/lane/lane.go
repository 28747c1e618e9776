// SPDX-License-Identifier: Apache-2.0

// Package lane is what a guest of the study runs: rivals, each over a path of its own; pure.
package lane

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/airbound/airbound/lab/handover/path"
)

// Lane is one rival over one path: an interface of the phone, one of the server, and the forwarder between them.
type Lane struct {
	Name  string           `json:"name"`
	Rival string           `json:"rival"`
	Path  path.Description `json:"path"`
	// Phone and Server are the ends' addresses, in these network namespaces.
	Phone       netip.Addr `json:"phone"`
	Server      netip.Addr `json:"server"`
	PhoneSpace  string     `json:"phone_netns"`
	ServerSpace string     `json:"server_netns"`
	// Near and Far are the forwarder's interfaces towards phone and server.
	Near string `json:"near"`
	Far  string `json:"far"`
	// Records are sent, one each Period.
	Records int           `json:"records"`
	Period  time.Duration `json:"period_ns"`
}

// Plan is all that runs at a time.
type Plan struct {
	Lanes []Lane `json:"lanes"`
	// Drain is for how long the guest waits for records after the last one was due.
	Drain time.Duration `json:"drain_ns"`
}

// Read reads and checks a plan.
func Read(data []byte) (*Plan, error) {
	var plan Plan
	if err := json.Unmarshal(data, &plan); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if len(plan.Lanes) == 0 {
		return nil, errors.New("the plan has no lanes")
	}
	names := make(map[string]bool, len(plan.Lanes))
	for i := range plan.Lanes {
		one := &plan.Lanes[i]
		if names[one.Name] {
			return nil, fmt.Errorf("lane %q is there twice", one.Name)
		}
		names[one.Name] = true
		if err := one.check(); err != nil {
			return nil, fmt.Errorf("lane %q: %w", one.Name, err)
		}
	}
	return &plan, nil
}

func (l *Lane) check() error {
	switch {
	case l.Records < 1 || l.Period <= 0:
		return fmt.Errorf("%d records, one each %v: nothing to send", l.Records, l.Period)
	case !l.Phone.IsValid() || !l.Server.IsValid():
		return errors.New("an address is missing")
	case l.Near == "" || l.Far == "":
		return errors.New("an interface is missing")
	}
	return l.Path.Check()
}

// End is when the last record of all is due.
func (p *Plan) End() time.Duration {
	var end time.Duration
	for i := range p.Lanes {
		end = max(end, time.Duration(p.Lanes[i].Records)*p.Lanes[i].Period)
	}
	return end
}

// Arrival is what became of a record; moments are microseconds since time zero.
type Arrival struct {
	Due     int64  `json:"due_us"`
	Written int64  `json:"written_us"`
	Arrived *int64 `json:"arrived_us"`
}

// Result is what a lane's ends saw.
type Result struct {
	Name     string    `json:"name"`
	Arrivals []Arrival `json:"records"`
	// Again counts records that arrived twice, Late those that arrived after one with a larger number, and Garbage
	// what is no record.
	Again   int `json:"again"`
	Late    int `json:"late"`
	Garbage int `json:"garbage"`
	// Notes are what a rival did, by its own words, with moments.
	Notes []Note `json:"notes"`
}

// Note is one thing that a rival did.
type Note struct {
	At   int64  `json:"at_us"`
	Text string `json:"text"`
}

// Traffic is what passed the forwarder for a lane, or was lost there.
type Traffic struct {
	Name string `json:"name"`
	Up   Count  `json:"up"`
	Down Count  `json:"down"`
}

// Count is of packets with their link-layer headers.
type Count struct {
	Packets int `json:"packets"`
	Bytes   int `json:"bytes"`
	Lost    int `json:"lost"`
}
