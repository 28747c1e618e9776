// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/controllerclient"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The stream moves when the new connection is ready: until then it is in use.
func TestAConnectionIsReplaced(t *testing.T) {
	c := newController()
	address, _ := serve(t, c, "127.0.0.1:0")
	replace := make(chan struct{}, 1)
	var broken atomic.Bool
	connections := make(chan struct{}, 100)
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		connections <- struct{}{}
		if broken.Load() {
			return nil, errors.New("out of range")
		}
		return controllerclient.Dial(ctx, address)
	}
	a := startAgent(t, controllerclient.WithDial(controllerclient.Config{
		Addresses: []string{address}, Replace: replace,
	}, dial))
	expect(t, "state", a.states, true)
	next(t, "connection", connections)

	broken.Store(true)
	replace <- struct{}{}
	for range 3 {
		next(t, "attempt", connections)
	}
	a.outgoing <- report(1)
	expect(t, "sequence", c.sequences, 1)
	if len(a.states) > 0 {
		t.Error("the stream ended")
	}
	broken.Store(false)
	expect(t, "state", a.states, false)
	expect(t, "state", a.states, true)
	a.outgoing <- report(2)
	expect(t, "sequence", c.sequences, 2)
	if len(a.states) > 0 {
		t.Error("the stream ended again")
	}
}

// answeringLate is a controller that hands each stream to the test, which sends its answers.
type answeringLate struct {
	airboundv1.UnimplementedTerminalServiceServer
	streams chan *lateStream
}

type lateStream struct {
	grpc.BidiStreamingServer[request, response]
	reports chan uint64
	ended   chan struct{}
}

func (s *answeringLate) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	of := &lateStream{BidiStreamingServer: stream, reports: make(chan uint64, 100), ended: make(chan struct{})}
	defer close(of.ended)
	s.streams <- of
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		of.reports <- message.GetReport().GetSequence()
	}
}

func bounds(generation uint64) *response {
	return &response{Command: &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{
		SetBounds: &airboundv1.SetBounds{Generation: generation},
	}}}
}

// replacedStream has a stream replaced by another, on which nothing has been sent.
func replacedStream(t *testing.T, n *network) (a *agent, before, after *lateStream) {
	t.Helper()
	controller := &answeringLate{streams: make(chan *lateStream, 100)}
	serveOn(t, controller, n.listen(address))
	replace := make(chan struct{}, 1)
	a = startAgent(t, n.of(controllerclient.Config{Addresses: []string{address}, Replace: replace}))
	expect(t, "state", a.states, true)
	before = next(t, "stream", controller.streams)
	a.outgoing <- report(1)
	expect(t, "sequence", before.reports, 1)
	if err := before.Send(bounds(1)); err != nil {
		t.Fatal(err)
	}
	next(t, "command", a.commands)
	replace <- struct{}{}
	expect(t, "state", a.states, false)
	expect(t, "state", a.states, true)
	return a, before, next(t, "stream", controller.streams)
}

// A controller that saw one stream end before it has a report of the next would know nothing of the agent.
func TestAStreamThatIsReplacedStaysOpenUntilTheNextIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, before, after := replacedStream(t, n)
		a.outgoing <- report(2)
		expect(t, "sequence", after.reports, 2)
		if err := before.Send(bounds(2)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-before.ended:
			t.Fatal("ended")
		case <-a.commands:
			t.Fatal("a command of the old stream was handled")
		case <-time.After(1900 * time.Millisecond): // A tenth of a second less than it waits for an answer.
		}
		if err := after.Send(bounds(3)); err != nil {
			t.Fatal(err)
		}
		next(t, "end", before.ended)
		command := next(t, "command", a.commands)
		if got := command.GetCommand().GetSetBounds().GetGeneration(); got != 3 {
			t.Errorf("generation is %d, want 3", got)
		}
		a.outgoing <- report(3)
		expect(t, "sequence", after.reports, 3)
		if len(before.reports) > 0 || len(a.states) > 0 {
			t.Errorf("%d more reports on the old stream, %d changes of the state", len(before.reports), len(a.states))
		}
	})
}

