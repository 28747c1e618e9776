// SPDX-License-Identifier: Apache-2.0

package lane_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/lab/handover/lane"
	"github.com/airbound/airbound/lab/handover/path"
)

func one(name string) lane.Lane {
	return lane.Lane{
		Name: name, Rival: "tcp", Path: path.Description{LossAt: 20 * time.Second, Lost: time.Second},
		Phone: netip.MustParseAddr("10.1.0.1"), Server: netip.MustParseAddr("10.1.0.2"),
		PhoneSpace: "phone", ServerSpace: "server", Near: "n0", Far: "f0", Records: 10, Period: 100 * time.Millisecond,
	}
}

func written(t *testing.T, plan lane.Plan) []byte {
	t.Helper()
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadsWhatIsWritten(t *testing.T) {
	longer := one("b")
	longer.Records = 25
	plan, err := lane.Read(written(t, lane.Plan{Lanes: []lane.Lane{one("a"), longer}, Drain: time.Minute}))
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Lanes) != 2 || plan.Lanes[1] != longer || plan.Drain != time.Minute {
		t.Errorf("%+v", plan)
	}
	if end := plan.End(); end != 2500*time.Millisecond {
		t.Errorf("ends at %v", end)
	}
}

func TestNamesTheLaneThatIsWrong(t *testing.T) {
	for wrong, change := range map[string]func(*lane.Lane){
		"nothing to send":         func(l *lane.Lane) { l.Records = 0 },
		"an address is missing":   func(l *lane.Lane) { l.Server = netip.Addr{} },
		"an interface is missing": func(l *lane.Lane) { l.Near = "" },
		"lost_ns is negative":     func(l *lane.Lane) { l.Path.Lost = -1 },
		"is there twice":          func(l *lane.Lane) { l.Name = "a" },
	} {
		second := one("second")
		change(&second)
		_, err := lane.Read(written(t, lane.Plan{Lanes: []lane.Lane{one("a"), second}}))
		if err == nil || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), second.Name) {
			t.Errorf("%v, expected one about %q that %s", err, second.Name, wrong)
		}
	}
	for _, text := range []string{"", "{}", `{"lanes": 3}`} {
		if _, err := lane.Read([]byte(text)); err == nil {
			t.Errorf("%q is taken for a plan", text)
		}
	}
}
