// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/airbound/airbound/internal/controllerclient"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestTheWaitForAnAnswerFollowsFromTheLastOnes(t *testing.T) {
	var times controllerclient.AnswerTimes
	for _, step := range []struct{ took, want time.Duration }{
		{10 * time.Millisecond, 2 * time.Second}, // the shortest wait
		{time.Second, 3 * time.Second},
		{2500 * time.Millisecond, 7500 * time.Millisecond}, // an RTT in a full cell
		{8 * time.Second, 10 * time.Second},                // the longest wait
	} {
		times.Add(step.took)
		if got := times.Wait(); got != step.want {
			t.Errorf("after %v: %v, want %v", step.took, got, step.want)
		}
	}
	for range 8 {
		times.Add(0)
	}
	if got := times.Wait(); got != 2*time.Second {
		t.Errorf("after eight quick ones: %v", got)
	}
}

// answering answers the first reports of each stream, up to a number; then it hangs.
type answering struct {
	airboundv1.UnimplementedTerminalServiceServer
	answers int
	asked   chan []string
	reports chan uint64
}

func (s *answering) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	key, _ := controllerclient.AnswersMetadata()
	incoming, _ := metadata.FromIncomingContext(stream.Context())
	s.asked <- incoming.Get(key)
	for left := s.answers; ; left-- {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		s.reports <- message.GetReport().GetSequence()
		if left > 0 {
			if err := stream.Send(&response{}); err != nil {
				return err
			}
		}
	}
}

func serveAnswering(t *testing.T, n *network, address string, answers int) *answering {
	t.Helper()
	s := &answering{answers: answers, asked: make(chan []string, 100), reports: make(chan uint64, 1000)}
	serveOn(t, s, n.listen(address))
	return s
}

// often is how often an agent of these tests reports.
const often = 20 * time.Millisecond

// startReporting starts an agent.
func startReporting(
	t *testing.T, n *network, addresses []string, interval time.Duration, logger *slog.Logger,
) (handled <-chan *response) {
	t.Helper()
	return startAnswered(t, n, addresses, interval, logger, nil)
}

// startAnswered starts an agent that takes answers as well.
func startAnswered(
	t *testing.T, n *network, addresses []string, interval time.Duration, logger *slog.Logger,
	answered func(*response),
) (handled <-chan *response) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	outgoing, commands := make(chan *request), make(chan *response, 100)
	var group sync.WaitGroup
	group.Go(func() {
		for sequence := uint64(1); ; sequence++ {
			select {
			case outgoing <- report(sequence):
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(interval):
			case <-ctx.Done():
				return
			}
		}
	})
	group.Go(func() {
		_ = controllerclient.Run(ctx, n.of(controllerclient.Config{
			Addresses: addresses, Logger: logger, BackoffMin: backoffMin, BackoffMax: backoffMax,
		}), controllerclient.Stream[request, response]{
			Open: openStream, Outgoing: outgoing, OnState: func(bool) {},
			IsAnswer: func(r *response) bool { return r.GetCommand() == nil },
			Handle:   func(r *response) { commands <- r },
			Answered: answered,
		})
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return commands
}

// syncLog is a log that a test reads while an agent writes.
type syncLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *syncLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestAControllerThatNoLongerAnswersIsLeftForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		const other = "192.0.2.2:1"
		one, two := serveAnswering(t, n, address, 3), serveAnswering(t, n, other, 3)
		var log syncLog
		commands := startReporting(t, n, []string{address, other}, often, slog.New(slog.NewTextHandler(&log, nil)))
		// Both hang after three answers each, with their connections open: the stream goes from one to the other.
		from, to := one, two
		select {
		case asked := <-one.asked:
			checkAsked(t, asked)
		case asked := <-two.asked:
			checkAsked(t, asked)
			from, to = two, one
		case <-time.After(timeout):
			t.Fatal("no stream")
		}
		for range 3 {
			checkAsked(t, next(t, "stream at the other", to.asked))
			from, to = to, from
		}
		if got := log.String(); !strings.Contains(got, "the controller does not answer within 2s") {
			t.Errorf("logged:\n%s", got)
		}
		if len(commands) > 0 {
			t.Errorf("an answer was handled: %v", <-commands)
		}
	})
}

func TestAnswersAreHandedOutApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		s := serveAnswering(t, n, address, 1000)
		answers := make(chan *response, 1000)
		commands := startAnswered(t, n, []string{address}, often, slog.New(slog.DiscardHandler),
			func(r *response) { answers <- r })
		next(t, "stream", s.asked)
		next(t, "answer", answers)
		next(t, "another answer", answers)
		if len(commands) > 0 {
			t.Errorf("an answer was handled as a command: %v", <-commands)
		}
	})
}

func checkAsked(t *testing.T, asked []string) {
	t.Helper()
	if _, value := controllerclient.AnswersMetadata(); !slices.Equal(asked, []string{value}) {
		t.Errorf("asked for answers with %q", asked)
	}
}

func TestAControllerThatKnowsNothingOfAnswersIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		s := serveAnswering(t, n, address, 0)
		startReporting(t, n, []string{address}, often, slog.New(slog.DiscardHandler))
		next(t, "stream", s.asked)
		for began := time.Now(); time.Since(began) < 4*time.Second; {
			next(t, "report", s.reports)
		}
		if len(s.asked) > 0 {
			t.Error("another stream was opened")
		}
	})
}

// renewing answers as a controller does: not if it has sent something shortly before, such as the renewal that
// it sends every second time shortly before it expects a report.
type renewing struct {
	airboundv1.UnimplementedTerminalServiceServer
	interval time.Duration
	streams  chan struct{}
}

func (s *renewing) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	const before = time.Second // less than a controller leaves a report unanswered for
	s.streams <- struct{}{}
	for renews := true; ; renews = !renews {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if !renews { // there was a renewal before this report
			continue
		}
		if err := stream.Send(&response{}); err != nil {
			return err
		}
		time.Sleep(s.interval - before)
		if err := stream.Send(&response{}); err != nil {
			return err
		}
	}
}

func TestAReportThatIsLeftUnansweredEndsNoStreamBeforeTheNextOne(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond, 5 * time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				s := &renewing{interval: interval, streams: make(chan struct{}, 100)}
				serveOn(t, s, n.listen(address))
				var log syncLog
				startReporting(t, n, []string{address}, interval, slog.New(slog.NewTextHandler(&log, nil)))
				time.Sleep(time.Minute)
				if streams := len(s.streams); streams != 1 {
					t.Errorf("%d streams within a minute:\n%s", streams, &log)
				}
			})
		})
	}
}