// What a controller says before it has a report says nothing of what it knows.
func TestAStreamThatIsReplacedDoesNotEndByWhatComesBeforeAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, before, after := replacedStream(t, n)
		if err := after.Send(bounds(3)); err != nil {
			t.Fatal(err)
		}
		next(t, "command", a.commands)
		select {
		case <-before.ended:
			t.Fatal("ended")
		case <-time.After(1900 * time.Millisecond): // A tenth of a second less than it waits for an answer.
		}
	})
}

func TestAStreamThatIsReplacedEndsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		_, before, _ := replacedStream(t, n)
		next(t, "end", before.ended)
	})
}

func TestTheEndAfterAConnectionWasReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, before, after := replacedStream(t, n)
		a.cancel()
		if err := next(t, "end of Run", a.finished); err != nil {
			t.Fatal(err)
		}
		next(t, "end", before.ended)
		next(t, "end", after.ended)
		waitForNoGoroutineOf(t, "controllerclient.")
	})
}

func TestAConnectionThatIsNewAnywayIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		replace := make(chan struct{}, 1)
		replace <- struct{}{}
		a := startAgent(t, n.of(controllerclient.Config{Addresses: []string{address}, Replace: replace}))
		n.serve(t, c, address)
		expect(t, "state", a.states, true)
		a.outgoing <- report(1)
		expect(t, "sequence", c.sequences, 1)
		time.Sleep(2 * backoffMax) // In which nothing happens.
		if len(a.states) > 0 || len(c.streams) != 1 {
			t.Errorf("%d streams", len(c.streams))
		}
	})
}

func TestTheEndWhileAConnectionIsReplaced(t *testing.T) {
	c := newController()
	address, kill := serve(t, c, "127.0.0.1:0")
	replace := make(chan struct{}, 1)
	a := startAgent(t, controllerclient.Config{Addresses: []string{address}, Replace: replace})
	expect(t, "state", a.states, true)
	for range 20 {
		replace <- struct{}{}
	}
	kill()
	a.cancel()
	if err := next(t, "end of Run", a.finished); err != nil {
		t.Fatal(err)
	}
	waitForNoGoroutineOf(t, "controllerclient.", "internal/transport.(*http2Client)")
}

// A controller verifies certificates at each attempt; a thousand revoked phones must not keep it busy.
func TestAnAgentThatIsDeniedWaitsLonger(t *testing.T) {
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Unauthenticated} {
		t.Run(code.String(), func(t *testing.T) {
			address, _ := serve(t, newController(), "127.0.0.1:0", grpc.StreamInterceptor(
				func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
					return status.Error(code, "certificate revoked")
				}))
			_, log := startLogged(t, address)
			if _, wait := attempt(t, log); wait < time.Second {
				t.Errorf("waits %v", wait)
			}
		})
	}
}

func TestAnAttemptThatWillHardlySucceedWaitsLonger(t *testing.T) {
	address, kill := serve(t, newController(), "127.0.0.1:0")
	kill()
	log, replace := make(lines, 1000), make(chan struct{}, 1)
	startAgent(t, controllerclient.Config{
		Addresses: []string{address}, Logger: slog.New(slog.NewTextHandler(log, nil)), Replace: replace,
		Hopeless: func() bool { return true },
	})
	if _, wait := attempt(t, log); wait < time.Second {
		t.Errorf("waits %v", wait)
	}
}

// A new certificate is a reason to try at once.
func TestANewCertificateEndsTheWait(t *testing.T) {
	attempts, replace := make(chan struct{}), make(chan struct{})
	dial := func(context.Context, string) (net.Conn, error) {
		attempts <- struct{}{}
		return nil, errors.New("out of range")
	}
	cfg := controllerclient.WithDial(controllerclient.Config{
		Addresses: []string{"127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler), Replace: replace,
		BackoffMin: time.Hour, BackoffMax: time.Hour,
	}, dial)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- controllerclient.Run(ctx, cfg, controllerclient.Stream[request, response]{Open: openStream})
	}()
	for range 3 {
		next(t, "attempt", attempts)
		select {
		case replace <- struct{}{}:
		case <-time.After(timeout):
			t.Fatal("the wait does not end")
		}
	}
	next(t, "attempt", attempts)
	cancel()
	if err := next(t, "end of Run", ended); err != nil {
		t.Error(err)
	}
}
