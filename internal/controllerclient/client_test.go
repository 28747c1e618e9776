// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/internal/controllerclient"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

type (
	request  = airboundv1.TerminalServiceConnectRequest
	response = airboundv1.TerminalServiceConnectResponse
)

const (
	timeout = 30 * time.Second

	backoffMin = 5 * time.Millisecond
	backoffMax = 50 * time.Millisecond

	// address is a controller's in a network.
	address = "192.0.2.1:1"
)

// controller is a real gRPC server that delivers what it receives and sends one command per stream.
type controller struct {
	airboundv1.UnimplementedTerminalServiceServer
	sequences chan uint64
	streams   chan struct{}
	// endAfter ends a stream after so many reports, endAtOnce as soon as it is open.
	endAfter  int
	endAtOnce bool
	// subjectBytes makes the command that long, and more.
	subjectBytes int
}

func newController() *controller {
	return &controller{sequences: make(chan uint64, 100), streams: make(chan struct{}, 100)}
}

func (c *controller) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	c.streams <- struct{}{}
	if c.endAtOnce {
		return nil
	}
	bounds := &airboundv1.SetBounds{
		Generation: 250, Reason: &airboundv1.Reason{Subject: strings.Repeat("x", c.subjectBytes)},
	}
	command := &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{SetBounds: bounds}}
	if err := stream.Send(&response{Command: command}); err != nil {
		return err
	}
	for received := 1; ; received++ {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		c.sequences <- message.GetReport().GetSequence()
		if received == c.endAfter {
			return nil
		}
	}
}

// serve listens on address and returns the address in use and a function that kills the server.
func serve(t *testing.T, c *controller, address string, options ...grpc.ServerOption) (string, func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String(), serveOn(t, c, listener, options...)
}

func serveOn(
	t *testing.T, c airboundv1.TerminalServiceServer, listener net.Listener, options ...grpc.ServerOption,
) func() {
	t.Helper()
	server := grpc.NewServer(options...)
	airboundv1.RegisterTerminalServiceServer(server, c)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	// Serve closes the listener of a server that was stopped before it.
	kill := sync.OnceFunc(func() {
		server.Stop()
		<-served
	})
	t.Cleanup(kill)
	return kill
}

// agent is a running client with what it received.
type agent struct {
	outgoing chan *request
	commands chan *response
	states   chan bool
	finished chan error
	cancel   context.CancelFunc
}

func startAgent(t *testing.T, cfg controllerclient.Config) *agent {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a := &agent{
		outgoing: make(chan *request), commands: make(chan *response, 100), states: make(chan bool, 100),
		finished: make(chan error, 1), cancel: cancel,
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.BackoffMin, cfg.BackoffMax = backoffMin, backoffMax
	go func() {
		a.finished <- controllerclient.Run(ctx, cfg, controllerclient.Stream[request, response]{
			Open: openStream, Outgoing: a.outgoing, Handle: func(r *response) { a.commands <- r },
			OnState: func(connected bool) { a.states <- connected },
		})
	}()
	t.Cleanup(a.cancel)
	return a
}

func openStream(ctx context.Context, conn *grpc.ClientConn) (grpc.BidiStreamingClient[request, response], error) {
	return airboundv1.NewTerminalServiceClient(conn).Connect(ctx)
}

func report(sequence uint64) *request {
	return &request{Report: &airboundv1.TerminalReport{Sequence: sequence}}
}

func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(timeout):
		t.Fatalf("no %s within %v", what, timeout)
		panic("unreachable")
	}
}

