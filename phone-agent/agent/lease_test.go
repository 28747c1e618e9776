// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/apply/procfs"
)

// leasing is a back end whose rules have a lease of their own.
type leasing struct {
	*procfs.BackEnd

	deadlines []int64
	err       error
}

func (l *leasing) Lease(deadlineUS int64) error {
	if l.err == nil {
		l.deadlines = append(l.deadlines, deadlineUS)
	}
	return l.err
}

func newLeasing(t *testing.T) (*phone, *leasing) {
	t.Helper()
	p := newPhone(t)
	backEnd := &leasing{BackEnd: procfs.New(p.kernel)}
	config := p.config()
	config.BackEnd = backEnd
	var err error
	if p.agent, err = agent.Start(config, link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.connect()
	return p, backEnd
}

func TestABackEndWithALeaseGetsEachDeadline(t *testing.T) {
	t.Parallel()
	p, backEnd := newLeasing(t)
	start := p.nowUS
	p.set(1, 10_000, all(true, 2, 90))
	p.nowUS += secondUS
	p.renew(1, 10_000)
	p.renew(2, 10_000) // Not the set in force.
	p.set(2, 20_000, all(true, 2, 80))
	p.set(3, 20_000)
	want := []int64{start + 10*secondUS, start + 11*secondUS, start + 21*secondUS}
	if !slices.Equal(backEnd.deadlines, want) {
		t.Errorf("%v, want %v", backEnd.deadlines, want)
	}
	p.rulesAre("")
}

func TestWithoutALeaseNothingIsSet(t *testing.T) {
	t.Parallel()
	for name, renewal := range map[string]bool{"at a set": false, "at a renewal": true} {
		p, backEnd := newLeasing(t)
		if renewal {
			p.set(1, 10_000, all(true, 2, 90))
		}
		backEnd.err = errors.New("start the guard: resource temporarily unavailable")
		if renewal {
			p.renew(1, 10_000)
		} else {
			p.set(1, 10_000, all(true, 2, 90))
		}
		p.rulesAre("")
		const want = "applying bounds failed: start the guard: resource temporarily unavailable"
		if got := p.state(); got.Generation != 0 || got.Reason != want || got.Counters.ApplyFailures != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
