// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/arrival/procfs"
	"github.com/airbound/airbound/phone-agent/arrival/procfs/procfstest"
	"github.com/airbound/airbound/phone-agent/status"
)

// lossy is a back end with one connection, whose first attempt after an arrival is lost.
type lossy struct {
	outages []time.Duration
	closed  bool
}

func (b *lossy) Retransmit(outage time.Duration) (arrival.Outcome, error) {
	b.outages = append(b.outages, outage)
	if len(b.outages) > 2 {
		return arrival.Outcome{}, nil
	}
	return arrival.Outcome{Unanswered: 1, AtOnce: 1}, nil
}

func (*lossy) Name() string { return "lossy" }

func (b *lossy) Close() error {
	b.closed = true
	return nil
}

// seen are the reports about arrivals.
type seen struct {
	outcomes []arrival.Outcome
	by       []status.Retransmission
	silences []time.Duration
	// The same of downloads.
	downloads   []arrival.DownloadsOutcome
	downloadsBy []status.Retransmission
}

func (s *seen) reports() arrivalReports {
	return arrivalReports{
		by:       func(by status.Retransmission) { s.by = append(s.by, by) },
		done:     func(outcome arrival.Outcome) { s.outcomes = append(s.outcomes, outcome) },
		answered: func(silence time.Duration) { s.silences = append(s.silences, silence) },
		downloadsBy: func(by status.Retransmission) {
			s.downloadsBy = append(s.downloadsBy, by)
		},
		downloadsDone: func(outcome arrival.DownloadsOutcome) {
			s.downloads = append(s.downloads, outcome)
		},
	}
}

// newLossy makes one with that back end, on a kernel whose connections do not wait.
func newLossy(backEnd *lossy) (*arrivals, *seen) {
	var heard seen
	made := newArrivals("", false, heard.reports(), slog.New(slog.DiscardHandler))
	made.open = func() (arrival.BackEnd, error) { return backEnd, nil }
	made.tables = func() ([][]byte, error) { return nil, nil }
	return made, &heard
}

func TestConnectionsRetransmitTwiceAfterAnArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var backEnd lossy
		made, heard := newLossy(&backEnd)
		start := time.Now()
		made.arrived(t.Context())
		want := []arrival.Outcome{{Unanswered: 1, AtOnce: 1}, {Unanswered: 1, AtOnce: 1}}
		if !slices.Equal(heard.outcomes, want) || time.Since(start) != againAfter {
			t.Errorf("%+v after %s", heard.outcomes, time.Since(start))
		}
		made.arrived(t.Context())
		if len(heard.outcomes) != 2 {
			t.Errorf("nothing waited: %+v", heard.outcomes)
		}
		if !slices.Equal(heard.by, []status.Retransmission{{By: "lossy"}}) || len(heard.silences) != 0 {
			t.Errorf("%+v", heard)
		}
		made.close()
		if !backEnd.closed {
			t.Error("the back end stays open")
		}
	})
}

func TestAnAgentThatEndsDoesNotWaitForTheSecondTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var backEnd lossy
		made, _ := newLossy(&backEnd)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		made.arrived(ctx)
		if len(backEnd.outages) != 1 || time.Since(start) != 0 {
			t.Errorf("%d attempts after %s", len(backEnd.outages), time.Since(start))
		}
	})
}

func TestAKernelThatCannotIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		asked := 0
		var heard seen
		made := newArrivals("", false, heard.reports(), slog.New(slog.NewTextHandler(&log, nil)))
		made.tables = func() ([][]byte, error) { return nil, nil }
		made.open = func() (arrival.BackEnd, error) {
			asked++
			return nil, errors.New("no raw sockets")
		}
		made.prepare()
		made.arrived(t.Context())
		made.close()
		if asked != 1 || strings.Count(log.String(), "no raw sockets") != 1 {
			t.Errorf("asked %d times: %s", asked, log.String())
		}
		want := []status.Retransmission{{By: status.TimersOnly, Why: "no raw sockets"}}
		if !slices.Equal(heard.by, want) || len(heard.outcomes) != 0 {
			t.Errorf("%+v", heard)
		}
	})
}

func TestWithoutArrivals(t *testing.T) {
	t.Parallel()
	var none *arrivals
	none.left()
	none.prepare()
	none.arrived(t.Context())
	none.close()
}

func TestTheOutageBeganBeforeItWasReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var backEnd lossy
		made, _ := newLossy(&backEnd)
		made.left()
		time.Sleep(2 * time.Second)
		made.left() // An attempt to associate has failed.
		time.Sleep(3 * time.Second)
		made.arrived(t.Context())
		made.arrived(t.Context()) // It roams without a disconnection.
		want := []time.Duration{
			5*time.Second + unnoticed, 5*time.Second + unnoticed + againAfter, unnoticed, unnoticed + againAfter,
		}
		if !slices.Equal(backEnd.outages, want) {
			t.Errorf("%s, not %s", backEnd.outages, want)
		}
	})
}