func expect[T comparable](t *testing.T, what string, from <-chan T, want T) {
	t.Helper()
	if got := next(t, what, from); got != want {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func TestReportsAndCommandsPass(t *testing.T) {
	c := newController()
	address, _ := serve(t, c, "127.0.0.1:0")
	a := startAgent(t, controllerclient.Config{Addresses: []string{address}})
	expect(t, "state", a.states, true)
	command := next(t, "command", a.commands)
	if got := command.GetCommand().GetSetBounds().GetGeneration(); got != 250 {
		t.Fatalf("generation is %d, want 250", got)
	}
	for sequence := uint64(1); sequence <= 5; sequence++ {
		a.outgoing <- report(sequence)
		expect(t, "sequence", c.sequences, sequence)
	}
}

func TestTheRemoteAddressIsReportedBeforeTheStreamOpens(t *testing.T) {
	address, _ := serve(t, newController(), "127.0.0.1:0")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	remotes := make(chan netip.AddrPort, 10)
	a := startAgent(t, controllerclient.Config{
		Addresses: []string{"localhost:" + port}, Dialed: func(remote netip.AddrPort) { remotes <- remote },
	})
	expect(t, "state", a.states, true)
	select {
	case remote := <-remotes:
		if remote.String() != address {
			t.Errorf("%v, want %s", remote, address)
		}
	default:
		t.Error("not reported")
	}
}

func TestReconnectsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		kill := n.serve(t, c, address)
		a := startAgent(t, n.of(controllerclient.Config{Addresses: []string{address}}))
		for restart := range 3 {
			expect(t, "state", a.states, true)
			a.outgoing <- report(uint64(restart))
			expect(t, "sequence", c.sequences, uint64(restart))
			kill()
			expect(t, "state", a.states, false)
			kill = n.serve(t, c, address)
		}
		expect(t, "state", a.states, true)
	})
}

func TestReconnectsAfterControllerEndsStream(t *testing.T) {
	c := newController()
	c.endAfter = 1
	address, _ := serve(t, c, "127.0.0.1:0")
	a := startAgent(t, controllerclient.Config{Addresses: []string{address}})
	for sequence := uint64(1); sequence <= 3; sequence++ {
		expect(t, "state", a.states, true)
		a.outgoing <- report(sequence)
		expect(t, "sequence", c.sequences, sequence)
		expect(t, "state", a.states, false)
	}
}

func TestAReportFromBeforeTheStreamIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		a := startAgent(t, n.of(controllerclient.Config{Addresses: []string{address}}))
		for sequence := uint64(1); sequence <= 5; sequence++ {
			select {
			case a.outgoing <- report(sequence):
			case <-time.After(timeout):
				t.Fatal("Run does not receive while disconnected")
			}
		}
		n.serve(t, c, address)
		expect(t, "state", a.states, true)
		// A phone that reconnects with another MAC address must not be reported with the old one.
		a.outgoing <- report(6)
		expect(t, "sequence", c.sequences, 6)
	})
}

func TestKeepNewestDropsTheOlder(t *testing.T) {
	in := make(chan *int)
	newest, _, stopped := controllerclient.KeepNewest(t.Context(), in, nil)
	for value := range 10 {
		in <- &value
	}
	close(in)
	next(t, "end", stopped)
	if got := *next(t, "value", newest); got != 9 {
		t.Fatalf("kept %d, want 9", got)
	}
	expectNone(t, newest)
}

func TestKeepNewestDropsOnRequest(t *testing.T) {
	in := make(chan *int)
	newest, drop, stopped := controllerclient.KeepNewest(t.Context(), in, nil)
	for value := range 100 {
		in <- &value
		drop()
		expectNone(t, newest)
	}
	last := 100
	in <- &last
	if got := *next(t, "value", newest); got != last {
		t.Fatalf("kept %d, want %d", got, last)
	}
	in <- &last
	close(in)
	next(t, "end", stopped)
	drop()
	expectNone(t, newest)
}

func expectNone(t *testing.T, newest <-chan *int) {
	t.Helper()
	select {
	case value := <-newest:
		t.Fatalf("kept %d, want nothing", *value)
	default:
	}
}

func TestCancelEndsRunWithoutLeaks(t *testing.T) {
	tests := map[string]struct{ reachable bool }{
		"connected":    {reachable: true},
		"disconnected": {reachable: false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newController()
			address, kill := serve(t, c, "127.0.0.1:0")
			if !test.reachable {
				kill()
			}
			a := startAgent(t, controllerclient.Config{Addresses: []string{address}})
			if test.reachable {
				expect(t, "state", a.states, true)
			}
			a.outgoing <- report(1)
			a.cancel()
			if err := next(t, "end of Run", a.finished); err != nil {
				t.Fatalf("Run returned %v, want nil", err)
			}
			waitForNoGoroutineOf(
				t,
				"controllerclient.Run[",
				"controllerclient.session[",
				"controllerclient.keepNewest[",
				"grpc.(*ClientConn)",
				"internal/transport.(*http2Client)",
			)
		})
	}
}

