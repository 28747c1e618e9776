// SPDX-License-Identifier: Apache-2.0

package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/applications"
	"github.com/airbound/airbound/phone-agent/monitor"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	live = airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE
	bulk = airboundv1.ApplicationClass_APPLICATION_CLASS_BULK
)

func classes(t *testing.T, table string) applications.Classes {
	t.Helper()
	parsed, refused := applications.ParseTable(table)
	if refused.Count > 0 {
		t.Fatal(refused)
	}
	return applications.New(parsed, applications.Packages{})
}

func by(uid uint32, bytes, unsent uint64) func(*monitor.Connection) {
	return func(c *monitor.Connection) { c.UID, c.AckedBytes, c.UnsentBytes = uid, bytes, unsent }
}

func TestClassesHaveTheNumbersOfTheWire(t *testing.T) {
	t.Parallel()
	if int(applications.ClassCount) != len(airboundv1.ApplicationClass_name) {
		t.Error("not as many classes")
	}
	for number, name := range airboundv1.ApplicationClass_name {
		want := "APPLICATION_CLASS_" + upper(applications.Class(number).String())
		if number != 0 && name != want {
			t.Errorf("%d: %s, not %s", number, want, name)
		}
	}
}

func upper(word string) string {
	letters := []byte(word)
	for i := range letters {
		letters[i] -= 'a' - 'A'
	}
	return string(letters)
}

func TestADestinationHasAPartForEachClass(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Classify(classes(t, "live uid 10073\nlive uid 10074\nbulk port 8443"))
	aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.4.1:443", by(10073, 100, 1000)),
		connection("10.0.0.2:2", "10.0.4.1:443", by(10074, 200, 0)),
		connection("10.0.0.2:3", "10.0.4.1:443", by(10500, 4000, 7)),
		connection("10.0.0.2:4", "10.0.4.1:8443", by(10500, 50, 1)),
		connection("10.0.0.2:5", "10.0.4.1:8443", by(10073, 8, 0)),
	), secondUS)
	got := only(t, aggregator)
	if got.GetDeliveredBytes() != 4358 || got.GetConnections() != 5 || len(got.GetClasses()) != 2 {
		t.Fatalf("%v", got)
	}
	first, second := got.GetClasses()[0], got.GetClasses()[1]
	if first.GetApplicationClass() != live || first.GetConnections() != 3 || first.GetConnectionsSending() != 1 ||
		first.GetDeliveredBytes() != 308 || first.GetQueuedBytes() != 1000 ||
		!slices.Equal(first.GetUids(), []uint32{10073, 10074}) {
		t.Errorf("%v", first)
	}
	if second.GetApplicationClass() != bulk || second.GetConnections() != 1 || second.GetDeliveredBytes() != 50 ||
		second.GetQueuedBytes() != 1 || !slices.Equal(second.GetUids(), []uint32{10500}) {
		t.Errorf("%v", second)
	}
}

func TestWithoutATableThereAreNoParts(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:443", by(10073, 100, 1000))), secondUS)
	if got := only(t, aggregator); got.GetClasses() != nil {
		t.Errorf("%v", got)
	}
}

func TestWhatWasDeliveredStaysWithTheClassThatItWasOf(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	at := int64(0)
	observe := func(bytes uint64) *airboundv1.Destination {
		at += secondUS
		aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:443", by(10073, bytes, 1))), at)
		return only(t, aggregator)
	}
	observe(1000)
	aggregator.Classify(classes(t, "live uid 10073"))
	if got := observe(1500); got.GetDeliveredBytes() != 1500 || got.GetClasses()[0].GetDeliveredBytes() != 500 {
		t.Errorf("%v", got)
	}
	aggregator.Classify(classes(t, "bulk uid 10073"))
	got := observe(1700)
	if got.GetDeliveredBytes() != 1700 || got.GetClasses()[0].GetDeliveredBytes() != 500 ||
		got.GetClasses()[0].GetConnections() != 0 || got.GetClasses()[0].GetUids() != nil ||
		got.GetClasses()[1].GetDeliveredBytes() != 200 || got.GetClasses()[1].GetConnections() != 1 {
		t.Errorf("%v", got)
	}
}

