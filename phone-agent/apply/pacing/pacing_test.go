// SPDX-License-Identifier: Apache-2.0

package pacing_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply/pacing"
)

const (
	avoidance = "tcp_pacing_ca_ratio"
	slowStart = "tcp_pacing_ss_ratio"
	record    = "pacing.json"
)

// phone has a proc of files, and a state directory.
type phone struct {
	t           *testing.T
	proc, state string
	log         bytes.Buffer
}

func newPhone(t *testing.T, own map[string]string) *phone {
	t.Helper()
	p := &phone{t: t, proc: t.TempDir(), state: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(p.proc, "sys/net/ipv4"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range own {
		p.set(name, text)
	}
	return p
}

// ratios are those of another process each time.
func (p *phone) ratios() *pacing.Ratios {
	return pacing.New(p.proc, p.state, slog.New(slog.NewTextHandler(&p.log, nil)))
}

func (p *phone) set(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.proc, "sys/net/ipv4", name), []byte(text+"\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *phone) has(wantAvoidance, wantSlowStart string) {
	p.t.Helper()
	for name, want := range map[string]string{avoidance: wantAvoidance, slowStart: wantSlowStart} {
		text, err := os.ReadFile(filepath.Join(p.proc, "sys/net/ipv4", name))
		if got := strings.TrimSpace(string(text)); err != nil || got != want {
			p.t.Errorf("%s: %s, not %s (%v)", name, got, want, err)
		}
	}
}

func (p *phone) isOnRecord() bool {
	_, err := os.Stat(filepath.Join(p.state, record))
	return err == nil
}

func (p *phone) restored() {
	p.t.Helper()
	if err := p.ratios().Restore(); err != nil {
		p.t.Error(err)
	}
	if p.isOnRecord() {
		p.t.Error("the record stays")
	}
}

func usual(t *testing.T) *phone {
	t.Helper()
	return newPhone(t, map[string]string{avoidance: "120", slowStart: "200"})
}

func TestRatiosAreRaisedOnceAndAnotherProcessRestoresThem(t *testing.T) {
	t.Parallel()
	p := usual(t)
	raised := p.ratios()
	raised.Raise()
	p.has("400", "400")
	p.set(avoidance, "150")
	raised.Raise() // At each set of bounds.
	p.has("150", "400")
	p.restored()
	p.has("150", "200")
}

func TestTheyAreRaisedAgainAfterTheyWereRestored(t *testing.T) {
	t.Parallel()
	p := usual(t)
	ratios := p.ratios()
	for range 2 {
		ratios.Raise()
		p.has("400", "400")
		if err := ratios.Restore(); err != nil {
			t.Fatal(err)
		}
		p.has("120", "200")
	}
}

func TestTheyAreRaisedAgainAfterAnotherProcessRestoredThem(t *testing.T) {
	t.Parallel()
	p := usual(t)
	ratios := p.ratios()
	ratios.Raise()
	p.restored()
	ratios.Raise()
	p.has("400", "400")
}

func TestAGuardThatWasThereBeforeNeedsNoRecord(t *testing.T) {
	t.Parallel()
	p := usual(t)
	agent, guard := p.ratios(), p.ratios()
	guard.Remember()
	agent.Raise()
	if err := os.Remove(filepath.Join(p.state, record)); err != nil {
		t.Fatal(err)
	}
	if err := guard.Restore(); err != nil {
		t.Fatal(err)
	}
	p.has("120", "200")
}

func TestAGuardThatComesLaterTakesTheRecord(t *testing.T) {
	t.Parallel()
	p := usual(t)
	p.ratios().Raise()
	guard := p.ratios()
	guard.Remember()
	if err := guard.Restore(); err != nil {
		t.Fatal(err)
	}
	p.has("120", "200")
}

func TestAnAgentWhoseRecordIsRemovedRemembers(t *testing.T) {
	t.Parallel()
	p := usual(t)
	agent := p.ratios()
	agent.Raise()
	if err := os.Remove(filepath.Join(p.state, record)); err != nil {
		t.Fatal(err)
	}
	if err := agent.Restore(); err != nil {
		t.Fatal(err)
	}
	p.has("120", "200")
}

func TestAnAgentAfterAKilledOneKnowsTheOwnValues(t *testing.T) {
	t.Parallel()
	p := newPhone(t, map[string]string{avoidance: "130", slowStart: "210"})
	p.ratios().Raise()
	p.ratios().Raise()
	p.has("400", "400")
	p.restored()
	p.has("130", "210")
}

func TestAHigherOneStays(t *testing.T) {
	t.Parallel()
	p := newPhone(t, map[string]string{avoidance: "500", slowStart: "200"})
	p.ratios().Raise()
	p.has("500", "400")
	p.restored()
	p.has("500", "200")
	p.set(slowStart, "400")
	p.ratios().Raise()
	if p.isOnRecord() {
		t.Error("nothing was raised, and there is a record")
	}
}

func TestAfterARestartOfTheMachineAnOldRecordChangesNothing(t *testing.T) {
	t.Parallel()
	p := newPhone(t, map[string]string{avoidance: "130", slowStart: "210"})
	p.ratios().Raise()
	p.set(avoidance, "120")
	p.set(slowStart, "200")
	p.restored()
	p.has("120", "200")
}

func TestWithoutAReadableRecordTheKernelsDefaultsReturn(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{", `{"tcp_rmem":1}`, `{"tcp_pacing_ca_ratio":-1}`, `{"tcp_pacing_ca_ratio":400}`,
	} {
		p := newPhone(t, map[string]string{avoidance: "400", slowStart: "400"})
		if err := os.WriteFile(filepath.Join(p.state, record), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.restored()
		p.has("120", "200")
		if !strings.Contains(p.log.String(), record) {
			t.Errorf("%q: %s", text, p.log.String())
		}
	}
}

func TestAKernelWithoutThemIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	p := newPhone(t, nil)
	ratios := p.ratios()
	ratios.Raise()
	ratios.Raise()
	if strings.Count(p.log.String(), "cannot raise") != 1 || !strings.Contains(p.log.String(), "tcp_pacing_") {
		t.Error(p.log.String())
	}
	p.restored()
}

func TestNothingIsRaisedThatIsNotOnRecord(t *testing.T) {
	t.Parallel()
	p := usual(t)
	p.state = filepath.Join(p.state, "removed")
	p.ratios().Raise()
	p.has("120", "200")
	if !strings.Contains(p.log.String(), "cannot raise") {
		t.Error(p.log.String())
	}
}

func TestTheRecordStaysUntilTheValuesAreBack(t *testing.T) {
	t.Parallel()
	p := usual(t)
	p.ratios().Raise()
	p.set(slowStart, "many")
	if err := p.ratios().Restore(); err == nil || !strings.Contains(err.Error(), "pacing ratios") {
		t.Errorf("%v", err)
	}
	if !p.isOnRecord() {
		t.Error("the record is gone")
	}
	p.has("120", "many")
	p.set(slowStart, "400")
	p.restored()
	p.has("120", "200")
}

func TestNoneDoNothing(t *testing.T) {
	t.Parallel()
	var none *pacing.Ratios
	none.Raise()
	if err := none.Restore(); err != nil {
		t.Error(err)
	}
}
