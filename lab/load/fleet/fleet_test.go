// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/lab/load/cell"
	"github.com/airbound/airbound/lab/load/controllertest"
	"github.com/airbound/airbound/lab/load/fleet"
	"github.com/airbound/airbound/lab/load/secure"
	"github.com/airbound/airbound/lab/load/secure/securetest"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const secondUS = 1_000_000

func parameters() cell.Parameters {
	return cell.Parameters{Seed: 3, Cells: 2, TerminalsPerCell: 4, Sending: 1, IntervalUS: secondUS, Destinations: 2}
}

func start(t *testing.T, controller *controllertest.Controller, cfg fleet.Config) (*fleet.Fleet, context.Context) {
	t.Helper()
	cfg.Address, _ = controller.Serve(t)
	cfg.ConnectPerSecond = 1000
	f, err := fleet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, complaint := range controller.Complaints() {
			t.Error(complaint)
		}
	})
	return f, ctx
}

// eventually waits for what must come true; only a failure takes the whole time.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 2000 {
		if condition() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never came true: %s", what)
}

// secured has a controller and a fleet speak TLS.
func secured(t *testing.T, controller *controllertest.Controller, cfg fleet.Config) fleet.Config {
	t.Helper()
	authority, p := credentialstest.NewAuthority(t, "authority"), cfg.Cells
	terminals := p.Cells * p.TerminalsPerCell
	controller.TLS = securetest.Server(t, authority, authority)
	directory := securetest.Directory(t, authority, p.Cells, terminals, time.Hour)
	var err error
	if cfg.Identities, err = secure.Load(directory, 0, p.Cells, 0, terminals); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestBoundsAreExpectedRecognisedAndInForce(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{true, false} {
		t.Run(map[bool]string{true: "plain text", false: "TLS"}[plain], func(t *testing.T) {
			t.Parallel()
			p := parameters()
			p.ChangeEveryUS = 2 * secondUS
			controller, cfg := &controllertest.Controller{}, fleet.Config{Cells: p, ExpectBounds: true}
			if !plain {
				cfg = secured(t, controller, cfg)
			}
			boundsAreExpectedRecognisedAndInForce(t, controller, cfg)
		})
	}
}

func boundsAreExpectedRecognisedAndInForce(t *testing.T, controller *controllertest.Controller, cfg fleet.Config) {
	t.Helper()
	f, ctx := start(t, controller, cfg)
	eventually(t, "all connected", func() bool { return f.Counts().Open.Load() == 10 })
	eventually(t, "all in force", func() bool { return controller.InForce() == 8 })
	began := time.Now()
	f.Do(ctx, func() { f.SetCounted(true); f.StartChanges() })
	// Two cells with 4 senders: 2 remain, then 4 again.
	samples := 0
	eventually(t, "latencies of a change down and up", func() bool {
		f.Do(ctx, func() { samples = len(f.Latencies().Samples) })
		return samples >= 12
	})
	f.Do(ctx, func() {
		if missing := f.Latencies().Missing; missing > 0 {
			t.Errorf("%d missing", missing)
		}
		// No change was before they began, and what all takes is no limit that a busy machine could miss.
		mostUS := time.Since(began).Microseconds()
		for _, sample := range f.Latencies().Samples {
			if sample.LatencyUS <= 0 || sample.LatencyUS > mostUS {
				t.Errorf("latency %d us, of %d us since changes began", sample.LatencyUS, mostUS)
			}
		}
	})
	if refused := f.Counts().Refused.Load(); refused > 0 {
		t.Errorf("%d commands refused", refused)
	}
	for _, trigger := range []airboundv1.TerminalReportTrigger{
		airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING,
		airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING,
	} {
		if controller.Triggers(trigger) == 0 {
			t.Errorf("no report for %v", trigger)
		}
	}
	eventually(t, "every report counted", func() bool { return controller.Reports() >= f.Counts().Sent()-2 })
}

func TestRoamingAndReconnectingOverTLSWithNewMACs(t *testing.T) {
	t.Parallel()
	p := parameters()
	p.RoamEveryUS, p.ReconnectEveryUS, p.NewMACs = 2*secondUS, 2*secondUS, true
	controller := &controllertest.Controller{}
	f, ctx := start(t, controller, secured(t, controller, fleet.Config{
		Cells: p, ExpectBounds: true, AwayMaxUS: secondUS / 2,
	}))
	eventually(t, "all connected", func() bool { return f.Counts().Open.Load() == 10 })
	f.Do(ctx, f.StartChanges)
	eventually(t, "reports of stations that join and leave", func() bool {
		const joined = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
		const left = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT
		return controller.AccessPointTriggers(joined) > 3 && controller.AccessPointTriggers(left) > 3
	})
	eventually(t, "new streams", func() bool { return controller.Streams() > 20 })
	if opened := f.Counts().Opened.Load(); opened < 20 {
		t.Errorf("%d streams were opened", opened)
	}
	eventually(t, "new stations", func() bool { return controller.Stations() > 12 })
	if broken := f.Counts().Broken.Load(); broken > 0 {
		f.Do(ctx, func() { t.Errorf("%d broken: %v", broken, f.Causes()) })
	}
}

func TestSaturatedReportsWaitForCredit(t *testing.T) {
	t.Parallel()
	p := parameters()
	controller := &controllertest.Controller{}
	const outstanding = 500
	f, ctx := start(t, controller, fleet.Config{Cells: p, Saturate: true, Outstanding: outstanding})
	eventually(t, "all connected", func() bool { return f.Counts().Open.Load() == 10 })
	eventually(t, "credit used up", func() bool { return f.Counts().Sent() >= outstanding })
	f.SetHandled(outstanding)
	eventually(t, "more sent", func() bool { return f.Counts().Sent() >= 2*outstanding })
	f.Do(ctx, func() {
		if sent := f.Counts().Sent(); sent > 2*outstanding+100 {
			t.Errorf("%d sent with credit for %d", sent, 2*outstanding)
		}
	})
}

func TestLeasesEnd(t *testing.T) {
	t.Parallel()
	controller := &controllertest.Controller{LeaseMS: 1000, NoRenewals: true}
	f, ctx := start(t, controller, fleet.Config{Cells: parameters()})
	// A terminal reports that only after bounds were in force. These bounds end too soon for a test to wait for them.
	eventually(t, "reports that bounds ended", func() bool {
		return controller.Triggers(airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED) >= 8
	})
	eventually(t, "bounds ended", func() (none bool) {
		f.Do(ctx, func() { none = f.InForce() == 0 })
		return none
	})
}

func TestAControllerThatIsNotThereIsTriedAgain(t *testing.T) {
	t.Parallel()
	nobody := netip.MustParseAddrPort("127.0.0.1:1")
	f, err := fleet.New(fleet.Config{Address: nobody, Cells: parameters(), ConnectPerSecond: 1000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	eventually(t, "two attempts of each", func() bool { return f.Counts().Broken.Load() >= 20 })
	f.Do(ctx, func() {
		if f.Causes()["connect: connection refused"] < 20 {
			t.Errorf("causes are %v", f.Causes())
		}
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestLargeChange(t *testing.T) {
	tests := map[string]struct {
		before, after int
		want          bool
	}{
		"halved": {10, 5, true}, "doubled": {5, 10, true}, "by half": {2, 3, true}, "one more": {9, 10, false},
		"none left": {1, 0, false}, "the first": {0, 1, true}, "same": {3, 3, false},
	}
	for name, test := range tests {
		if got := fleet.LargeChange(test.before, test.after); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
