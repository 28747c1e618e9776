// SPDX-License-Identifier: Apache-2.0

// Package controllertest is a small controller for the load generator's tests. It counts senders from the access
// points' counters, gives each sender bounds of the number of senders, renews leases, and checks that reports are what
// real agents would send.
package controllertest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Controller is the fake. Fields are set before Serve.
type Controller struct {
	airboundv1.UnimplementedOperationsServiceServer

	// Mute computes no bounds.
	Mute bool
	// IntervalMS, if not 0, is asked of every terminal with SetReporting.
	IntervalMS uint32
	// LeaseMS of bounds; 0 is 6000.
	LeaseMS uint32
	// NoRenewals lets leases end.
	NoRenewals bool
	// TLS is what both ports are served with; nil: plain text.
	TLS *tls.Config

	mutex      sync.Mutex
	stations   map[string]*station // by MAC
	cells      map[string]*bss     // by BSSID
	terminals  map[string]*terminal
	reports    int64
	generation uint64
	complaints []string
	triggers   map[airboundv1.TerminalReportTrigger]int
	apTriggers map[airboundv1.AccessPointReportTrigger]int
	streams    int
}

type station struct {
	cell      *bss
	payload   float64
	addresses [][]byte
	sending   bool
}

type bss struct {
	bssid       string
	baseUS      uint64
	lastUS      uint64
	active      uint32
	lastPayload map[string]float64
}

type terminal struct {
	mac      string
	sending  bool
	sent     uint64 // generation
	inForce  uint64
	sequence uint64
	commands chan *airboundv1.TerminalCommand
}

// Serve starts the fake on two ports of loopback; both end with the test.
func (c *Controller) Serve(t *testing.T) (agents, operators netip.AddrPort) {
	t.Helper()
	c.stations, c.cells, c.terminals = map[string]*station{}, map[string]*bss{}, map[string]*terminal{}
	c.triggers, c.apTriggers = map[airboundv1.TerminalReportTrigger]int{}, map[airboundv1.AccessPointReportTrigger]int{}
	if c.LeaseMS == 0 {
		c.LeaseMS = 6000
	}
	serve := func(register func(*grpc.Server)) netip.AddrPort {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
		if err != nil {
			t.Fatal(err)
		}
		var options []grpc.ServerOption
		if c.TLS != nil {
			options = append(options, grpc.Creds(credentials.NewTLS(c.TLS)))
		}
		server := grpc.NewServer(options...)
		register(server)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		return netip.MustParseAddrPort(listener.Addr().String())
	}
	agents = serve(func(server *grpc.Server) {
		airboundv1.RegisterAccessPointServiceServer(server, accessPointService{controller: c})
		airboundv1.RegisterTerminalServiceServer(server, terminalService{controller: c})
	})
	operators = serve(func(server *grpc.Server) { airboundv1.RegisterOperationsServiceServer(server, c) })
	return agents, operators
}

// GetController returns the number of reports.
func (c *Controller) GetController(
	context.Context, *airboundv1.GetControllerRequest,
) (*airboundv1.GetControllerResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	counters := []*airboundv1.Counter{
		{Name: "refused_total", Value: 7},
		{Name: "reports_total", Value: uint64(c.reports)}, //nolint:gosec // not negative
	}
	return &airboundv1.GetControllerResponse{Counters: counters}, nil
}

// Reports is how many came.
func (c *Controller) Reports() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.reports
}

// Stations is how many different ones were reported.
func (c *Controller) Stations() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.stations)
}

// Complaints are what real agents would not do.
func (c *Controller) Complaints() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]string(nil), c.complaints...)
}

// InForce counts the terminals that reported the set that they were sent last to be in force.
func (c *Controller) InForce() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	count := 0
	for _, t := range c.terminals {
		if t.sent != 0 && t.inForce == t.sent {
			count++
		}
	}
	return count
}

// Streams is how many were opened.
func (c *Controller) Streams() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.streams
}

// Triggers is how often terminals reported for that reason.
func (c *Controller) Triggers(trigger airboundv1.TerminalReportTrigger) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.triggers[trigger]
}

// AccessPointTriggers is how often access points did.
func (c *Controller) AccessPointTriggers(trigger airboundv1.AccessPointReportTrigger) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.apTriggers[trigger]
}

func (c *Controller) complain(format string, values ...any) {
	if len(c.complaints) < 20 {
		c.complaints = append(c.complaints, fmt.Sprintf(format, values...))
	}
}

// Both services have a method Connect, so each has a type.
type (
	terminalService struct {
		airboundv1.UnimplementedTerminalServiceServer
		controller *Controller
	}
	accessPointService struct {
		airboundv1.UnimplementedAccessPointServiceServer
		controller *Controller
	}
)

func (s terminalService) Connect(stream airboundv1.TerminalService_ConnectServer) error {
	return s.controller.terminal(stream)
}

func (s accessPointService) Connect(stream airboundv1.AccessPointService_ConnectServer) error {
	s.controller.opened()
	for {
		request, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		s.controller.accessPointReport(request.GetReport())
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *Controller) opened() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.streams++
}

func (c *Controller) terminal(stream airboundv1.TerminalService_ConnectServer) error {
	source := addressOf(stream.Context())
	t := &terminal{commands: make(chan *airboundv1.TerminalCommand, 100)}
	c.opened()
	done := make(chan struct{})
	defer close(done)
	go func() {
		renew := time.NewTicker(time.Second)
		defer renew.Stop()
		if c.IntervalMS > 0 {
			t.commands <- &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetReporting{
				SetReporting: &airboundv1.SetReporting{IntervalMs: c.IntervalMS},
			}}
		}
		for {
			select {
			case <-done:
				return
			case command := <-t.commands:
				_ = stream.Send(&airboundv1.TerminalServiceConnectResponse{Command: command})
			case <-renew.C:
				c.renew(t)
			}
		}
	}()
	for {
		request, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		c.terminalReport(t, source, request.GetReport())
	}
}

