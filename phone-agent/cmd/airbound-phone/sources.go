// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/offer"
	"github.com/airbound/airbound/phone-agent/events/placefile"
	"github.com/airbound/airbound/phone-agent/events/rtnetlink"
)

// eventOptions are the flags of `run` about events of arrival.
type eventOptions struct {
	socket    string
	port      int
	tokenFile string
	placeFile string
}

const (
	socketName = "events.sock"
	tokenName  = "events-token"
	// noSocket is the value of --events-socket for none.
	noSocket = "none"
	portMax  = 65535
)

func (o *eventOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.socket, "events-socket", "",
		"`PATH` of the Unix socket at which other programs follow and report arrivals, none for none "+
			"(default: "+socketName+" in --state-dir)")
	flags.IntVar(&o.port, "events-port", 0,
		"`PORT` of 127.0.0.1 for apps that may not use the socket: they send the token first; 0 for none")
	flags.StringVar(&o.tokenFile, "events-token-file", "",
		"`FILE` with the token for --events-port; made if there is none (default: "+tokenName+" in --credentials-dir)")
	flags.StringVar(&o.placeFile, "place-file", "",
		"`FILE` that a script or an app writes: the id of the base station that the phone uses, in its first line")
}

func (o *eventOptions) check() error {
	if o.port < 0 || o.port > portMax {
		return fmt.Errorf("--events-port %d is not a port, 1 to %d, or 0 for none", o.port, portMax)
	}
	return nil
}

// startSources starts all that reports arrivals but nl80211 and the stream, and the sockets. What cannot be started is
// logged: the others go on without it.
func (c *connection) startSources(server *offer.Server, options runOptions, logger *slog.Logger) {
	follow := func(source events.Source, follower events.Follower, found func(events.Report) events.Report) {
		c.links.Go(func() {
			report := func(report events.Report) { c.hub.report(source, found(report)) }
			if err := follower.Follow(c.ctx, report, c.hub.refuse); err != nil {
				logger.Warn("a source of arrivals has ended", "source", string(source), "error", err)
			}
		})
	}
	if options.looksForLinks() {
		follow(events.RTNetlink, rtnetlink.New(), func(report events.Report) events.Report {
			if now := c.currentLink(options, logger); now.Interface == report.Interface {
				report.Place = now.BSSID
			}
			return report
		})
	}
	if options.events.placeFile != "" {
		follow(events.File, placefile.New(options.events.placeFile),
			func(report events.Report) events.Report { return report })
	}
	if options.events.socket != noSocket {
		path := cmp.Or(options.events.socket, filepath.Join(options.stateDir, socketName))
		c.serve(server, events.Program, "", func(ctx context.Context) (net.Listener, error) {
			return offer.ListenUnix(ctx, path)
		}, logger)
	}
	if options.events.port != 0 {
		tokenFile := cmp.Or(options.events.tokenFile, filepath.Join(options.security.Directory, tokenName))
		token, err := offer.Token(tokenFile)
		if err != nil {
			logger.Warn("apps cannot follow arrivals", "error", err)
			return
		}
		c.serve(server, events.Loopback, token, func(ctx context.Context) (net.Listener, error) {
			return offer.ListenLoopback(ctx, options.events.port)
		}, logger)
	}
}

func (c *connection) serve(
	server *offer.Server, source events.Source, token string,
	listen func(context.Context) (net.Listener, error), logger *slog.Logger,
) {
	listener, err := listen(c.ctx)
	if err != nil {
		logger.Warn("other programs cannot follow arrivals here", "source", string(source), "error", err)
		return
	}
	c.links.Go(func() { server.Serve(c.ctx, listener, source, token) })
}
