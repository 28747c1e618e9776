// SPDX-License-Identifier: Apache-2.0

// Package fleet connects the agents of the cell model to a controller: one TCP connection and one gRPC stream each, all
// in one event loop (epoll). A single thread keeps ten thousand connections cheap, and the order of things simple.
package fleet

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/lab/load/cell"
	"github.com/airbound/airbound/lab/load/measure"
	"github.com/airbound/airbound/lab/load/secure"
	"github.com/airbound/airbound/lab/load/stream"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Config of a fleet.
type Config struct {
	Address netip.AddrPort
	Cells   cell.Parameters
	// ConnectPerSecond bounds how fast agents come at the start.
	ConnectPerSecond int
	// Saturate has terminals report whenever fewer than Outstanding reports are not handled yet, instead of by the
	// clock.
	Saturate    bool
	Outstanding int64
	// ExpectBounds is off for a server that computes none.
	ExpectBounds bool
	// AwayMaxUS is for how long an agent that reconnects is away, at most; at least 0.1 s.
	AwayMaxUS int64
	// Identities are what agents connect with; nil: in plain text.
	Identities *secure.Identities
}

// Counts may be read at any time.
type Counts struct {
	// Open streams; all that were ever opened.
	Open, Opened atomic.Int64
	// Offered reports: those sent, and those dropped because the connection was full. TerminalReports and
	// AccessPointReports are those sent.
	Offered, TerminalReports, AccessPointReports atomic.Int64
	// Commands received; those that set bounds; those refused.
	Commands, SetBounds, Refused atomic.Int64
	// Broken streams and attempts: those that nobody meant to end.
	Broken atomic.Int64
}

// Sent is the number of reports sent.
func (c *Counts) Sent() int64 { return c.TerminalReports.Load() + c.AccessPointReports.Load() }

// Fleet is all agents. Its methods, but Counts and SetHandled, may be called while Run is running only within Do.
type Fleet struct {
	cfg       Config
	epoll     int
	agents    []*agent
	terminals []*agent // by index
	cells     []*agent
	timers    timers
	random    *rand.Rand
	counts    Counts
	tasks     chan func()
	ended     chan struct{}

	terminalOpening, accessPointOpening []byte
	readBuffer, outBuffer, encoded      []byte
	plainBuffer, cipherBuffer           []byte
	request                             airboundv1.TerminalServiceConnectRequest
	accessPointRequest                  airboundv1.AccessPointServiceConnectRequest
	response                            airboundv1.TerminalServiceConnectResponse

	expectations *measure.Expectations
	counted      bool
	lagUS        []int64
	causes       map[string]int

	handled      atomic.Int64 // by the controller, of what was sent since the fleet began
	handledLast  int64
	handledMoved int64 // when handled moved last
	lost         int64 // sent and never to be handled
	nextToSend   int
}

// New makes a fleet whose agents connect once Run is called.
func New(cfg Config) (*Fleet, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll: %w", err)
	}
	const bufferBytes = 64 << 10
	scheme, authority := stream.Plain, cfg.Address.String()
	if cfg.Identities != nil {
		scheme = stream.Secure
	}
	nowUS := NowUS()
	f := &Fleet{
		cfg: cfg, epoll: epoll, tasks: make(chan func()), ended: make(chan struct{}),
		random:             rand.New(rand.NewPCG(cfg.Cells.Seed, 0)), //nolint:gosec // back-off
		terminalOpening:    stream.Opening(scheme, airboundv1.TerminalService_Connect_FullMethodName, authority),
		accessPointOpening: stream.Opening(scheme, airboundv1.AccessPointService_Connect_FullMethodName, authority),
		readBuffer:         make([]byte, bufferBytes), outBuffer: make([]byte, 0, bufferBytes),
		plainBuffer: make([]byte, 0, bufferBytes), cipherBuffer: make([]byte, 0, bufferBytes),
		causes: map[string]int{}, handledMoved: nowUS,
	}
	f.request.Report = &airboundv1.TerminalReport{}
	cells, terminals := cell.New(cfg.Cells, nowUS)
	f.expectations = measure.NewExpectations(len(terminals))
	for i, c := range cells {
		f.add(&agent{cell: c, index: i}, nowUS)
		for j := range cfg.Cells.TerminalsPerCell {
			index := i*cfg.Cells.TerminalsPerCell + j
			f.add(&agent{terminal: terminals[index], index: index}, nowUS)
		}
	}
	return f, nil
}

