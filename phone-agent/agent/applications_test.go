// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/applications"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// marks is a kernel whose connections all have one DSCP.
type marks struct {
	dscp  uint8
	asked int
	err   error
}

func (m *marks) Mark(snapshot *monitor.Snapshot) error {
	m.asked++
	if m.err != nil {
		return m.err
	}
	for i := range snapshot.Connections {
		snapshot.Connections[i].DSCP = m.dscp
	}
	return nil
}

func (p *phone) classify(table string) {
	p.t.Helper()
	parsed, refused := applications.ParseTable(table)
	if refused.Count > 0 {
		p.t.Fatal(refused)
	}
	p.agent.Classify(p.nowUS, applications.New(parsed, applications.Packages{}), status.Applications{})
}

// classOf is the class of the connection in the last report.
func (p *phone) classOf() airboundv1.ApplicationClass {
	p.t.Helper()
	reports, _ := p.pass(time.Second)
	if len(reports) == 0 || len(reports[len(reports)-1].GetDestinations()) != 1 {
		p.t.Fatalf("%v", reports)
	}
	for _, part := range reports[len(reports)-1].GetDestinations()[0].GetClasses() {
		if part.GetConnections() > 0 {
			return part.GetApplicationClass()
		}
	}
	return airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED
}

// However seldom the controller wants reports, it hears of another class at once, and else of none.
func TestAnotherClassIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	p.connect()
	p.setReporting(&airboundv1.SetReporting{IntervalMs: 60_000})
	p.pass(90 * time.Second)
	for _, step := range []struct {
		table   string
		reports int
	}{
		{"live uid 10073", 1}, {"live uid 10073\nbulk port 2", 0}, {"live port 1", 1}, {"bulk port 2", 0},
	} {
		p.classify(step.table)
		if reports, _ := p.pass(time.Second); len(reports) != step.reports {
			t.Errorf("%s: %d reports", step.table, len(reports))
		}
	}
	p.agent.Disconnected(p.nowUS)
	p.classify("live uid 10073")
	if reports, _ := p.pass(time.Second); len(reports) > 0 {
		t.Errorf("%v without a stream", reports)
	}
}

func TestDSCPsAreReadIfTheTableNamesSome(t *testing.T) {
	t.Parallel()
	const (
		none       = airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED
		live       = airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE
		background = airboundv1.ApplicationClass_APPLICATION_CLASS_BACKGROUND
	)
	p, kernel := newPhone(t), &marks{dscp: 34}
	config := p.config()
	config.Marks = kernel
	var err error
	if p.agent, err = agent.Start(config, link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.connections(busy)
	p.connect()
	p.classify("background port 5001")
	if got := p.classOf(); got != background || kernel.asked > 0 {
		t.Errorf("%v, asked %d times", got, kernel.asked)
	}
	p.classify("background port 5001\nlive dscp AF41")
	if got := p.classOf(); got != live || kernel.asked == 0 {
		t.Errorf("%v, asked %d times", got, kernel.asked)
	}
	// Without DSCPs the other lines count, and the agent goes on.
	kernel.err = errors.New("not permitted")
	if got := p.classOf(); got != background {
		t.Errorf("%v", got)
	}
	failed := p.state().Counters.DSCPReadsFailed
	if failed == 0 || p.state().Applications.DSCPError != "not permitted" ||
		strings.Count(p.log.String(), "cannot read connections' DSCPs") == 0 {
		t.Errorf("%d, %+v, %s", failed, p.state().Applications, p.log.String())
	}
	kernel.err = nil
	if got := p.classOf(); got != live || p.state().Counters.DSCPReadsFailed != failed {
		t.Errorf("%v, %+v", got, p.state().Counters)
	}
	p.classify("")
	asked := kernel.asked
	if got := p.classOf(); got != none || kernel.asked != asked {
		t.Errorf("%v, asked %d times more", got, kernel.asked-asked)
	}
}
