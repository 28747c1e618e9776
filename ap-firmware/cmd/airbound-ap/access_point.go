// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/identity"
)

// BSSs are found by looking, and not by events: interfaces become access points without one on older kernels
// (NL80211_CMD_SET_INTERFACE is reported since 4.19), and events may be lost. A BSS without stations is not urgent; a
// station's event on an interface that nobody serves makes a look at once.
const (
	lookEvery = 2 * time.Second
	// looksApart limits what events can cause.
	looksApart = 200 * time.Millisecond
	// servedAfterwards is how long a BSS that vanished keeps its stream: `wifi reload` brings it back within seconds.
	servedAfterwards = time.Minute
)

// accessPoint is what the BSSs of one agent process share: sockets, certificate, the kernel's events, and who sets the
// queues of each radio. Each has its own connection: what happens to one does not concern the others.
type accessPoint struct {
	options runOptions
	kernel  sockets
	sockets *agent.Sockets
	radios  *agent.Radios
	windows agent.Windows
	flows   agent.StationFlows
	logger  *slog.Logger
	look    chan struct{}
	times   discoveryTimes

	mutex       sync.Mutex
	served      map[string]*bss
	credentials *identity.Status
	lastFailure string
	locked      map[string]bool // interfaces that another agent serves
}

// discoveryTimes are others in some tests.
type discoveryTimes struct{ lookEvery, looksApart, servedAfterwards time.Duration }

func newAccessPoint(options runOptions, kernel sockets, logger *slog.Logger) *accessPoint {
	times := options.discovery
	if times == (discoveryTimes{}) {
		times = discoveryTimes{lookEvery, looksApart, servedAfterwards}
	}
	return &accessPoint{
		options: options, kernel: kernel, sockets: kernel.shared(), radios: agent.NewRadios(), logger: logger,
		look: make(chan struct{}, 1), times: times, served: map[string]*bss{}, locked: map[string]bool{},
	}
}

// run runs agents until ctx ends. Whatever ends them, the access point's own EDCA parameters are in force when it
// returns.
func run(ctx context.Context, options runOptions, kernel sockets, logger *slog.Logger) (err error) {
	ap := newAccessPoint(options, kernel, logger)
	defer func() { err = errors.Join(err, ap.sockets.Close()) }()
	var closeWindows func() error
	ap.windows, closeWindows = openWindows(options, kernel, logger)
	defer func() { err = errors.Join(err, closeWindows()) }()
	var closeFlows func() error
	ap.flows, closeFlows = openStationFlows(options, kernel)
	defer func() { err = errors.Join(err, closeFlows()) }()
	ctx, cancel := context.WithCancel(ctx)
	var events sync.WaitGroup
	defer events.Wait()
	defer cancel()
	for _, name := range options.interfaces {
		if _, err := ap.serve(ctx, name); err != nil {
			return errors.Join(err, ap.endAll())
		}
	}
	if len(options.interfaces) == 0 {
		ap.discover(ctx)
	}
	// After the agents were made, which has written back what earlier ones left.
	device, err := openDevice(options, ap.saveCredentials, logger)
	if err != nil {
		return errors.Join(err, ap.endAll())
	}
	events.Go(func() { nl80211.Follow(ctx, kernel.events, ap.dispatch, ap.refuse, logger) })
	err = credentials.RunStreams(ctx, device, func(ctx context.Context) error { return ap.connect(ctx, device) })
	return errors.Join(err, ap.endAll())
}

// serve begins to serve a BSS that is not served.
func (ap *accessPoint) serve(ctx context.Context, name string) (*bss, error) {
	b, err := ap.openBSS(name) //nolint:contextcheck // what it writes back does not end with the context
	if err != nil {
		return nil, err
	}
	b.start(ctx)
	ap.mutex.Lock()
	defer ap.mutex.Unlock()
	ap.served[name] = b
	if ap.credentials != nil {
		if err := b.saveCredentials(*ap.credentials); err != nil {
			b.logger.Warn("cannot write the status of the certificate", "error", err)
		}
	}
	return b, nil
}

