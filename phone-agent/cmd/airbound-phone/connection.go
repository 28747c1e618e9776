// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/wireless"
	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/offer"
	"github.com/airbound/airbound/phone-agent/status"
	"github.com/airbound/airbound/phone-agent/wifi"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

type (
	request  = airboundv1.TerminalServiceConnectRequest
	response = airboundv1.TerminalServiceConnectResponse
)

// connection is the controller client's goroutine as the agent's goroutine sees it.
type connection struct {
	// Calls that the agent's goroutine is to make.
	events chan func(nowUS int64)
	// Closed when the client has ended; err is why.
	ended chan struct{}
	err   error

	ctx      context.Context //nolint:containedctx // ended by wait
	cancel   context.CancelFunc
	outgoing chan *request

	// Follows the Wi-Fi connection.
	links sync.WaitGroup
	// Receives when the phone can send at another access point, or at the same one again.
	moved chan struct{}
	// Of the phone's other connections.
	arrivals *arrivals
	// Where sources report arrivals.
	hub *hub

	mutex   sync.Mutex
	remotes []netip.AddrPort
	link    agent.Link
	// Of the stream.
	silence events.Silence
}

// silenceUS is how long the controller must have been unreachable for its return to count as an arrival: the paper's
// T_recvinterval. A controller that is restarted is back sooner.
const silenceUS = 3_000_000

// remotesMax is how many addresses of the controller are remembered: connections to earlier ones stay for a while.
const remotesMax = 8

func (c *connection) dialed(remote netip.AddrPort) {
	remote = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.remotes = slices.DeleteFunc(c.remotes, func(known netip.AddrPort) bool { return known == remote })
	c.remotes = append(c.remotes, remote)
	if len(c.remotes) > remotesMax {
		c.remotes = slices.Delete(c.remotes, 0, 1)
	}
}

// controllers are where the agent's own connections go.
func (c *connection) controllers() []netip.AddrPort {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.remotes)
}

