// SPDX-License-Identifier: Apache-2.0

package uplink_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
	"github.com/airbound/airbound/uplink"
)

type (
	request  = airboundv1.AccessPointServiceConnectRequest
	response = airboundv1.AccessPointServiceConnectResponse
)

const patience = 30 * time.Second

// controller is a real gRPC server that passes on what it receives and sends one command per stream.
type controller struct {
	airboundv1.UnimplementedAccessPointServiceServer
	sequences chan uint64
	streams   chan struct{}
	// endAfter ends a stream after so many reports; 0 never does.
	endAfter int
}

func newController() *controller {
	return &controller{sequences: make(chan uint64, 100), streams: make(chan struct{}, 100)}
}

func (c *controller) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	c.streams <- struct{}{}
	command := &airboundv1.AccessPointCommand{ReportIntervalMs: 250}
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
	server := grpc.NewServer(options...)
	airboundv1.RegisterAccessPointServiceServer(server, c)
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
	return listener.Addr().String(), kill
}

// agent is a running uplink with what it told its owner.
type agent struct {
	outgoing chan *request
	commands chan *response
	states   chan bool
	finished chan error
	cancel   context.CancelFunc
}

func startAgent(t *testing.T, cfg uplink.Config) *agent {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a := &agent{
		outgoing: make(chan *request), commands: make(chan *response, 100), states: make(chan bool, 100),
		finished: make(chan error, 1), cancel: cancel,
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.BackoffMin, cfg.BackoffMax = 5*time.Millisecond, 50*time.Millisecond
	go func() {
		a.finished <- uplink.Run(ctx, cfg, openStream, a.outgoing, func(r *response) { a.commands <- r },
			func(connected bool) { a.states <- connected })
	}()
	t.Cleanup(a.cancel)
	return a
}

func openStream(ctx context.Context, conn *grpc.ClientConn) (grpc.BidiStreamingClient[request, response], error) {
	return airboundv1.NewAccessPointServiceClient(conn).Connect(ctx)
}

func report(sequence uint64) *request {
	return &request{Report: &airboundv1.AccessPointReport{Sequence: sequence}}
}

func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
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
	a := startAgent(t, uplink.Config{Address: address})
	expect(t, "state", a.states, true)
	command := next(t, "command", a.commands)
	if got := command.GetCommand().GetReportIntervalMs(); got != 250 {
		t.Fatalf("report interval is %d ms, want 250", got)
	}
	for sequence := uint64(1); sequence <= 5; sequence++ {
		a.outgoing <- report(sequence)
		expect(t, "sequence", c.sequences, sequence)
	}
}

func TestItsOwnerIsToldWhereItConnectsBeforeTheStreamOpens(t *testing.T) {
	address, _ := serve(t, newController(), "127.0.0.1:0")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	remotes := make(chan netip.AddrPort, 10)
	a := startAgent(t, uplink.Config{Address: "localhost:" + port, Dialed: func(remote netip.AddrPort) { remotes <- remote }})
	expect(t, "state", a.states, true)
	select {
	case remote := <-remotes:
		if remote.String() != address {
			t.Errorf("%v, want %s", remote, address)
		}
	default:
		t.Error("not told")
	}
}

func TestReconnectsAfterRestart(t *testing.T) {
	c := newController()
	address, kill := serve(t, c, "127.0.0.1:0")
	a := startAgent(t, uplink.Config{Address: address})
	for restart := range 3 {
		expect(t, "state", a.states, true)
		a.outgoing <- report(uint64(restart))
		expect(t, "sequence", c.sequences, uint64(restart))
		kill()
		expect(t, "state", a.states, false)
		_, kill = serve(t, c, address)
	}
	expect(t, "state", a.states, true)
}

