// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/internal/controllerclient/hostiletest"
	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// hostileCommand is a set for a second, or anything but a longer lease, for whose end a test would wait; now and then
// an arrival, which costs the phone most.
func hostileCommand(dice *rand.Rand) []byte {
	command := &response{}
	switch dice.IntN(4) {
	case 0:
		maxSegs := uint32(100 + dice.IntN(100))
		command = setBounds(dice.Uint64N(1_000), 1_000, destination("10.0.4.1/32", 100, maxSegs))
	case 1:
		command.Command = &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_Arrived{
			Arrived: &airboundv1.Arrived{Bssid: []byte{2, 0, 0, byte(dice.IntN(256)), byte(dice.IntN(256)), 0}},
		}}
	default:
		hostiletest.Fill(dice, command)
		shorten(command.GetCommand())
	}
	octets, err := proto.Marshal(command)
	if err != nil {
		return nil
	}
	return octets
}

// shorten makes a valid lease one of a second.
func shorten(command *airboundv1.TerminalCommand) {
	shortest := func(leaseMS uint32) uint32 {
		if leaseMS > lease.MinMS && leaseMS <= lease.MaxMS {
			return lease.MinMS
		}
		return leaseMS
	}
	if bounds := command.GetSetBounds(); bounds != nil {
		bounds.LeaseMs = shortest(bounds.GetLeaseMs())
	}
	if renewal := command.GetRenewLease(); renewal != nil {
		renewal.LeaseMs = shortest(renewal.GetLeaseMs())
	}
}

// The program against a controller that sends anything: it stays, its kernel's defaults return, and it does as the next
// controller says. Its back-off makes six connections take some seconds.
func TestAHostileControllerLeavesNothingInTheKernel(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	for number := range uint64(3) {
		t.Run(fmt.Sprint("seed ", 1_000*seed+number), func(t *testing.T) {
			t.Parallel()
			listener, err := hostiletest.Listen("127.0.0.1:0", hostiletest.Config{
				Seed: 1_000*seed + number, Connections: 6, Commands: 3_000, Command: hostileCommand,
				OnlyCommands: number == 0,
			})
			if err != nil {
				t.Fatal(err)
			}
			good := newController()
			good.server = grpc.NewServer()
			airboundv1.RegisterTerminalServiceServer(good.server, good)
			go func() { _ = good.server.Serve(listener) }()
			t.Cleanup(good.server.Stop)
			var log bytes.Buffer
			p := newPhone(t)
			agent := p.startWithLog(listener.Addr().String(), &log)
			stream := good.stream(t)
			listener.Wait()
			eventually(t, "the last lease has ended", func() bool {
				return strings.HasSuffix(p.rules(), "flush\n")
			})
			if number == 0 {
				text, _ := p.status("--json")
				const refused = `"commands_refused_total": `
				if !strings.Contains(text, refused) || strings.Contains(text, refused+"0,") {
					t.Errorf("nothing was refused:\n%s", text)
				}
			}
			if err := stream.Send(setBounds(1, 60_000, destination("10.0.4.1/32", 90, 95))); err != nil {
				t.Fatal(err)
			}
			p.awaitTransaction("flush\ndst 10.0.4.1/32 90 95\n")
			if kB := memoryKB(t, agent.Process.Pid); kB > 64<<10 {
				t.Errorf("the agent has %d kB", kB)
			}
			if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := agent.Wait(); err != nil {
				t.Errorf("the agent ended with %v", err)
			}
			const logOctetsMax = 1 << 20 // 20,000 commands at most, of which ten sets a second are executed
			if text := log.String(); len(text) > logOctetsMax || strings.Contains(text, "\x1b") {
				t.Errorf("%d octets of log:\n%s", len(text), text[:min(len(text), 5_000)])
			}
			if got := p.rules(); got != "flush\n" {
				t.Errorf("after SIGTERM the last transaction is %q", got)
			}
		})
	}
}

// memoryKB is the resident set of a process.
func memoryKB(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	kB, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kB
}
