// SPDX-License-Identifier: Apache-2.0

// Package pacing lets the connections of a stock kernel queue their whole window below TCP while bounds are in force.
//
// TCP's small queues hold back what exceeds some milliseconds of a connection's pacing rate (tcp_small_queue_check in
// net/ipv4/tcp_output.c; 7.8 ms on Wi-Fi, where mac80211 sets sk_pacing_shift to 7). The pacing rate is the window per
// smoothed RTT times a ratio, 120 % by default and 200 % in slow start (tcp_update_pacing_rate). Where a phone waits
// longer for the air than that, its queue holds less than the window, and less than a full aggregate. The patched
// kernel exempts connections with bounds; here two settings of the network namespace raise the ratio for all of them.
//
// They outlive the agent. So the own values are on record, in a file, before the first is raised, and each process that
// restores the kernel's defaults (the agent, its guard, `cleanup`, the next agent) finds them there.
package pacing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/airbound/airbound/internal/statedir"
)

// raisedPercent is the ratio under bounds: with it a window lies in the queue as a whole up to a RTT of 31 ms.
const raisedPercent = 400

// kernels are the settings, below net/ipv4, with the kernel's defaults in percent (tcp_sk_init in net/ipv4/tcp_ipv4.c).
var kernels = map[string]int{"tcp_pacing_ca_ratio": 120, "tcp_pacing_ss_ratio": 200}

const recordName = "pacing.json"

// Ratios are those of the network namespace of the thread that calls. A nil one does nothing.
type Ratios struct {
	procRoot string
	records  statedir.Directory
	logger   *slog.Logger
	// own is what Raise or Remember has found, and takes the place of a record that something else has removed.
	own map[string]int
	// isRefused is whether the kernel, or the directory of the record, did not let Raise do it.
	isRefused bool
	// isRaised is whether Raise has succeeded since the last Restore.
	isRaised bool
}

// New makes the ratios of procRoot, usually /proc; nothing is read yet. The record is in stateDir, which exists.
func New(procRoot, stateDir string, logger *slog.Logger) *Ratios {
	return &Ratios{procRoot: procRoot, records: statedir.New(stateDir), logger: logger}
}

// Raise raises what is lower. Bounds hold without it too, so what prevents it is logged, and is no error.
func (r *Ratios) Raise() {
	if r == nil || r.isRefused || r.isRaised && r.isOnRecord() { // Without the record, `cleanup` has restored them.
		return
	}
	err := r.raise()
	r.isRaised, r.isRefused = err == nil, err != nil
	if err != nil {
		r.logger.Warn("cannot raise TCP's pacing ratios: where many phones send, aggregates stay shorter", "error", err)
	}
}

func (r *Ratios) raise() error {
	if err := r.Restore(); err != nil { // An agent before, whose record may be of other values.
		return err
	}
	if err := r.remember(); err != nil || len(r.own) == 0 {
		return err
	}
	if err := r.records.Save(recordName, r.own); err != nil {
		return err
	}
	for name := range r.own {
		if err := r.write(name, raisedPercent); err != nil {
			return errors.Join(err, r.Restore())
		}
	}
	return nil
}

// Remember is for the guard, before the agent raises anything: it then needs no record.
func (r *Ratios) Remember() {
	if r == nil || r.isOnRecord() {
		return
	}
	if err := r.remember(); err != nil {
		r.own = nil // Raise will not find them either, and says so.
	}
}

// remember finds the own values of what is to be raised.
func (r *Ratios) remember() error {
	r.own = map[string]int{}
	for name := range kernels {
		percent, err := r.read(name)
		if err != nil {
			return err
		}
		if percent < raisedPercent {
			r.own[name] = percent
		}
	}
	return nil
}

// Restore writes the own values back, if any are on record or remembered. One that something else has changed meanwhile
// stays as it is now. With a record that cannot be read, the kernel's defaults are the own values.
//
// Errors: a value could not be read or written; the record then stays.
func (r *Ratios) Restore() error {
	if r == nil {
		return nil
	}
	own, err := statedir.Load(r.records, recordName, parse)
	if err != nil {
		r.logger.Warn("cannot read the own pacing ratios, taking the kernel's defaults for them", "error", err)
		own = &kernels
	}
	if own == nil {
		own = &r.own
	}
	err = nil
	for name, percent := range *own {
		err = errors.Join(err, r.restore(name, percent))
	}
	if err != nil {
		return fmt.Errorf("restore TCP's pacing ratios: %w", err)
	}
	r.own, r.isRaised, r.isRefused = nil, false, false
	return r.records.Remove(recordName)
}

func (r *Ratios) isOnRecord() bool {
	own, err := statedir.Load(r.records, recordName, parse)
	return own != nil || err != nil
}

func (r *Ratios) restore(name string, percent int) error {
	now, err := r.read(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && now != raisedPercent {
		return nil
	}
	if err != nil {
		return err
	}
	return r.write(name, percent)
}

func parse(text []byte) (map[string]int, error) {
	own := map[string]int{}
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, err
	}
	for name, percent := range own {
		if kernels[name] == 0 || percent < 0 || percent >= raisedPercent {
			return nil, fmt.Errorf("%q: %d is not what an agent raises", name, percent)
		}
	}
	return own, nil
}

func (r *Ratios) path(name string) string {
	return filepath.Join(r.procRoot, "sys", "net", "ipv4", name)
}

func (r *Ratios) read(name string) (percent int, err error) {
	text, err := os.ReadFile(r.path(name))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// write never creates the file: proc has it or does not.
func (r *Ratios) write(name string, percent int) error {
	file, err := os.OpenFile(r.path(name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.Itoa(percent) + "\n")
	return errors.Join(err, file.Close())
}