func TestAConnectionThatIsMarkedLaterChangesItsClass(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Classify(classes(t, "live dscp 34"))
	at := int64(0)
	observe := func(dscp uint8, uid uint32, bytes uint64) *airboundv1.Destination {
		at += secondUS
		aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:443", func(c *monitor.Connection) {
			c.DSCP, c.UID, c.AckedBytes, c.UnsentBytes = dscp, uid, bytes, 1
		})), at)
		return only(t, aggregator)
	}
	if got := observe(0, 10073, 100); got.GetClasses() != nil {
		t.Errorf("%v", got)
	}
	got := observe(34, 10073, 1100)
	if got.GetDeliveredBytes() != 1100 || got.GetClasses()[0].GetApplicationClass() != live ||
		got.GetClasses()[0].GetDeliveredBytes() != 1000 || got.GetClasses()[0].GetConnections() != 1 {
		t.Errorf("%v", got)
	}
	if got = observe(0, 10073, 1150); got.GetClasses()[0].GetDeliveredBytes() != 1000 ||
		got.GetClasses()[0].GetConnections() != 0 || got.GetDeliveredBytes() != 1150 {
		t.Errorf("%v", got)
	}
}

// sock_diag has no owner of a connection that its process has closed.
func TestAConnectionThatLosesItsOwnerKeepsItsClass(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Classify(classes(t, "live uid 10073"))
	for second, uid := range []uint32{10073, 0} {
		aggregator.Observe(snapshot(
			connection("10.0.0.2:1", "10.0.4.1:443", by(uid, uint64(second+1)*100, 1))), int64(second)*secondUS)
		if got := only(t, aggregator); len(got.GetClasses()) != 1 || got.GetClasses()[0].GetConnections() != 1 {
			t.Errorf("uid %d: %v", uid, got)
		}
	}
}

// Random connections of random owners, with classes that change: the parts and the whole are counted by the test, too.
func TestNothingOfAClassIsLostOrCountedTwice(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for range 30 {
		aggregator := begun()
		type owned struct {
			uid   uint32
			bytes uint64
		}
		alive, ports := map[int]*owned{}, 0
		ofUser := map[uint32]applications.Class{}
		delivered := map[applications.Class]uint64{}
		for step := range 200 {
			if random.IntN(4) == 0 {
				ports++
				alive[ports] = &owned{uid: uint32(1 + random.IntN(4))}
			}
			if random.IntN(10) == 0 {
				var text strings.Builder
				for uid := range uint32(5) {
					ofUser[uid] = applications.Class(random.IntN(int(applications.ClassCount)))
					fmt.Fprintf(&text, "%v uid %d\n", ofUser[uid], uid)
				}
				aggregator.Classify(classes(t, text.String()))
			}
			var connections []monitor.Connection
			for port := 1; port <= ports; port++ {
				each := alive[port]
				if each == nil {
					continue
				}
				if random.IntN(20) == 0 && each.bytes > 0 {
					delete(alive, port)
					continue
				}
				grown := uint64(random.IntN(5000) + 1)
				each.bytes += grown
				delivered[ofUser[each.uid]] += grown
				connections = append(connections,
					connection(fmt.Sprintf("10.0.0.2:%d", port), "10.0.4.1:80", by(each.uid, each.bytes, 0)))
			}
			aggregator.Observe(snapshot(connections...), int64(step)*secondUS/4)
			if ports == 0 {
				continue
			}
			got, rest := only(t, aggregator), uint64(0)
			for _, part := range got.GetClasses() {
				rest += part.GetDeliveredBytes()
				class, reported := applications.Class(part.GetApplicationClass()), part.GetDeliveredBytes()
				if want := delivered[class]; reported != want {
					t.Fatalf("step %d: %v: delivered %d, reported %d", step, class, want, reported)
				}
			}
			if want := delivered[applications.Default]; got.GetDeliveredBytes()-rest != want {
				t.Fatalf("step %d: default: delivered %d, reported %d", step, want, got.GetDeliveredBytes()-rest)
			}
		}
	}
}