func TestReconnectsAfterControllerEndsStream(t *testing.T) {
	c := newController()
	c.endAfter = 1
	address, _ := serve(t, c, "127.0.0.1:0")
	a := startAgent(t, uplink.Config{Address: address})
	for sequence := uint64(1); sequence <= 3; sequence++ {
		expect(t, "state", a.states, true)
		a.outgoing <- report(sequence)
		expect(t, "sequence", c.sequences, sequence)
		expect(t, "state", a.states, false)
	}
}

func TestAReportFromBeforeTheStreamIsNotSent(t *testing.T) {
	c := newController()
	address, kill := serve(t, c, "127.0.0.1:0")
	kill()
	a := startAgent(t, uplink.Config{Address: address})
	for sequence := uint64(1); sequence <= 5; sequence++ {
		select {
		case a.outgoing <- report(sequence):
		case <-time.After(patience):
			t.Fatal("Run does not receive while disconnected")
		}
	}
	serve(t, c, address)
	expect(t, "state", a.states, true)
	// A phone that reconnects after it took another MAC address must not be known to the controller by the old one.
	a.outgoing <- report(6)
	expect(t, "sequence", c.sequences, 6)
}

func TestKeepNewestDropsTheOlder(t *testing.T) {
	in := make(chan *int)
	newest, _, stopped := uplink.KeepNewest(t.Context(), in)
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

func TestKeepNewestForgetsWhatItIsToldTo(t *testing.T) {
	in := make(chan *int)
	newest, drop, stopped := uplink.KeepNewest(t.Context(), in)
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
			a := startAgent(t, uplink.Config{Address: address})
			if test.reachable {
				expect(t, "state", a.states, true)
			}
			a.outgoing <- report(1)
			a.cancel()
			if err := next(t, "end of Run", a.finished); err != nil {
				t.Fatalf("Run returned %v, want nil", err)
			}
			waitForNoGoroutineOf(t, "github.com/airbound/airbound/uplink.Run", "airbound/uplink.session", "airbound/uplink.keepNewest",
				"grpc.(*ClientConn)", "internal/transport.(*http2Client)")
		})
	}
}

// waitForNoGoroutineOf waits until no goroutine's stack names any of the functions.
func waitForNoGoroutineOf(t *testing.T, functions ...string) {
	t.Helper()
	var left string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
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

func TestSilentControllerIsNoticed(t *testing.T) {
	t.Parallel() // grpc-go takes no keepalive under 10 s.
	c := newController()
	address, _ := serve(t, c, "127.0.0.1:0")
	link := newFreezable(t, address)
	cfg := uplink.WithKeepalive(uplink.Config{Address: link.address}, time.Second, time.Second)
	a := startAgent(t, cfg)
	expect(t, "state", a.states, true)
	link.freeze()
	expect(t, "state", a.states, false)
}

// freezable forwards TCP until it is frozen; then it takes bytes no further and closes nothing, as a link that went
// away does.
type freezable struct {
	address string
	frozen  chan struct{}
}

func newFreezable(t *testing.T, target string) *freezable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	f := &freezable{address: listener.Addr().String(), frozen: make(chan struct{})}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				_ = near.Close()
				return
			}
			t.Cleanup(func() { _, _ = near.Close(), far.Close() })
			go f.forward(near, far)
			go f.forward(far, near)
		}
	}()
	return f
}

func (f *freezable) freeze() { close(f.frozen) }

func (f *freezable) forward(to io.Writer, from io.Reader) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-f.frozen:
			return
		default:
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func TestConfigErrors(t *testing.T) {
	tests := map[string]struct {
		cfg  uplink.Config
		want string
	}{
		"no address":     {uplink.Config{}, "controller address is empty"},
		"negative":       {uplink.Config{Address: "127.0.0.1:1", BackoffMin: -1}, "not a range"},
		"minimum is max": {uplink.Config{Address: "127.0.0.1:1", BackoffMin: 2, BackoffMax: 1}, "not a range"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := uplink.Run(t.Context(), test.cfg, openStream, nil, func(*response) {}, func(bool) {})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}
