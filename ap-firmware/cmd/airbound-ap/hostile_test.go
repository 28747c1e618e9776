// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/internal/controllerclient/hostiletest"
	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// hostileCommand is a set of EDCA parameters for a second, or anything.
func hostileCommand(dice *rand.Rand) []byte {
	command := &response{}
	if dice.IntN(3) == 0 {
		set := setOf(dice.Uint64N(1_000), time.Second, uint32(2+dice.IntN(6)))
		command.Command = &airboundv1.AccessPointCommand{Command: &airboundv1.AccessPointCommand_SetEdca{SetEdca: set}}
	} else {
		hostiletest.Fill(dice, command)
		// A test would wait for the end of a longer lease.
		if set := command.GetCommand().GetSetEdca(); set.GetLeaseMs() > lease.MinMS && set.GetLeaseMs() <= lease.MaxMS {
			set.LeaseMs = lease.MinMS
		}
	}
	octets, err := proto.Marshal(command)
	if err != nil {
		return nil
	}
	return octets
}

// The agent of an access point against a controller that sends anything: what it sets is within the limits, its own
// values return, and it does as the next controller says. Its back-off makes six connections take some seconds.
func TestAHostileControllerLeavesNothingInTheKernel(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	c := newCell(t)
	listener, err := hostiletest.Listen("127.0.0.1:0", hostiletest.Config{
		Seed: seed, Connections: 6, Commands: 500, Command: hostileCommand, OnlyCommands: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	good := grpc.NewServer()
	airboundv1.RegisterAccessPointServiceServer(good, c.service())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = good.Serve(listener)
	}()
	t.Cleanup(func() {
		good.Stop()
		<-served
	})
	c.options.controller.Addresses = []string{listener.Addr().String()}
	c.options.interval = 20 * time.Millisecond
	c.setStations(phone1)
	c.startHostapd(phone1)
	agent := c.startProcess()
	stream := c.stream()
	listener.Wait()
	writes := c.kernel.QueueWrites()
	if !slices.ContainsFunc(writes, func(queue edca.Queue) bool { return queue.Category == edca.BestEffort }) {
		t.Error("nothing was set: the hostile controller is none")
	}
	for _, queue := range writes {
		own := c.own().With([]edca.Queue{queue}) == c.own()
		if !own && (queue.AIFSN < edca.AIFSNMin || queue.AIFSN > edca.AIFSNMax || queue.CWMax > edca.CWMaxMax ||
			queue.CWMin > edca.CWMinMax || queue.TXOPLimit > edca.TXOPLimitMax) {
			t.Errorf("the kernel was given %+v", queue)
		}
	}
	c.awaitQueues("own values after the last lease")
	sendSet(t, stream, setOf(1, time.Minute, 5))
	c.awaitQueues("the next controller's set", bestEffort(5))
	if agent.ProcessState != nil {
		t.Errorf("the agent ended: %v", agent.ProcessState)
	}
}
