// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/phone-agent/flows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	secondUS = 1_000_000
	video    = airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO
)

func everything() flows.Capabilities {
	return flows.Capabilities{CanMark: true, CanAdmit: true, CanPace: true}
}

// flow takes what may be wrong; without an address, and with a uid below 0, these are left out.
func flow(uid int64, address string, category airboundv1.AccessCategory) *airboundv1.Flow {
	message := &airboundv1.Flow{Category: category}
	if uid >= 0 {
		wanted := uint32(uid)
		message.Uid = &wanted
	}
	if address != "" {
		message.Address = netip.MustParseAddr(address).AsSlice()
	}
	return message
}

func admitted(message *airboundv1.Flow, usPerS uint32) *airboundv1.Flow {
	message.AdmittedUsPerS = usPerS
	return message
}

func paced(message *airboundv1.Flow, bps uint64) *airboundv1.Flow {
	message.UdpBps = bps
	return message
}

func set(generation uint64, leaseMS uint32, wanted ...*airboundv1.Flow) *airboundv1.SetFlows {
	return &airboundv1.SetFlows{Generation: generation, LeaseMs: leaseMS, Flows: wanted}
}

// describe is the generation, the flows and the deadline in seconds.
func describe(inForce lease.InForce[flows.Flow]) string {
	return fmt.Sprintf("%d %v until %d", inForce.Generation, inForce.Entries, inForce.DeadlineUS/secondUS)
}

func TestASetIsInForceUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	l := flows.NewLease(everything())
	one := admitted(flow(10073, "192.0.2.7", video), 100_000)
	two := paced(flow(10073, "", 0), 2_000_000)
	three, four := flow(-1, "2001:db8::7", video), flow(-1, "", 0)
	const want = "[all: as it is to 2001:db8::7: as video uid 10073: UDP at 2000000 b/s " +
		"uid 10073 to 192.0.2.7: as video, admitted for 100000 us/s]"
	for _, step := range []struct {
		nowS    int64
		command *airboundv1.SetFlows
		outcome lease.Outcome
		inForce string
	}{
		{5, set(3, 10_000, one, two, three, four), lease.Replaced, "3 " + want + " until 15"},
		// The order of the flows means nothing.
		{6, set(3, 10_000, four, three, two, one), lease.Prolonged, "3 " + want + " until 16"},
		{7, set(4, 2_000, three), lease.Replaced, "4 [to 2001:db8::7: as video] until 9"},
		{8, set(5, 0), lease.Emptied, "0 [] until 0"},
		{9, set(6, 1_000, four), lease.Replaced, "6 [all: as it is] until 10"},
	} {
		outcome, err := l.Set(step.nowS*secondUS, step.command)
		if got := describe(l.InForce()); err != nil || outcome != step.outcome || got != step.inForce {
			t.Errorf("at %d s: %v, %v, in force: %s", step.nowS, outcome, err, got)
		}
	}
	if !l.Expire(10*secondUS) || l.InForce().Generation != 0 {
		t.Errorf("after its lease: %s", describe(l.InForce()))
	}
}

func TestABadSetIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	good := flow(10073, "192.0.2.9", video)
	octets := func(n int) *airboundv1.Flow { return &airboundv1.Flow{Address: make([]byte, n)} }
	many := make([]*airboundv1.Flow, flows.Max+1)
	for i := range many {
		many[i] = flow(int64(i), "", video)
	}
	for message, command := range map[string]*airboundv1.SetFlows{
		"generation is 0":                                  set(0, 10_000, good),
		"lease_ms 999 is not within 1000 to 60000":         set(9, 999, good),
		"lease_ms 60001 is not within 1000 to 60000":       set(9, 60_001, good),
		"65 flows are more than 64":                        set(9, 10_000, many...),
		"flows[1]: it is empty":                            set(9, 10_000, good, nil),
		"flows[0]: category 9 is unknown":                  set(9, 10_000, flow(1, "", 9)),
		"flows[0]: category -1 is unknown":                 set(9, 10_000, flow(1, "", -1)),
		"flows[0]: admitted_us_per_s 5 without a category": set(9, 10_000, admitted(flow(1, "", 0), 5)),
		"flows[0]: category ACCESS_CATEGORY_VOICE is not ACCESS_CATEGORY_VIDEO": set(9, 10_000,
			flow(1, "", airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE)),
		"flows[1]: address: 5 octets; it must have 4 or 16, or none for every address": set(9, 10_000, good, octets(5)),
		"flows[0]: address: 5000 octets; it must have 4 or 16, or none for every address": set(9, 10_000,
			octets(5000)),
		"flows[0]: address: 0.0.0.0 is no destination; without one a flow is for every address": set(9, 10_000,
			octets(4)),
		"flows[0]: address: :: is no destination; without one a flow is for every address": set(9, 10_000, octets(16)),
		"flows[0]: address: ::ffff:1.2.3.4 is IPv4 in IPv6; it must be sent as 4 octets": set(9, 10_000,
			flow(1, "::ffff:1.2.3.4", video)),
		"flows[0]: uid 4294967295 is no user's: the kernel's range ends below it": set(9, 10_000,
			flow(math.MaxUint32, "", video)),
		"flows[0]: uid 65534 is no user's: the kernel has it for packets without a socket": set(9, 10_000,
			flow(65534, "", video)),
		"flows[2]: repeats the selector of flows[0], uid 10073 to 192.0.2.9": set(9, 10_000,
			good, flow(1, "", video), good),
		"flows[1]: repeats the selector of flows[0], all": set(9, 10_000,
			flow(-1, "", video), paced(flow(-1, "", 0), 20_000)),
		"flows[0]: admitted_us_per_s 1000001 is above 1000000": set(9, 10_000,
			admitted(flow(1, "", video), 1_000_001)),
		"the sum of admitted_us_per_s, 1000001, is above 1000000": set(9, 10_000,
			admitted(flow(1, "", video), 600_000), admitted(flow(2, "", video), 400_001)),
		"flows[0]: udp_bps 11999 is below 12000, a packet of 1500 bytes a second": set(9, 10_000,
			paced(flow(1, "", 0), 11_999)),
		"flows[0]: udp_bps 100000000001 is above 100000000000": set(9, 10_000, paced(flow(1, "", 0), 100_000_000_001)),
		"generation 7 came before with other entries":          set(7, 10_000, good),
		"generation 6 is below 7":                              set(6, 10_000, good),
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			l := flows.NewLease(everything())
			if _, err := l.Set(0, set(7, 10_000, flow(5, "", video))); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Set(secondUS, command); err == nil || err.Error() != "set_flows: "+message {
				t.Errorf("%v", err)
			}
			if got := describe(l.InForce()); got != "7 [uid 5: as video] until 10" {
				t.Errorf("in force: %s", got)
			}
			// A generation that was refused may be sent again.
			if _, err := l.Set(2*secondUS, set(9, 10_000, good)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheLimitsThemselvesAreAccepted(t *testing.T) {
	t.Parallel()
	many := make([]*airboundv1.Flow, flows.Max)
	for i := range many {
		many[i] = paced(flow(int64(i), "", video), flows.RateMinBPS)
	}
	many[0] = admitted(paced(flow(math.MaxUint32-1, "255.255.255.255", video), flows.RateMaxBPS), 1_000_000)
	l := flows.NewLease(everything())
	if _, err := l.Set(0, set(1, 60_000, many...)); err != nil {
		t.Fatal(err)
	}
	if sum := flows.AdmittedUSPerS(l.InForce().Entries); sum != 1_000_000 {
		t.Error(sum)
	}
}

func TestAnAgentIsAskedForNothingThatItCannotDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		can     flows.Capabilities
		flow    *airboundv1.Flow
		refusal string
	}{
		{flows.Capabilities{Refusal: "--no-flows"}, flow(1, "", 0), "set_flows: this agent takes no flows: --no-flows"},
		{
			flows.Capabilities{CanMark: true, Refusal: "no fq"},
			paced(flow(1, "", video), 20_000),
			"set_flows: flows[0]: udp_bps 20000: this agent cannot give UDP a rate: no fq",
		},
		{
			flows.Capabilities{CanPace: true, Refusal: "none"},
			flow(1, "", video),
			"set_flows: flows[0]: this agent cannot give flows an access category: none",
		},
		// Where no access point demands admission, marks alone have an effect.
		{flows.Capabilities{CanMark: true, Refusal: "no admission"}, admitted(flow(1, "", video), 5), ""},
	} {
		_, err := flows.NewLease(test.can).Set(0, set(1, 5_000, test.flow))
		if (err == nil) != (test.refusal == "") || err != nil && err.Error() != test.refusal {
			t.Errorf("%s: %v", test.can, err)
		}
		if _, err := flows.NewLease(test.can).Set(0, set(1, 0)); err != nil {
			t.Errorf("%s, an empty set: %v", test.can, err)
		}
	}
}

func TestCapabilitiesAsText(t *testing.T) {
	t.Parallel()
	for want, can := range map[string]flows.Capabilities{
		"none; --no-flows":                        {Refusal: "--no-flows"},
		"access category, admission, rate of UDP": everything(),
		"access category; no WMM admission":       {CanMark: true, Refusal: "no WMM admission"},
	} {
		if can.String() != want || (can.Max() == 0) != !can.CanMark {
			t.Errorf("%s, %d", can, can.Max())
		}
	}
}

func TestFlowsInJSON(t *testing.T) {
	t.Parallel()
	l := flows.NewLease(everything())
	if _, err := l.Set(0, set(1, 5_000, flow(-1, "", 0), admitted(flow(7, "2001:db8::1", video), 5),
		paced(flow(7, "", 0), 20_000), flow(-1, "192.0.2.1", video))); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l.InForce().Entries)
	const want = `[{"selector":"all","video":false},{"selector":"to 192.0.2.1","video":true},` +
		`{"selector":"uid 7","video":false,"udp_bps":20000},` +
		`{"selector":"uid 7 to 2001:db8::1","video":true,"admitted_us_per_s":5}]`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v", text, err)
	}
	var again []flows.Flow
	if err := json.Unmarshal(text, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(l.InForce().Entries) {
		t.Errorf("%v, %v", again, err)
	}
	for _, selector := range []string{
		"", "none", "all ", "to", "to x", "uid x", "uid", "uid 4294967296", "uid 1 to", "uid 1 to 1.2.3",
		"uid 1 on 1.2.3.4", "uid 1 to 1.2.3.4 5", "to 1.2.3.4 uid 1",
	} {
		if err := new(flows.Selector).UnmarshalText([]byte(selector)); err == nil ||
			!strings.HasPrefix(err.Error(), "parse selector: ") {
			t.Errorf("%q: %v", selector, err)
		}
	}
}