func (f *Fleet) add(a *agent, nowUS int64) {
	a.number = len(f.agents)
	a.retryUS = nowUS + int64(a.number)*1_000_000/int64(f.cfg.ConnectPerSecond)
	a.dueUS = a.retryUS
	f.agents = append(f.agents, a)
	if a.cell != nil {
		f.cells = append(f.cells, a)
	} else {
		f.terminals = append(f.terminals, a)
	}
	heap.Push(&f.timers, a)
}

// Agents is how many there are.
func (f *Fleet) Agents() int { return len(f.agents) }

// Counts may be read at any time.
func (f *Fleet) Counts() *Counts { return &f.counts }

// SetHandled sets how many of the fleet's reports the controller has handled. It may be called at any time.
func (f *Fleet) SetHandled(reports int64) { f.handled.Store(reports) }

// Do runs task in the loop and waits for it. It returns false if Run ended.
func (f *Fleet) Do(ctx context.Context, task func()) bool {
	done := make(chan struct{})
	select {
	case f.tasks <- func() { task(); close(done) }:
		<-done
		return true
	case <-ctx.Done():
	case <-f.ended:
	}
	return false
}

// StartChanges begins with changes of senders, roaming and reconnecting. Within Do.
func (f *Fleet) StartChanges() {
	nowUS := NowUS()
	for _, a := range f.agents {
		if a.cell != nil {
			a.cell.StartChanges(nowUS)
		} else {
			a.terminal.StartChanges(nowUS)
		}
		f.schedule(a)
	}
}

// SetCounted begins or ends the window whose latencies count. Within Do.
func (f *Fleet) SetCounted(counted bool) { f.counted = counted }

// Latencies are the figures of the window so far. Within Do; the samples must be copied.
func (f *Fleet) Latencies() *measure.Expectations { return f.expectations }

// LagUS is how late the loop was in the window, for each thing that was due. Within Do; to be copied.
func (f *Fleet) LagUS() []int64 { return f.lagUS }

// Causes counts why streams broke. Within Do.
func (f *Fleet) Causes() map[string]int { return f.causes }

// InForce counts the terminals that have bounds. Within Do.
func (f *Fleet) InForce() int {
	count := 0
	for _, a := range f.terminals {
		if a.terminal.Generation() != 0 {
			count++
		}
	}
	return count
}

// Run serves the agents until ctx ends, then closes every connection.
func (f *Fleet) Run(ctx context.Context) error {
	// Timers and sockets are this thread's only work; a thread of its own keeps the scheduler out of it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(f.ended)
	defer f.closeAll()
	events := make([]unix.EpollEvent, 256)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(f.epoll, events, f.waitMS())
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for sockets: %w", err)
		}
		for _, event := range events[:max(0, n)] {
			f.event(f.agents[event.Fd], event)
		}
		f.runTimers()
		if f.cfg.Saturate {
			f.saturate()
		}
		f.expectations.Expire(NowUS())
		select {
		case task := <-f.tasks:
			task()
		default:
		}
	}
	return nil
}

func (f *Fleet) closeAll() {
	for _, a := range f.agents {
		f.close(a, 0)
	}
	_ = unix.Close(f.epoll)
}

// waitMS is until the next agent is due, and at most so long that tasks and credit do not wait.
func (f *Fleet) waitMS() int {
	const waitMaxMS = 5
	waitUS := f.timers[0].dueUS - NowUS()
	if f.cfg.Saturate && f.credit() > 0 {
		return 0
	}
	return int(min(max(0, (waitUS+999)/1000), waitMaxMS))
}

func (f *Fleet) event(a *agent, event unix.EpollEvent) {
	if a.state == closed || a.epoch != event.Pad {
		return
	}
	var err error
	if a.state == connecting || event.Events&unix.EPOLLOUT != 0 {
		err = f.writable(a)
	}
	if err == nil && a.state > connecting && event.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		err = f.readable(a)
	}
	if err != nil {
		f.broken(a, err)
	}
	f.schedule(a)
}

func (f *Fleet) schedule(a *agent) { f.timers.set(a, a.nextUS(f.cfg.Saturate)) }