// attempts is a back end that notes when it was to retransmit, and of which outage.
type attempts struct{ times, outages []time.Duration }

func (b *attempts) Retransmit(outage time.Duration) (arrival.Outcome, error) {
	b.times, b.outages = append(b.times, time.Since(began)), append(b.outages, outage)
	return arrival.Outcome{}, nil
}

func (*attempts) Name() string { return "attempts" }

func (*attempts) Close() error { return nil }

// The clock of synctest begins then.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// An arrival while an earlier one is being handled does what is left of that, and the outage is the same one: nothing
// was answered in between.
func TestAnArrivalWhileAnotherIsHandled(t *testing.T) {
	t.Parallel()
	for name, silent := range map[string]bool{"a connection waits": true, "none waits": false} {
		synctest.Test(t, func(t *testing.T) {
			var backEnd attempts
			made, _ := newLossy(&lossy{})
			made.open = func() (arrival.BackEnd, error) { return &backEnd, nil }
			if silent {
				made.tables = waits(time.Hour)
			}
			server := &oneServer{stopped: 4 * time.Second, began: time.Now(), neverAnswers: true}
			made.openServers = func() (arrival.Servers, error) { return server, nil }
			made.left()
			time.Sleep(20 * time.Second)
			var first, second sync.WaitGroup
			first.Go(func() { made.arrived(t.Context()) })
			time.Sleep(400 * time.Millisecond)
			second.Go(func() { made.arrived(t.Context()) })
			first.Wait()
			if passed := time.Since(began); passed > 21*time.Second+answerPollSecond {
				t.Errorf("%s: the first ends after %s", name, passed)
			}
			second.Wait()
			if want := []time.Duration{
				20 * time.Second, 20400 * time.Millisecond, 21400 * time.Millisecond,
			}; !slices.Equal(backEnd.times, want) {
				t.Errorf("%s: at %s, not %s", name, backEnd.times, want)
			}
			for i, outage := range backEnd.outages {
				if want := backEnd.times[i] + unnoticed; outage != want {
					t.Errorf("%s: attempt %d is of an outage of %s, not %s", name, i+1, outage, want)
				}
			}
			if server.asked != len(backEnd.times) {
				t.Errorf("%s: the server is asked %d times", name, server.asked)
			}
			backEnd.outages = nil
			made.arrived(t.Context()) // The one before is over.
			if backEnd.outages[0] != unnoticed {
				t.Errorf("%s: %s", name, backEnd.outages)
			}
		})
	}
}

func TestThePatchedKernelsInterfaceIsPreferred(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	request := filepath.Join(root, "net", "tcp_retransmit")
	if err := os.WriteFile(request, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var heard seen
	made := newArrivals(root, false, heard.reports(), slog.New(slog.DiscardHandler))
	backEnd, err := made.open()
	if _, isPatched := backEnd.(*procfs.BackEnd); err != nil || !isPatched {
		t.Errorf("%T, %v", backEnd, err)
	}
}

// waits is a kernel with a connection that waits, which is answered so long after the test began.
func waits(answeredAfter time.Duration) func() ([][]byte, error) {
	began := time.Now()
	return func() ([][]byte, error) {
		kernel := procfstest.Kernel{Connections: []*procfstest.Connection{{Retransmits: 5, Backoff: 5}}}
		if time.Since(began) >= answeredAfter {
			kernel.Connections[0].Retransmits = 0
		}
		return kernel.Tables()
	}
}

func TestTheSilenceAfterAnArrivalIsMeasured(t *testing.T) {
	t.Parallel()
	for answered, limits := range map[time.Duration][2]time.Duration{
		25 * time.Millisecond:   {25 * time.Millisecond, 35 * time.Millisecond},
		1040 * time.Millisecond: {1040 * time.Millisecond, 1140 * time.Millisecond},
		7300 * time.Millisecond: {7300 * time.Millisecond, 8300 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			made, heard := newLossy(&lossy{})
			made.tables = waits(answered)
			made.arrived(t.Context())
			if len(heard.silences) != 1 || heard.silences[0] < limits[0] || heard.silences[0] > limits[1] {
				t.Errorf("%s: %s", answered, heard.silences)
			}
			if len(heard.outcomes) != 2 {
				t.Errorf("%s: %+v", answered, heard.outcomes)
			}
		})
	}
}

func TestASilenceThatHasNoEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, heard := newLossy(&lossy{})
		made.tables = waits(time.Hour)
		start := time.Now()
		made.arrived(t.Context())
		if took := time.Since(start); len(heard.silences) != 0 || took < answersEnd || took > answersEnd+time.Second {
			t.Errorf("%s after %s", heard.silences, took)
		}
	})
}

func TestASilenceEndsWithTheNextArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, heard := newLossy(&lossy{})
		made.tables = waits(4 * time.Second)
		first := make(chan time.Duration)
		start := time.Now()
		go func() {
			made.arrived(t.Context())
			first <- time.Since(start)
		}()
		time.Sleep(2500 * time.Millisecond)
		second := make(chan struct{})
		go func() {
			made.arrived(t.Context())
			close(second)
		}()
		if took := <-first; took > 2600*time.Millisecond {
			t.Errorf("the first took %s", took)
		}
		<-second
		if len(heard.silences) != 1 || heard.silences[0] > 1600*time.Millisecond {
			t.Errorf("%s", heard.silences)
		}
	})
}

func TestWithoutTheKernelsTableTheSilenceIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for reads := range 2 {
			made, heard := newLossy(&lossy{})
			var log bytes.Buffer
			made.logger = slog.New(slog.NewTextHandler(&log, nil))
			tables := waits(time.Hour)
			made.tables = func() ([][]byte, error) {
				if reads--; reads < 0 {
					return nil, errors.New("not readable")
				}
				return tables()
			}
			made.arrived(t.Context())
			said := strings.Count(log.String(), "not readable")
			if len(heard.silences) != 0 || len(heard.outcomes) != 2 || said != 1 {
				t.Errorf("%+v, %s", heard, log.String())
			}
		}
	})
}

// oneServer is of one download that stopped so long before the test began, and goes on when it is asked a second time.
type oneServer struct {
	stopped time.Duration
	began   time.Time
	asked   int
	err     error
	closed  bool
	// Whether the download never goes on.
	neverAnswers bool
}

func (s *oneServer) Receiving() ([]arrival.Download, error) {
	if s.asked > 1 && !s.neverAnswers {
		return nil, s.err
	}
	return []arrival.Download{{Quiet: s.stopped + time.Since(s.began)}}, s.err
}

func (s *oneServer) Acknowledge(arrival.Download) error {
	s.asked++
	return nil
}

func (*oneServer) Unreachable(arrival.Download) error { return nil }

func (s *oneServer) Close() error {
	s.closed = true
	return nil
}

func TestServersAreAskedTwiceAfterAnArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, heard := newLossy(&lossy{})
		server := &oneServer{stopped: 4 * time.Second, began: time.Now()}
		opened := 0
		made.openServers = func() (arrival.Servers, error) {
			opened++
			return server, nil
		}
		made.left()
		time.Sleep(time.Second)
		start := time.Now()
		made.arrived(t.Context())
		// Five and six seconds: after 0.2, 0.6, 1.4, 3 s; and one, and the acknowledgment.
		want := []arrival.DownloadsOutcome{{Silent: 1, Messages: 6}, {Messages: 6}}
		if !slices.Equal(heard.downloads, want) || time.Since(start) != againAfter {
			t.Errorf("%+v after %s", heard.downloads, time.Since(start))
		}
		made.arrived(t.Context())
		if !slices.Equal(heard.downloads, want) || opened != 1 {
			t.Errorf("%+v, opened %d times", heard.downloads, opened)
		}
		if !slices.Equal(heard.downloadsBy, []status.Retransmission{{By: arrival.ToServers}}) {
			t.Errorf("%+v", heard.downloadsBy)
		}
		made.close()
		if !server.closed {
			t.Error("the servers stay open")
		}
	})
}

func TestServersThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		made, heard := newLossy(&lossy{})
		made.logger = slog.New(slog.NewTextHandler(&log, nil))
		asked := 0
		made.openServers = func() (arrival.Servers, error) {
			asked++
			return nil, errors.New("no raw sockets")
		}
		made.prepare()
		made.arrived(t.Context())
		made.close()
		if asked != 1 || strings.Count(log.String(), "no raw sockets") != 1 || len(heard.downloads) != 0 {
			t.Errorf("asked %d times: %s", asked, log.String())
		}
		want := []status.Retransmission{{By: status.TimersOnly, Why: "no raw sockets"}}
		if !slices.Equal(heard.downloadsBy, want) || len(heard.outcomes) != 2 {
			t.Errorf("%+v", heard)
		}
		made.openServers = func() (arrival.Servers, error) { return &oneServer{err: errors.New("no list")}, nil }
		made.arrived(t.Context())
		if strings.Count(log.String(), "no list") != 1 || len(heard.downloads) != 0 {
			t.Errorf("%s", log.String())
		}
	})
}

func TestServersAreAskedOnlyIfTheOwnerAllowsIt(t *testing.T) {
	t.Parallel()
	for asksServers, flags := range map[bool][]string{false: nil, true: {"--ask-servers"}} {
		var options runOptions
		set := flag.NewFlagSet("run", flag.ContinueOnError)
		options.register(set)
		if err := set.Parse(flags); err != nil {
			t.Fatal(err)
		}
		made := newArrivals("", options.asksServers, arrivalReports{}, slog.New(slog.DiscardHandler))
		if (made.openServers != nil) != asksServers {
			t.Errorf("%s", flags)
		}
	}
	both := runOptions{noRetransmit: true, asksServers: true}
	if err := both.checkRetransmission(); err == nil || !strings.Contains(err.Error(), "--ask-servers") {
		t.Error(err)
	}
}