// connect keeps the streams of all BSSs open until ctx ends, also of those that are found later.
func (ap *accessPoint) connect(ctx context.Context, device *credentials.Device) error {
	var group sync.WaitGroup
	defer group.Wait()
	connect := func(b *bss) {
		group.Go(func() {
			if err := b.connect(device); err != nil {
				b.logger.Error("cannot connect", "error", err)
			}
		})
	}
	for _, b := range ap.all() {
		connect(b)
	}
	if len(ap.options.interfaces) > 0 {
		<-ctx.Done()
		return nil
	}
	every := time.NewTicker(ap.times.lookEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		case <-ap.look:
		}
		found, vanished := ap.discover(ctx)
		for _, b := range found {
			connect(b)
		}
		for _, b := range vanished {
			group.Go(func() { ap.end(b) })
		}
		select {
		case <-ctx.Done():
		case <-time.After(ap.times.looksApart):
		}
	}
}

// discover begins to serve the BSSs that the kernel has and that are not served. It returns them, and those that have
// vanished for good, which the caller must end.
func (ap *accessPoint) discover(ctx context.Context) (found, vanished []*bss) {
	interfaces, err := ap.sockets.AccessPoints(ap.refuse)
	if err != nil {
		if text := err.Error(); text != ap.lastFailure {
			ap.logger.Warn("cannot list the access point's interfaces", "error", err)
			ap.lastFailure = text
		}
		return nil, nil
	}
	ap.lastFailure = ""
	now, names := time.Now(), map[string]bool{}
	for _, each := range interfaces {
		names[each.Name] = true
		if ap.isServed(each.Name) || checkInterface(each.Name) != nil {
			continue
		}
		b, err := ap.serve(ctx, each.Name)
		switch {
		case err == nil:
			delete(ap.locked, each.Name)
			found = append(found, b)
		case !ap.locked[each.Name]:
			ap.locked[each.Name] = true
			ap.logger.Warn("cannot serve a BSS, trying again", "interface", each.Name, "error", err,
				"another_agent", errors.Is(err, statedir.ErrRunning))
		}
	}
	if len(interfaces) == 0 && len(ap.all()) == 0 {
		ap.logger.Debug("no interface is an access point")
	}
	for _, b := range ap.all() {
		switch {
		case names[b.name]:
			b.missing = time.Time{}
		case b.missing.IsZero():
			b.missing = now
		case !b.ending && now.Sub(b.missing) >= ap.times.servedAfterwards:
			b.ending = true
			vanished = append(vanished, b)
		}
	}
	return found, vanished
}

func (ap *accessPoint) isServed(name string) bool {
	ap.mutex.Lock()
	defer ap.mutex.Unlock()
	return ap.served[name] != nil
}

// all are the BSSs that are served, by name.
func (ap *accessPoint) all() []*bss {
	ap.mutex.Lock()
	defer ap.mutex.Unlock()
	return slices.SortedFunc(maps.Values(ap.served), func(x, y *bss) int {
		if x.name < y.name {
			return -1
		}
		return 1
	})
}

// end ends serving a BSS that vanished. It may be found again afterwards.
func (ap *accessPoint) end(b *bss) {
	b.logger.Info("the interface is gone")
	if err := b.end(); err != nil {
		b.logger.Warn("cannot end serving a BSS in order", "error", err)
	}
	ap.mutex.Lock()
	defer ap.mutex.Unlock()
	delete(ap.served, b.name)
}

// endAll ends serving all BSSs, side by side.
func (ap *accessPoint) endAll() error {
	all := ap.all()
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, b := range all {
		group.Go(func() { errs[i] = b.end() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// dispatch delivers an event of the kernel to the BSS whose interface it is about.
func (ap *accessPoint) dispatch(event nl80211.StationEvent) {
	for _, b := range ap.all() {
		if slices.Contains(*b.indexes.Load(), event.InterfaceIndex) {
			select {
			case b.in.stations <- event:
			default: // It is busy.
			}
			return
		}
	}
	select {
	case ap.look <- struct{}{}:
	default:
	}
}

// refuse counts malformed input that cannot be said to concern one BSS, for each.
func (ap *accessPoint) refuse(err error) {
	for _, b := range ap.all() {
		b.refuse(err)
	}
}

// saveCredentials saves the status of the certificate for every BSS.
func (ap *accessPoint) saveCredentials(status identity.Status) error {
	ap.mutex.Lock()
	defer ap.mutex.Unlock()
	ap.credentials = &status
	errs := make([]error, 0, len(ap.served))
	for _, b := range ap.served {
		errs = append(errs, b.saveCredentials(status))
	}
	return errors.Join(errs...)
}

func (b *bss) saveCredentials(status identity.Status) error {
	if b.state.unusable {
		return nil
	}
	return b.state.directory.SaveCredentials(status)
}
