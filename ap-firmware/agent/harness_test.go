// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"slices"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	indexOfWLAN0 = 3

	be = airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT
	bk = airboundv1.AccessCategory_ACCESS_CATEGORY_BACKGROUND
)

// edcaParts are what the agent sets EDCA parameters with: a configuration, a record and a guard that remember, in
// memory, what a file and a process would.
type edcaParts struct {
	settings  *hostapd.Settings
	record    *edca.Record
	recordErr error
	guard     fakeGuard
	off       string
	left      *edca.Record
	saved     status.State
	writes    int
	radios    *agent.Radios
	announced announcements
}

// announcements is what hostapd announces: as in its configuration, but for what was set since it started.
type announcements struct {
	changed []edca.Queue
	writes  int
	// forgotten is whether hostapd announces something else than the agent can know.
	forgotten bool
	// err is what each announcement fails with, and took whether hostapd has taken a part all the same.
	err  error
	took bool
}

// sharedRadios are those of the access point, which other cells may share.
func (p *edcaParts) sharedRadios() *agent.Radios {
	if p.radios == nil {
		p.radios = agent.NewRadios()
	}
	return p.radios
}

// fakeGuard remembers what the guard process would know.
type fakeGuard struct {
	deadlineUS int64
	running    bool
	err        error
}

func (g *fakeGuard) Protect(deadlineUS int64) error {
	if g.err != nil {
		return g.err
	}
	g.deadlineUS, g.running = deadlineUS, true
	return nil
}

func (g *fakeGuard) Release() { g.running = false }

func (p *edcaParts) SaveRecord(record edca.Record) error {
	if p.recordErr == nil {
		p.record = &record
	}
	return p.recordErr
}

func (p *edcaParts) RemoveRecord() error {
	p.record = nil
	return nil
}

func (c *cell) edca() agent.EDCA {
	return agent.EDCA{
		Off: c.off, Settings: func() *hostapd.Settings { return c.settings },
		SetQueues: func(queues []edca.Queue) (uint32, error) {
			c.t.Helper()
			// Whatever is set can be undone: it is recorded and guarded before.
			if own := c.own(); c.record == nil && !slices.Equal(queues, own.Of(edca.CategoriesOf(queues))) {
				c.t.Errorf("%v is set without a record", queues)
			}
			c.writes++
			return c.kernel.SetQueues(queues)
		},
		Announce: func(before edca.Values, queues []edca.Queue) (bool, error) {
			c.t.Helper()
			if want := c.settings.Stations.With(c.announced.changed); c.announced.err == nil && before != want &&
				!c.announced.forgotten {
				c.t.Errorf("announced is %v, and not %v", want, before)
			}
			if own := c.settings.Stations; c.record == nil && !slices.Equal(queues, own.Of(edca.CategoriesOf(queues))) {
				c.t.Errorf("%v is announced without a record", queues)
			}
			c.announced.writes++
			if c.announced.err == nil || c.announced.took {
				c.announced.changed = queues
			}
			return c.announced.err == nil || c.announced.took, c.announced.err
		},
		Records: c, Left: c.left, Guard: &c.guard,
		State: status.State{PID: 42, Interface: "wlan0"}, AgentName: "this one",
		SaveState: func(state status.State) error {
			c.saved = state
			return nil
		},
		Radios: c.sharedRadios(),
	}
}

// own is what hostapd sets.
func (c *cell) own() edca.Values {
	if c.settings != nil {
		return c.settings.Own
	}
	return hostapd.DefaultSettings(false).Own
}

// newEDCACell is a cell whose hostapd has set its own values, with a stream.
func newEDCACell(t *testing.T) *cell {
	t.Helper()
	c := newCell(t, time.Second)
	c.start(indexOfWLAN0)
	c.agent.Connected(c.nowUS)
	c.pass(2 * time.Second)
	return c
}

// start is what hostapd does when it starts the access point.
func (c *cell) start(index uint32) { c.wireless.SetQueues(index, c.own()) }

// restart replaces the agent, as after a crash.
func (c *cell) restart() {
	c.left = c.record
	c.agent = agent.New(agent.Config{
		Version: "1.2", Interval: time.Second, Sampler: c.kernel, RefreshAssociations: func() {},
		Malformed: &c.malformed, EDCA: c.edca(), Logger: c.logger(),
	}, c.nowUS)
}

func set(generation uint64, lease time.Duration, queues ...*airboundv1.Edca) *airboundv1.AccessPointCommand {
	return &airboundv1.AccessPointCommand{Command: &airboundv1.AccessPointCommand_SetEdca{SetEdca: &airboundv1.SetEdca{
		Generation: generation, LeaseMs: uint32(lease.Milliseconds()), Queues: queues,
		Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS},
	}}}
}

// announcing is the same command with what is to be announced.
func announcing(command *airboundv1.AccessPointCommand, stations ...*airboundv1.Edca) *airboundv1.AccessPointCommand {
	command.GetSetEdca().Stations = stations
	return command
}

func queue(category airboundv1.AccessCategory, aifsn uint32) *airboundv1.Edca {
	return &airboundv1.Edca{Category: category, Aifsn: aifsn, CwMin: 15, CwMax: 1023}
}

func (c *cell) command(command *airboundv1.AccessPointCommand) { c.agent.Command(c.nowUS, command) }

// inForce checks the kernel's values: the own ones, but for some queues.
func (c *cell) inForce(what string, queues ...edca.Queue) {
	c.t.Helper()
	if got, want := c.wireless.Queues(indexOfWLAN0), c.own().With(queues); got != want {
		c.t.Errorf("%s:\nin force %v\nwant     %v", what, got, want)
	}
	if isSet := len(queues) > 0; (c.record != nil) != isSet || c.guard.running != isSet {
		c.t.Errorf("%s: record %v, guard %v", what, c.record, c.guard)
	}
}

func bestEffort(aifsn uint8) edca.Queue {
	return edca.Queue{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: aifsn, CWMin: 15, CWMax: 1023}}
}

func background(aifsn uint8) edca.Queue {
	return edca.Queue{Category: edca.Background, Parameters: edca.Parameters{AIFSN: aifsn, CWMin: 15, CWMax: 1023}}
}