// waitForNoGoroutineOf waits until no goroutine's stack names any of the functions.
func waitForNoGoroutineOf(t *testing.T, functions ...string) {
	t.Helper()
	var left string
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		buffer := make([]byte, 1<<20)
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		left = ""
		for _, function := range functions {
			if strings.Contains(stacks, function) {
				left = function
			}
		}
		if left == "" {
			return
		}
	}
	t.Fatalf("a goroutine of %s is left", left)
}

func TestAControllerThatStopsRespondingIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.serve(t, newController(), address)
		var lost atomic.Bool
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := n.dial(ctx, address)
			return frozen{conn, &lost}, err
		}
		a := startAgent(t, controllerclient.WithDial(controllerclient.Config{Addresses: []string{address}}, dial))
		expect(t, "state", a.states, true)
		next(t, "command", a.commands)
		lostAt := time.Now()
		lost.Store(true)
		expect(t, "state", a.states, false)
		if took := time.Since(lostAt); took > 18*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// Shorter, and a link with seconds of delay would never be connected.
func TestAControllerThatAcceptsAndSaysNothingIsTriedAgainAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.listen(address)
		log := make(lines, 1000)
		started := time.Now()
		startAgent(t, n.of(controllerclient.Config{
			Addresses: []string{address}, Logger: slog.New(slog.NewTextHandler(log, nil)),
		}))
		attempt(t, log)
		if took := time.Since(started); took != 5*time.Second {
			t.Errorf("gave up after %v", took)
		}
	})
}

func TestConfigErrors(t *testing.T) {
	tests := map[string]struct {
		cfg  controllerclient.Config
		want string
	}{
		"no address": {controllerclient.Config{}, "controller address is empty"},
		"negative":   {controllerclient.Config{Addresses: []string{"127.0.0.1:1"}, BackoffMin: -1}, "not a range"},
		"minimum is max": {
			controllerclient.Config{Addresses: []string{"127.0.0.1:1"}, BackoffMin: 2, BackoffMax: 1},
			"not a range",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stream := controllerclient.Stream[request, response]{Open: openStream}
			err := controllerclient.Run(t.Context(), test.cfg, stream)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestAMessageThatIsReplacedIsMergedIntoTheNewer(t *testing.T) {
	in := make(chan *[]int)
	newest, _, stopped := controllerclient.KeepNewest(t.Context(), in, func(older, newer *[]int) {
		*newer = append(*newer, *older...)
	})
	for value := range 4 {
		in <- &[]int{value}
	}
	close(in)
	next(t, "end", stopped)
	if got := *next(t, "value", newest); !slices.Equal(got, []int{3, 2, 1, 0}) {
		t.Fatalf("got %v, want the newest with what it replaced", got)
	}
}

func TestACommandOfMoreThanOneMebibyteBreaksTheStream(t *testing.T) {
	for name, test := range map[string]struct {
		subjectBytes int
		accepted     bool
	}{
		"just below": {1<<20 - 100, true},
		"above":      {1 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController()
			c.subjectBytes = test.subjectBytes
			address, _ := serve(t, c, "127.0.0.1:0")
			a := startAgent(t, controllerclient.Config{Addresses: []string{address}})
			expect(t, "state", a.states, true)
			if test.accepted {
				next(t, "command", a.commands)
				return
			}
			expect(t, "state", a.states, false)
			if len(a.commands) > 0 {
				t.Error("the command was delivered")
			}
		})
	}
}

// failed is what the client logs of one attempt that failed.
var failed = regexp.MustCompile(`level=(\w+) msg="no stream to the controller" .* retry_in=(\S+)`)

// attempt returns level and wait of the next attempt that failed.
func attempt(t *testing.T, log lines) (level string, wait time.Duration) {
	t.Helper()
	for {
		found := failed.FindStringSubmatch(next(t, "attempt", log))
		if found == nil {
			continue
		}
		wait, err := time.ParseDuration(found[2])
		if err != nil {
			t.Fatal(err)
		}
		return found[1], wait
	}
}

func startLogged(t *testing.T, address string) (*agent, lines) {
	t.Helper()
	log := make(lines, 1000)
	handler := slog.NewTextHandler(log, debug)
	return startAgent(t, controllerclient.Config{Addresses: []string{address}, Logger: slog.New(handler)}), log
}

var debug = &slog.HandlerOptions{Level: slog.LevelDebug}

func TestBackOffStartsAgainAfterAStreamThatLasted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c, log := newController(), make(lines, 1000)
		a := startAgent(t, n.of(controllerclient.Config{
			Addresses: []string{address}, Logger: slog.New(slog.NewTextHandler(log, debug)),
		}))
		for wait := time.Duration(0); wait < backoffMax/2; {
			_, wait = attempt(t, log)
		}
		kill := n.serve(t, c, address)
		expect(t, "state", a.states, true)
		time.Sleep(2 * backoffMax) // The stream lasts.
		for len(log) > 0 {
			<-log
		}
		kill()
		if _, wait := attempt(t, log); wait > backoffMin {
			t.Errorf("after a stream that lasted the client waits %v, want at most %v", wait, backoffMin)
		}
	})
}

