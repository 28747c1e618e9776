// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"math"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/ap-firmware/windows"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Windows is what the agent follows connections, and limits receive windows, with. Its zero value does neither.
type Windows struct {
	// On is whether the access point's owner permits it.
	On bool
	// Off is why it cannot be done here; empty if it can.
	Off    string
	Kernel WindowsKernel
}

// WindowsKernel is the kernel's part, which the BSSs of a process share. A BSS is named by its interface.
type WindowsKernel interface {
	// Attach makes sure that connections are followed at the BSS's interfaces, or at the one that is named like it.
	Attach(bss string, indexes []uint32) error
	// Detach ends that, and the BSS's limits.
	Detach(bss string) error
	// SetLimits replaces the BSS's limits. The kernel ends them at the deadline, CLOCK_MONOTONIC, by itself.
	SetLimits(bss string, limits []windows.Limit, deadlineUS int64) error
	// Observe reads the connections, unless that was done a moment ago.
	Observe(nowUS int64) (windows.Observation, error)
	// Destinations are those of a station by the last observation.
	Destinations(station mac.Address) []*airboundv1.StationDestination
}

// attachAgainUS is the time between two looks whether connections are followed while there are no reports.
const attachAgainUS = 2_000_000

const usPerMS = 1000

// limits is the part of the agent that limits windows.
type limits struct {
	leasedSet[windows.Limit]
	windows       *windows.Lease
	cfg           Windows
	bss           string
	nextAttachUS  int64
	observed      windows.Observation
	observeErrors uint64
}

func newLimits(cfg Config) limits {
	set := &windows.Lease{}
	return limits{
		leasedSet: leasedSet[windows.Limit]{
			logger: cfg.Logger, malformed: cfg.Malformed, lease: &set.Lease, words: setWords{
				entries: "limits", doing: "limiting windows", lacking: "cannot follow the stations' connections",
				beginning: "following the stations' connections", without: "no window is limited",
			},
		},
		windows: set, cfg: cfg.Windows, bss: cfg.EDCA.State.Interface,
	}
}

func (l *limits) start(nowUS int64) {
	if !l.cfg.On {
		return
	}
	l.explain("the controller has not limited windows yet")
	l.attach(nowUS, nil)
}

func (l *limits) isUsable() bool { return l.cfg.On && l.cfg.Off == "" }

func (l *limits) cannot() string {
	if !l.cfg.On {
		return "switched off on the access point"
	}
	if l.cfg.Off != "" {
		return l.cfg.Off
	}
	return l.refusal
}

// attach makes sure that connections are followed.
func (l *limits) attach(nowUS int64, indexes []uint32) {
	if !l.isUsable() {
		return
	}
	l.nextAttachUS = nowUS + attachAgainUS
	l.refuse(l.cfg.Kernel.Attach(l.bss, indexes))
}

// command executes a command of the controller. One that is refused is counted and changes nothing.
func (l *limits) command(nowUS int64, command *airboundv1.SetWindows) {
	l.expire(nowUS)
	if err := l.execute(nowUS, command); err != nil {
		l.refused(err)
	}
}

func (l *limits) execute(nowUS int64, command *airboundv1.SetWindows) error {
	// An empty set is never refused for that.
	if refusal := l.cannot(); refusal != "" && len(command.GetLimits()) > 0 {
		return fmt.Errorf("set_windows: cannot limit windows: %s", refusal)
	}
	outcome, err := l.windows.Set(nowUS, command)
	if err != nil {
		l.malformed.Add()
		return err
	}
	l.accepted(outcome, command)
	if !l.isUsable() {
		return nil
	}
	inForce := l.lease.InForce()
	if err := l.cfg.Kernel.SetLimits(l.bss, inForce.Entries, inForce.DeadlineUS); err != nil {
		l.failed(err)
		l.remove()
		return nil
	}
	l.applied(nowUS, outcome)
	return nil
}

func (l *limits) remove() { l.removed(l.cfg.Kernel.SetLimits(l.bss, nil, 0)) }

// expire follows the end of the lease.
func (l *limits) expire(nowUS int64) {
	if l.leasedSet.expire(nowUS) {
		l.remove()
	}
}

// observe takes over what a sample of the kernel says, and reads the connections.
func (l *limits) observe(nowUS int64, snapshot nl80211.Snapshot) {
	l.attach(nowUS, snapshot.Indexes())
	if !l.isUsable() {
		return
	}
	observed, err := l.cfg.Kernel.Observe(nowUS)
	if err != nil {
		if sparselog.Add(&l.observeErrors, 1) {
			l.logger.Warn("cannot read the stations' connections", "error", err, "total", l.observeErrors)
		}
		return
	}
	l.observed = observed
}

// report adds to a report what is known. An agent that may not follow connections says nothing of them.
func (l *limits) report(message *airboundv1.AccessPointReport) {
	if !l.cfg.On {
		return
	}
	message.Windows = l.message()
	if !l.isUsable() {
		return
	}
	for _, station := range message.GetStations() {
		station.Destinations = l.cfg.Kernel.Destinations(mac.Address(station.GetMac()))
	}
}

func (l *limits) message() *airboundv1.WindowState {
	refusal := l.cannot()
	return &airboundv1.WindowState{
		CanSet: refusal == "", Refusal: refusal, Generation: l.lease.InForce().Generation,
		RefusedTotal:            l.state.CommandsRefused,
		Connections:             uint32(l.observed.Connections),    //nolint:gosec // the size of a map
		ConnectionsMax:          uint32(l.observed.ConnectionsMax), //nolint:gosec // the size of a map
		ConnectionsEvictedTotal: l.observed.EvictedTotal, LimitedSegmentsTotal: l.observed.LimitedTotal,
		LimitsMax: windows.LimitsMax,
	}
}

// wake does what is due.
func (l *limits) wake(nowUS int64) {
	if !l.cfg.On {
		return
	}
	l.expire(nowUS)
	if l.isUsable() && nowUS >= l.nextAttachUS {
		l.attach(nowUS, nil)
	}
}

// nextWakeUS is when wake must be called at the latest.
func (l *limits) nextWakeUS() int64 {
	next := int64(math.MaxInt64)
	if l.isUsable() {
		next = l.nextAttachUS
	}
	if inForce := l.lease.InForce(); inForce.Generation != 0 {
		next = min(next, inForce.DeadlineUS)
	}
	return next
}

// stop ends it for good.
func (l *limits) stop() error {
	if !l.isUsable() {
		return nil
	}
	l.lease.Drop()
	l.explain("the agent stopped")
	if err := l.cfg.Kernel.Detach(l.bss); err != nil {
		return errors.Join(errors.New("stop following the stations' connections"), err)
	}
	return nil
}

// saved is what is written to the state file now; nil if the owner does not permit to limit windows.
func (l *limits) saved() *status.Windows {
	l.due = false
	if !l.cfg.On {
		return nil
	}
	entries := l.lease.InForce().Entries
	return &status.Windows{
		Leased: l.leasedSet.saved(l.cannot(), stationsOf(entries)), Limits: len(entries),
		Connections: l.observed.Connections, ConnectionsMax: l.observed.ConnectionsMax,
		ConnectionsEvicted: l.observed.EvictedTotal, SegmentsLimited: l.observed.LimitedTotal,
	}
}

// stationsOf counts the stations that have one of the limits or more.
func stationsOf(limits []windows.Limit) int {
	stations := make(map[mac.Address]struct{}, len(limits))
	for _, limit := range limits {
		stations[limit.Station] = struct{}{}
	}
	return len(stations)
}