func (f *Fleet) runTimers() {
	// A bounded number, so that what comes in is read in between.
	for range 256 {
		a, nowUS := f.timers[0], NowUS()
		if a.dueUS > nowUS {
			return
		}
		const lagsMax = 5_000_000
		if f.counted && a.dueUS > 0 && len(f.lagUS) < lagsMax {
			f.lagUS = append(f.lagUS, nowUS-a.dueUS)
		}
		if err := f.wake(a, nowUS); err != nil {
			f.broken(a, err)
		}
		f.schedule(a)
	}
}

// wake does what is due for one agent.
func (f *Fleet) wake(a *agent, nowUS int64) error {
	if a.state == closed {
		if a.terminal != nil {
			a.terminal.Wake(nowUS) // a lease ends without a stream as well
		}
		if nowUS < a.retryUS {
			return nil
		}
		if err := f.connect(a); err != nil {
			f.counts.Broken.Add(1)
			f.causes[err.Error()]++
			a.tries++
			a.retryUS = nowUS + backOffMaxUS
		}
		return nil
	}
	if a.cell != nil {
		return f.wakeAccessPoint(a, nowUS)
	}
	return f.wakeTerminal(a, nowUS)
}

func (f *Fleet) wakeTerminal(a *agent, nowUS int64) error {
	if a.terminal.Reconnects.Due(nowUS) {
		f.reconnect(a)
		return nil
	}
	if a.terminal.Roams.Due(nowUS) {
		f.roam(a, nowUS)
	}
	if a.terminal.Wake(nowUS) && !f.cfg.Saturate {
		return f.reportTerminal(a, nowUS)
	}
	return nil
}

func (f *Fleet) reconnect(a *agent) {
	a.tries = 0
	f.close(a, awayMinUS+f.random.Int64N(max(1, f.cfg.AwayMaxUS-awayMinUS)))
	if a.terminal != nil && f.cfg.Cells.NewMACs {
		from, nowUS := f.cellOf(a.terminal), NowUS()
		f.reportNow(from, nowUS, from.cell.Rejoin(nowUS, a.terminal))
	}
}

// roam moves a terminal to the cell beside its own; cells are neighbours in pairs.
func (f *Fleet) roam(a *agent, nowUS int64) {
	from := f.cellOf(a.terminal)
	to := from.index ^ 1
	if to >= len(f.cells) {
		to = from.index - 1
	}
	if to < 0 {
		return
	}
	target := f.cells[to]
	f.expectations.Forget(a.index)
	left, joined := from.cell.Roam(nowUS, a.terminal, target.cell)
	f.reportNow(from, nowUS, left)
	f.reportNow(target, nowUS, joined)
}

// cellOf is the agent of the terminal's cell.
func (f *Fleet) cellOf(t *cell.Terminal) *agent {
	return f.cells[t.Cell().Number()-f.cfg.Cells.FirstCell]
}

func (f *Fleet) reportNow(a *agent, nowUS int64, trigger airboundv1.AccessPointReportTrigger) {
	if a.state != open {
		return
	}
	if err := f.reportCell(a, nowUS, trigger); err != nil {
		f.broken(a, err)
	}
	f.schedule(a)
}

func (f *Fleet) wakeAccessPoint(a *agent, nowUS int64) error {
	if a.cell.Reconnects.Due(nowUS) {
		f.reconnect(a)
		return nil
	}
	if nowUS < a.cell.NextUS() {
		return nil
	}
	const trigger = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL
	if err := f.reportCell(a, nowUS, trigger); err != nil {
		return err
	}
	for _, t := range a.cell.ChangeSenders(nowUS) {
		terminal := f.terminals[t.Number()-f.cfg.Cells.FirstCell*f.cfg.Cells.TerminalsPerCell]
		if !t.Sending() {
			f.expectations.Cancel(terminal.index)
		}
		f.schedule(terminal)
	}
	return nil
}

// reportCell sends an access point's report, and expects bounds if it shows another number of senders.
func (f *Fleet) reportCell(a *agent, nowUS int64, trigger airboundv1.AccessPointReportTrigger) error {
	before := a.cell.ActiveSenders()
	f.accessPointRequest.Report = a.cell.Report(nowUS, trigger)
	leftUS, sent, err := f.send(a, &f.accessPointRequest)
	if err != nil || !sent {
		return err
	}
	f.counts.AccessPointReports.Add(1)
	if f.cfg.ExpectBounds && LargeChange(before, a.cell.ActiveSenders()) {
		f.expect(a.cell, nowUS, leftUS)
	}
	return nil
}

