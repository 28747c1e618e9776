// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/airbound/airbound/internal/backoff"
)

const (
	// pingInterval limits how long a hostapd that was killed, and so sent no event, goes unnoticed.
	pingInterval = 5 * time.Second
	retryMin     = 100 * time.Millisecond
	retryMax     = 5 * time.Second
)

var (
	errTerminating  = errors.New("hostapd is terminating")
	errMissedEvents = errors.New("hostapd's list differs from what its events reported")
)

// Watcher follows hostapd's associations, also over restarts of hostapd.
type Watcher struct {
	path, networkInterface string

	malformed func(error)
	logger    *slog.Logger

	refresh      chan struct{}
	updates      chan Update
	associations Associations
}

// Update is the set of associations after something happened.
type Update struct {
	Associations Associations
	Change       Change
	// Enabled means that hostapd, or the kernel, may have set the parameters of the transmit queues: the access point
	// or its interface started, or hostapd was connected to, which may have restarted.
	Enabled bool
}

// NewWatcher makes a watcher of the control socket at path, which must serve the network interface. malformed is called
// with every message that had to be refused.
func NewWatcher(path, networkInterface string, malformed func(error), logger *slog.Logger) *Watcher {
	return &Watcher{
		path: path, networkInterface: networkInterface, malformed: malformed, logger: logger,
		refresh: make(chan struct{}, 1), updates: make(chan Update, 16),
	}
}

// Updates delivers one update for each change, and one when hostapd connects, goes, or starts the access point.
func (w *Watcher) Updates() <-chan Update { return w.updates }

// Refresh requests that hostapd's list is read again, because the kernel's differs. It does not wait.
func (w *Watcher) Refresh() {
	select {
	case w.refresh <- struct{}{}:
	default:
	}
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	wait := backoff.Backoff{Min: retryMin, Max: retryMax}
	var lastCause string
	for ctx.Err() == nil {
		err := w.session(ctx, wait.Reset)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrMalformed) {
			w.malformed(err)
		}
		level := slog.LevelDebug
		attached := w.associations.Known() || w.associations.unlisted
		if attached || err.Error() != lastCause {
			level = slog.LevelWarn
		}
		lastCause = err.Error()
		delay := wait.Next()
		w.logger.Log(ctx, level, "no associations from hostapd", "socket", w.path, "error", err,
			"retry_in", delay.Round(time.Millisecond))
		if attached {
			w.associations.Forget()
			w.publish(ctx, Change{}, false)
		}
		backoff.Sleep(ctx, delay)
	}
}

// session is one connection, until it ends; it never returns nil.
func (w *Watcher) session(ctx context.Context, established func()) (err error) {
	client, err := Dial(w.path, w.malformed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if err := w.attach(ctx, client); err != nil {
		return err
	}
	established()
	if w.associations.unlisted {
		w.logger.Info("attached to hostapd, which lists no stations: the kernel does", "socket", w.path)
	} else {
		w.logger.Info("attached to hostapd", "socket", w.path, "stations", w.associations.Len())
	}
	ping := time.Tick(pingInterval)
	for {
		if err := w.step(ctx, client, ping); err != nil {
			return err
		}
	}
}

// attach subscribes before it reads the list, so that no change falls between the two.
func (w *Watcher) attach(ctx context.Context, client *Client) error {
	if err := client.Attach(ctx); err != nil {
		return err
	}
	status, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(status.Interfaces, w.networkInterface) {
		return fmt.Errorf("socket serves %q, not %s", status.Interfaces, w.networkInterface)
	}
	var change Change
	switch stations, err := client.Stations(ctx); {
	case errors.Is(err, ErrNoList):
		w.associations.Unlist()
	case err != nil:
		return err
	default:
		change = w.associations.Replace(stations)
	}
	w.publish(ctx, change, true)
	_, err = w.apply(ctx, client.events())
	return err
}

// step waits for one event and handles it.
func (w *Watcher) step(ctx context.Context, client *Client, ping <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("watch hostapd: %w", ctx.Err())
	case datagram, open := <-client.datagrams:
		if !open {
			return client.failure
		}
		client.unsolicited(datagram)
	case <-ping:
		if err := client.Ping(ctx); err != nil {
			return err
		}
	case <-w.refresh:
		return w.relist(ctx, client)
	}
	_, err := w.apply(ctx, client.events())
	return err
}

// relist compares hostapd's list with what its events reported. hostapd silently stops sending events to a client that
// it could not reach a few times; only a new connection helps.
func (w *Watcher) relist(ctx context.Context, client *Client) error {
	if w.associations.unlisted {
		return nil // A request from before this hostapd.
	}
	stations, err := client.Stations(ctx)
	if err != nil {
		return err
	}
	changed, err := w.apply(ctx, client.events())
	if err != nil || changed {
		return err
	}
	change := w.associations.Replace(stations)
	if change == (Change{}) {
		return nil
	}
	w.publish(ctx, change, false)
	return errMissedEvents
}

// apply updates the set with events and publishes each change.
func (w *Watcher) apply(ctx context.Context, events []Event) (changed bool, err error) {
	for _, event := range events {
		if event.Kind == EventTerminating {
			return changed, errTerminating
		}
		if event.Kind == EventEnabled {
			w.logger.Debug("hostapd started the access point", "event", event.Name)
			w.publish(ctx, Change{}, true)
			continue
		}
		if change := w.associations.Apply(event); change != (Change{}) {
			changed = true
			w.logger.Debug("association changed", "event", event.Name, "mac", event.MAC)
			w.publish(ctx, change, false)
		}
	}
	return changed, nil
}

func (w *Watcher) publish(ctx context.Context, change Change, enabled bool) {
	update := Update{Associations: w.associations.Clone(), Change: change, Enabled: enabled}
	select {
	case w.updates <- update:
	case <-ctx.Done():
	}
}
