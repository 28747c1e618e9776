// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/controllerclient/hostiletest"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// seed is that of the tests' random draws.
func seed() uint64 {
	if given, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		return given
	}
	return 1
}

func anyCommand(dice *rand.Rand) []byte {
	command := &response{}
	hostiletest.Fill(dice, command)
	octets, err := proto.Marshal(command)
	if err != nil {
		return nil
	}
	return octets
}

// A hostile controller cannot end the client, or have it take more and more memory: it goes on to the next one.
func TestAHostileControllerEndsItsConnectionsAlone(t *testing.T) {
	t.Parallel()
	const connections = 400
	listener, err := hostiletest.Listen("127.0.0.1:0", hostiletest.Config{
		Seed: seed(), Connections: connections, Commands: 20, Command: anyCommand,
	})
	if err != nil {
		t.Fatal(err)
	}
	good := newController()
	serveOn(t, good, listener)

	ctx, cancel := context.WithCancel(t.Context())
	outgoing, ended := make(chan *request), make(chan error, 1)
	handled := 0 // by the client's goroutines, one after the other
	failed := make(chan error, 10*connections)
	before := runtime.NumGoroutine()
	go func() {
		ended <- controllerclient.Run(ctx, controllerclient.Config{
			Addresses:  []string{listener.Addr().String()},
			BackoffMin: time.Millisecond, BackoffMax: 2 * time.Millisecond,
			Logger: slog.New(slog.DiscardHandler), Failed: func(err error) { failed <- err },
		}, controllerclient.Stream[request, response]{
			Open: func(
				ctx context.Context, conn *grpc.ClientConn,
			) (grpc.BidiStreamingClient[request, response], error) {
				return airboundv1.NewTerminalServiceClient(conn).Connect(ctx)
			},
			Outgoing: outgoing, Handle: func(*response) { handled++ }, OnState: func(bool) {},
			IsAnswer: func(message *response) bool { return message.GetCommand() == nil },
		})
	}()
	deadline := time.After(4 * timeout)
	for sequence, arrived := uint64(1), false; !arrived; sequence++ {
		select {
		case outgoing <- &request{Report: &airboundv1.TerminalReport{Sequence: sequence}}:
			time.Sleep(time.Millisecond)
		case err := <-ended:
			t.Fatalf("the client ended with %v after %d connections", err, listener.Taken())
		case <-good.sequences:
			arrived = true
		case <-deadline:
			t.Fatalf("after %d connections no report has arrived", listener.Taken())
		}
	}
	if len(failed) < connections/10 { // grpc-go connects again by itself where a call was not begun
		t.Errorf("%d failures of %d connections were reported", len(failed), listener.Taken())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if handled == 0 {
		t.Error("no command was handled: the hostile controller is none")
	}
	_ = listener.Close()
	listener.Wait()
	// What each connection left would be hundreds.
	const left = 50
	for waited := time.Duration(0); runtime.NumGoroutine() > before+left; waited += 10 * time.Millisecond {
		if waited > timeout {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