// LargeChange reports whether a change of the number of active senders is so large that every policy gives other
// bounds: by half or more. A controller keeps bounds that are nearly right.
func LargeChange(before, after int) bool {
	low, high := min(before, after), max(before, after)
	return after > 0 && 2*high >= 3*low && high > low
}

// expect opens an expectation for each terminal of the cell that must be sent bounds: it is a sender, and has been
// there for long enough that the controller knows it.
func (f *Fleet) expect(c *cell.Cell, nowUS, leftUS int64) {
	const settledUS = 2_500_000
	active := uint32(c.ActiveSenders()) //nolint:gosec // not negative
	for _, t := range c.Members() {
		if !t.Sending() || !t.Active() || t.SettledSinceUS() > nowUS-settledUS {
			continue
		}
		index := t.Number() - f.cfg.Cells.FirstCell*f.cfg.Cells.TerminalsPerCell
		f.expectations.Expect(index, active, leftUS, f.counted)
	}
}

func (f *Fleet) reportTerminal(a *agent, nowUS int64) error {
	a.terminal.Report(nowUS, f.request.GetReport())
	_, sent, err := f.send(a, &f.request)
	if sent {
		f.counts.TerminalReports.Add(1)
	}
	return err
}

// send sends one report unless the connection is full; leftUS is the moment before.
func (f *Fleet) send(a *agent, request proto.Message) (leftUS int64, sent bool, err error) {
	f.counts.Offered.Add(1)
	if len(a.unsent)+a.stream.WaitingBytes() > unsentMax {
		return 0, false, nil
	}
	if f.encoded, err = (proto.MarshalOptions{}).MarshalAppend(f.encoded[:0], request); err != nil {
		return 0, false, fmt.Errorf("encode report: %w", err)
	}
	out := a.stream.Send(f.outBuffer[:0], f.encoded)
	leftUS = NowUS()
	return leftUS, true, f.write(a, out)
}

// credit is how many reports may be sent now.
func (f *Fleet) credit() int64 {
	return f.cfg.Outstanding - (f.counts.Sent() - f.handled.Load() - f.lost)
}

// saturate sends reports of one terminal after the other while there is credit. Reports that were lost with their
// connection are never handled: when nothing has been for a second, what is outstanding counts as lost.
func (f *Fleet) saturate() {
	const stallUS = 1_000_000
	nowUS, handled := NowUS(), f.handled.Load()
	if handled != f.handledLast {
		f.handledLast, f.handledMoved = handled, nowUS
	}
	if f.credit() <= 0 && nowUS-f.handledMoved > stallUS {
		f.lost = f.counts.Sent() - handled
		f.handledMoved = nowUS
	}
	const batch = 64
	credit := min(batch, f.credit())
	for range len(f.terminals) {
		if credit <= 0 {
			return
		}
		a := f.terminals[f.nextToSend]
		f.nextToSend = (f.nextToSend + 1) % len(f.terminals)
		if a.state != open {
			continue
		}
		credit--
		nowUS := NowUS()
		a.terminal.Wake(nowUS)
		if err := f.reportTerminal(a, nowUS); err != nil {
			f.broken(a, err)
			f.schedule(a)
		}
	}
}

// opened is when a stream can carry reports.
func (f *Fleet) opened(a *agent, nowUS int64) {
	a.state, a.tries = open, 0
	f.counts.Open.Add(1)
	f.counts.Opened.Add(1)
	if a.cell != nil {
		a.cell.Connected(nowUS)
	} else {
		a.terminal.Connected(nowUS)
	}
}

// deliver carries out a command.
func (f *Fleet) deliver(a *agent, message []byte, nowUS int64) {
	if a.terminal == nil {
		return // access points are sent nothing
	}
	f.counts.Commands.Add(1)
	before := a.terminal.RefusedTotal()
	if err := proto.Unmarshal(message, &f.response); err != nil {
		f.counts.Refused.Add(1)
		return
	}
	command := f.response.GetCommand()
	a.terminal.Command(nowUS, command)
	if a.terminal.RefusedTotal() != before {
		f.counts.Refused.Add(1)
		return
	}
	if set := command.GetSetBounds(); set != nil {
		f.counts.SetBounds.Add(1)
		f.expectations.Arrived(a.index, set.GetActiveSenders(), nowUS)
	}
}