func TestBackOffGrowsIfTheControllerEndsEveryStreamAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c, log := newController(), make(lines, 1000)
		c.endAtOnce = true
		n.serve(t, c, address)
		startAgent(t, n.of(controllerclient.Config{
			Addresses: []string{address}, Logger: slog.New(slog.NewTextHandler(log, debug)),
		}))
		longest := time.Duration(0)
		for range 6 {
			_, wait := attempt(t, log)
			longest = max(longest, wait)
		}
		if longest < backoffMax/2 {
			t.Errorf("the longest of six waits is %v, want %v or more", longest, backoffMax/2)
		}
	})
}

func TestACauseIsLoggedAsAWarningOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		log := make(lines, 1000)
		a := startAgent(t, n.of(controllerclient.Config{
			Addresses: []string{address}, Logger: slog.New(slog.NewTextHandler(log, debug)),
		}))
		for i, want := range []string{"WARN", "DEBUG", "DEBUG"} {
			if level, _ := attempt(t, log); level != want {
				t.Errorf("attempt %d is logged as %s, want %s", i, level, want)
			}
		}
		kill := n.serve(t, c, address)
		expect(t, "state", a.states, true)
		for len(log) > 0 {
			<-log
		}
		kill()
		if level, _ := attempt(t, log); level != "WARN" {
			t.Errorf("the end of a stream is logged as %s", level)
		}
	})
}

func TestDefaults(t *testing.T) {
	cfg, err := controllerclient.WithDefaults(controllerclient.Config{Addresses: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.BackoffMin != controllerclient.BackoffMinDefault || cfg.BackoffMax != controllerclient.BackoffMaxDefault {
		t.Errorf("back-off from %v to %v", cfg.BackoffMin, cfg.BackoffMax)
	}
	if cfg.Logger != slog.Default() {
		t.Error("another logger than the default")
	}
	// grpc-go takes no interval below 10 s; a full cell without bounds has an RTT of over 2 s.
	if interval, timeout := controllerclient.Keepalive(cfg); interval != 10*time.Second || timeout != 8*time.Second {
		t.Errorf("keepalive after %v for %v", interval, timeout)
	}
}

func TestAFirstWaitAboveTheDefaultLongestIsTheLongest(t *testing.T) {
	const minute = time.Minute
	cfg := controllerclient.Config{Addresses: []string{"127.0.0.1:1"}, BackoffMin: minute}
	cfg, err := controllerclient.WithDefaults(cfg)
	if err != nil || cfg.BackoffMin != minute || cfg.BackoffMax != minute {
		t.Errorf("back-off from %v to %v, %v", cfg.BackoffMin, cfg.BackoffMax, err)
	}
}

func TestDefaultsOfTheBackOff(t *testing.T) {
	// A lease is 6 s and renewed every 2 s.
	const leaseLeft = 4 * time.Second
	if controllerclient.BackoffMaxDefault > leaseLeft/2 || controllerclient.BackoffMinDefault > 100*time.Millisecond {
		t.Errorf("from %v to %v", controllerclient.BackoffMinDefault, controllerclient.BackoffMaxDefault)
	}
}
