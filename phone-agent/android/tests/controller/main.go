// SPDX-License-Identifier: Apache-2.0

// Command controller is a controller for the tests of the phone's module, where the real one is too large: it sends the
// same bounds on each stream, and renews their lease until the stream ends.
//
//	controller ADDR:PORT MIN_SEGS MAX_SEGS
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	leaseMS    = 6000
	renewEvery = 2 * time.Second
	arguments  = 4
)

type controller struct {
	airboundv1.UnimplementedTerminalServiceServer

	bound *airboundv1.Bound
}

// Connect implements the service.
func (c *controller) Connect(stream grpc.BidiStreamingServer[
	airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse,
],
) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	// Greater than what the terminal reported, and never 0.
	generation := first.GetReport().GetBoundsGeneration() + 1
	err = send(stream, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{
		SetBounds: &airboundv1.SetBounds{
			Generation: generation, LeaseMs: leaseMS, Bounds: []*airboundv1.Bound{c.bound}, ActiveSenders: 1,
			Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_ACTIVE_SENDERS},
		},
	}})
	if err != nil {
		return err
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case <-ticker.C:
		}
		renewal := &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS}
		command := &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_RenewLease{RenewLease: renewal}}
		if err := send(stream, command); err != nil {
			return err
		}
	}
}

func send(stream grpc.BidiStreamingServer[
	airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse,
], command *airboundv1.TerminalCommand,
) error {
	return stream.Send(&airboundv1.TerminalServiceConnectResponse{Command: command})
}

func serve(address, minSegs, maxSegs string) error {
	const base, bits = 10, 32
	lowest, err := strconv.ParseUint(minSegs, base, bits)
	if err != nil {
		return fmt.Errorf("MIN_SEGS: %w", err)
	}
	highest, err := strconv.ParseUint(maxSegs, base, bits)
	if err != nil {
		return fmt.Errorf("MAX_SEGS: %w", err)
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	airboundv1.RegisterTerminalServiceServer(server, &controller{bound: &airboundv1.Bound{
		Selector: &airboundv1.Bound_All{All: true}, MinSegs: uint32(lowest), MaxSegs: uint32(highest),
	}})
	return server.Serve(listener)
}

func main() {
	if len(os.Args) != arguments {
		fmt.Fprintln(os.Stderr, "usage: controller ADDR:PORT MIN_SEGS MAX_SEGS")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}
