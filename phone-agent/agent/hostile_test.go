// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/controllerclient/hostiletest"
	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/phone-agent/bounds"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	hostileStreams  = 40
	hostileCommands = 150
)

// drawnBounds are bounds of which most are valid.
func drawnBounds(dice *rand.Rand) *airboundv1.Bound {
	lowest := uint32(1 + dice.IntN(100))
	highest := lowest + uint32(dice.IntN(100))
	if dice.IntN(2) == 0 {
		return all(dice.IntN(10) > 0, lowest, highest)
	}
	return dst(fmt.Sprintf("10.0.4.%d/32", dice.IntN(3)), lowest, highest)
}

// Whatever a controller commands, what is in the kernel is valid and leased; without the controller it ends.
func TestAHostileControllerAppliesNoNonsenseAndLeavesNothing(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	p := newPhone(t)
	applied, refused := 0, uint64(0)
	for number := range uint64(hostileStreams) {
		dice := rand.New(rand.NewPCG(seed, number))
		p.connect()
		for range hostileCommands {
			if dice.IntN(2) == 0 {
				command := &airboundv1.TerminalCommand{}
				hostiletest.Fill(dice, command)
				p.agent.Command(p.nowUS, command)
			} else {
				leaseMS := []uint32{0, 999, 1_000, 6_000, 60_000, 60_001}[dice.IntN(6)]
				p.set(dice.Uint64N(200), leaseMS, drawnBounds(dice), drawnBounds(dice))
			}
			applied += rulesAreValid(t, p)
			p.pass(time.Duration(dice.IntN(300)) * time.Millisecond)
		}
		refused = p.state().Counters.CommandsRefused
		p.agent.Disconnected(p.nowUS)
		p.pass(lease.MaxMS * time.Millisecond)
		p.rulesAre("")
	}
	if applied == 0 || refused == 0 {
		t.Errorf("%d applied, %d refused: nothing was tried", applied, refused)
	}
	const lineOctets = 600 // of a command that is executed: its rules, its reason
	if octets := p.log.Len(); octets > hostileStreams*hostileCommands*lineOctets {
		t.Errorf("%d octets of log", octets)
	}
	p.connect()
	p.set(1, 6_000, dst("10.0.4.1/32", 90, 95))
	p.pass(time.Second) // The sets before had used up what may be set at once.
	p.rulesAre("dst 10.0.4.1/32 90 95\n")
}

// rulesAreValid returns how many rules there are.
func rulesAreValid(t *testing.T, p *phone) int {
	t.Helper()
	text, err := p.kernel.Read()
	if err != nil {
		t.Fatal(err)
	}
	rules := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if rules[0] == "" {
		return 0
	}
	for _, rule := range rules {
		words := strings.Fields(rule)
		lowest, errLowest := strconv.ParseUint(words[len(words)-2], 10, 32)
		highest, errHighest := strconv.ParseUint(words[len(words)-1], 10, 32)
		if errLowest != nil || errHighest != nil || lowest < bounds.SegsMin || lowest > highest ||
			highest > bounds.SegsMax {
			t.Fatalf("rule %q", rule)
		}
	}
	return len(rules)
}