func (c *Controller) renew(t *terminal) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if t.sent != 0 && t.sending && !c.NoRenewals {
		c.send(t, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_RenewLease{
			RenewLease: &airboundv1.RenewLease{Generation: t.sent, LeaseMs: c.LeaseMS},
		}})
	}
}

func (c *Controller) send(t *terminal, command *airboundv1.TerminalCommand) {
	select {
	case t.commands <- command:
	default:
		c.complain("terminal %x does not read", t.mac)
	}
}

func (c *Controller) terminalReport(t *terminal, source netip.Addr, report *airboundv1.TerminalReport) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.reports++
	c.triggers[report.GetTrigger()]++
	if (t.mac == "") != (report.GetAgent() != nil) {
		c.complain("agent is %v in report %d", report.GetAgent(), report.GetSequence())
	}
	if t.mac == "" {
		t.mac = string(report.GetMac())
		if before := c.terminals[t.mac]; before != nil {
			t.sequence = before.sequence
		}
		c.terminals[t.mac] = t
	}
	if report.GetSequence() <= t.sequence || len(report.GetMac()) != 6 || len(report.GetDestinations()) != 1 {
		c.complain("terminal %x after report %d: %v", t.mac, t.sequence, report)
	}
	t.sequence, t.inForce = report.GetSequence(), report.GetBoundsGeneration()
	destination := report.GetDestinations()[0]
	if destination.GetSrttUs() < destination.GetMinRttUs() || destination.GetMinRttUs() == 0 {
		c.complain("terminal %x: srtt %d, minimum %d", t.mac, destination.GetSrttUs(), destination.GetMinRttUs())
	}
	s := c.stations[t.mac]
	if s != nil && len(s.addresses) > 0 && netip.AddrFrom4([4]byte(s.addresses[0])) != source {
		c.complain("terminal %x comes from %v, its access point reports %v", t.mac, source, s.addresses)
	}
	sending := destination.GetConnectionsSending() > 0
	started, stopped := sending && !t.sending, !sending && t.sending
	t.sending = sending
	switch {
	case c.Mute || s == nil:
	case started || sending && t.sent == 0:
		c.bound(t, s.cell.active)
	case stopped:
		c.bound(t, 0)
	}
}

func (c *Controller) bound(t *terminal, active uint32) {
	c.generation++
	set := &airboundv1.SetBounds{Generation: c.generation + t.inForce, LeaseMs: c.LeaseMS, ActiveSenders: active}
	if active > 0 {
		set.Bounds = []*airboundv1.Bound{{
			Selector: &airboundv1.Bound_All{All: true}, MinSegs: 2, MaxSegs: 2 + 100/active,
		}}
	}
	c.generation = set.GetGeneration()
	t.sent = set.GetGeneration()
	c.send(t, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{SetBounds: set}})
}

func (c *Controller) accessPointReport(report *airboundv1.AccessPointReport) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.reports++
	c.apTriggers[report.GetTrigger()]++
	cell := c.cells[string(report.GetBssid())]
	if cell == nil {
		cell = &bss{bssid: string(report.GetBssid()), lastPayload: map[string]float64{}}
		c.cells[cell.bssid] = cell
	}
	if report.GetMonotonicUs() <= cell.lastUS {
		c.complain("access point's clock: %d after %d", report.GetMonotonicUs(), cell.lastUS)
	}
	cell.lastUS = report.GetMonotonicUs()
	for _, reported := range report.GetStations() {
		mac := string(reported.GetMac())
		s := c.stations[mac]
		if s == nil || s.cell != cell {
			s = &station{cell: cell}
			c.stations[mac] = s
			delete(cell.lastPayload, mac)
		}
		s.addresses = reported.GetIpAddresses()
		s.payload = float64(reported.GetRxBytes()) - 34*float64(reported.GetRxPackets())
		if s.payload < cell.lastPayload[mac] {
			c.complain("station %x: payload %v after %v", mac, s.payload, cell.lastPayload[mac])
		}
	}
	elapsedUS := report.GetMonotonicUs() - cell.baseUS
	if elapsedUS < 250_000 {
		return
	}
	c.count(cell, report, float64(elapsedUS)/1e6)
}

func (c *Controller) count(cell *bss, report *airboundv1.AccessPointReport, seconds float64) {
	first := cell.baseUS == 0
	cell.baseUS = report.GetMonotonicUs()
	active := uint32(0)
	for _, reported := range report.GetStations() {
		s := c.stations[string(reported.GetMac())]
		s.sending = (s.payload-cell.lastPayload[string(reported.GetMac())])/seconds > 10_000
		cell.lastPayload[string(reported.GetMac())] = s.payload
		if s.sending {
			active++
		}
	}
	if first || active == cell.active {
		return
	}
	cell.active = active
	for _, t := range c.terminals {
		if s := c.stations[t.mac]; s != nil && s.cell == cell && t.sending && !c.Mute {
			c.bound(t, active)
		}
	}
}

func addressOf(ctx context.Context) netip.Addr {
	if from, ok := peer.FromContext(ctx); ok {
		return netip.MustParseAddrPort(from.Addr.String()).Addr()
	}
	return netip.Addr{}
}