func newConnection(ctx context.Context) *connection {
	c := &connection{
		events:   make(chan func(int64)),
		ended:    make(chan struct{}),
		outgoing: make(chan *request),
		moved:    make(chan struct{}, 1),
		silence:  events.Silence{LimitUS: silenceUS},
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

func (c *connection) start(
	options runOptions, device *credentials.Device, phone *agent.Agent, link agent.Link, logger *slog.Logger,
) {
	onState := func(connected bool) {
		silentUS := c.streamState(connected)
		if !connected {
			c.post(phone.Disconnected)
			return
		}
		now := c.currentLink(options, logger)
		c.post(func(nowUS int64) { phone.Connected(nowUS, now) })
		if silentUS > 0 {
			c.hub.report(events.Stream, events.Report{
				Kind: events.FirstDatagram, Interface: now.Interface, Place: now.BSSID,
			})
		}
	}
	c.link = link
	if !options.noRetransmit {
		c.arrivals = newArrivals(options.procRoot, options.asksServers, c.arrivalReports(phone), logger)
	}
	c.hub = &hub{now: bootTimeUS, logger: logger, arrived: c.arrived}
	c.hub.counted = func(event events.Event, outcome events.Outcome, err error) {
		c.post(func(nowUS int64) { phone.ArrivalReported(nowUS, event, outcome, err) })
	}
	server := offer.New(c.hub.report, c.hub.refuse)
	c.hub.publish = server.Publish
	c.startSources(server, options, logger)
	c.followApplications(options.applications, phone, logger)
	if options.looksForLinks() {
		c.links.Go(func() {
			wifi.Follow(c.ctx, wireless.DialEvents, func(arrived uint32) {
				now := c.currentLink(options, logger)
				c.post(func(nowUS int64) { phone.LinkChanged(nowUS, now) })
				if arrived != 0 && now.BSSID != "" {
					c.links.Go(func() { c.arrive(now.Interface, now.BSSID, arrived) })
				} else {
					if now.BSSID == "" {
						c.arrivals.left()
					}
					c.links.Go(c.arrivals.prepare)
				}
			}, logger)
		})
	}
	handle := func(message *response) {
		// One that is wrong is refused by the agent, with the other commands.
		if command := message.GetCommand().GetArrived(); command != nil {
			if report, err := agent.ArrivalReport(command); err == nil {
				c.hub.report(events.Controller, report)
			}
		}
		c.post(func(nowUS int64) { phone.Command(nowUS, message.GetCommand()) })
	}
	go func() {
		defer close(c.ended)
		config := controllerclient.Config{
			Addresses: options.controller.Addresses, Logger: logger, Dialed: c.dialed, Moved: c.moved,
		}
		c.err = credentials.RunStream(c.ctx, device, config, controllerclient.Stream[request, response]{
			Open: openStream, Outgoing: c.outgoing, Merge: keepAgent, Handle: handle, OnState: onState,
			IsAnswer: func(message *response) bool { return message.GetCommand() == nil },
		})
	}()
}

// streamState takes over that the stream has begun or ended. It returns how long there was none, if that was a silence.
func (c *connection) streamState(connected bool) (silentUS int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if connected {
		return c.silence.Receive(bootTimeUS())
	}
	c.silence.Expect(bootTimeUS())
	return 0
}

// arrived has the connection to the controller made anew, and TCP retransmit. An event that came by that connection
// shows that it works.
func (c *connection) arrived(event events.Event) {
	if event.Source != events.Stream && event.Source != events.Controller {
		select {
		case c.moved <- struct{}{}:
		default:
		}
	}
	c.links.Go(func() { c.arrivals.arrived(c.ctx) })
}

// arrivalReports has the agent count what arrivals have done.
func (c *connection) arrivalReports(phone *agent.Agent) arrivalReports {
	return arrivalReports{
		by: func(by status.Retransmission) {
			c.post(func(nowUS int64) { phone.RetransmissionBy(nowUS, by) })
		},
		done: func(outcome arrival.Outcome) { c.post(func(int64) { phone.Retransmitted(outcome) }) },
		downloadsBy: func(by status.Retransmission) {
			c.post(func(nowUS int64) { phone.DownloadsBy(nowUS, by) })
		},
		downloadsDone: func(outcome arrival.DownloadsOutcome) {
			c.post(func(int64) { phone.ServersAsked(outcome) })
		},
		answered: func(silence time.Duration) {
			c.post(func(nowUS int64) { phone.Answered(nowUS, silence) })
		},
	}
}

// The supplicant may still have to agree on keys when the kernel reports the association, and what is sent before that
// is lost: a first SYN would be sent again only after a second.
const (
	runningPoll = 10 * time.Millisecond
	runningMax  = 10 * time.Second
)

// arrive reports an association as soon as the interface can send, unless the phone is at another access point by then.
func (c *connection) arrive(name, bssid string, index uint32) {
	for range runningMax / runningPoll {
		device, err := net.InterfaceByName(name)
		if err != nil || uint32(device.Index) != index { //nolint:gosec // an index of the kernel's has 31 bits
			return // Another of the phone's interfaces.
		}
		if now := c.bssid(); now != "" && now != bssid {
			return // The next association is reported by itself.
		}
		if device.Flags&net.FlagRunning != 0 {
			c.hub.report(events.NL80211, events.Report{Kind: events.Association, Interface: name, Place: bssid})
			return
		}
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(runningPoll):
		}
	}
}

// bssid is the access point of the link as it was last read; empty if it is not known.
func (c *connection) bssid() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.link.BSSID
}

// currentLink reads the link again. If that fails, the last one counts: the stream may be open all the same.
func (c *connection) currentLink(options runOptions, logger *slog.Logger) agent.Link {
	controllers := c.controllers()
	now, err := options.currentLink()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err != nil {
		logger.Warn("cannot read the MAC address, reporting the last one", "error", err, "mac", c.link.MAC.String())
		now = c.link
		now.BSSID, now.SSID = "", ""
	} else if now.BSSID != c.link.BSSID {
		logger.Info("another access point", "interface", now.Interface, "mac", now.MAC.String(), "bssid", now.BSSID)
	}
	now.Controllers = controllers
	c.link = now
	return now
}

// keepAgent keeps the message about the agent, which is in the first report of a stream only, if a newer report
// replaces that one before it was sent.
func keepAgent(older, newer *request) {
	if newer.GetReport().GetAgent() == nil {
		newer.Report.Agent = older.GetReport().GetAgent()
	}
}

func openStream(ctx context.Context, client *grpc.ClientConn) (grpc.BidiStreamingClient[request, response], error) {
	return airboundv1.NewTerminalServiceClient(client).Connect(ctx)
}

func (c *connection) post(what func(nowUS int64)) {
	select {
	case c.events <- what:
	case <-c.ctx.Done():
	}
}

// send never blocks for long: the client receives reports at all times.
func (c *connection) send(report *airboundv1.TerminalReport) {
	select {
	case c.outgoing <- &request{Report: report}:
	case <-c.ended:
	case <-c.ctx.Done():
	}
}

func (c *connection) wait() {
	c.cancel()
	<-c.ended
	c.links.Wait()
	c.arrivals.close()
}
