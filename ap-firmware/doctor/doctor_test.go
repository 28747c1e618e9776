// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"errors"
	"testing"

	"github.com/airbound/airbound/ap-firmware/doctor"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/diagnosis/diagnosistest"
)

var (
	expect     = diagnosistest.Expect
	expectStep = diagnosistest.ExpectStep
)

func TestParts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		finding    diagnosis.Finding
		want, step string
	}{
		"forbidden": {
			doctor.Windows("wlan0", doctor.Part{}), "warning wlan0: switched off on this access point: what stations",
			"`uci set airbound.main.window_clamp=1`",
		},
		"no modules": {
			doctor.Flows("wlan0", doctor.Part{Permitted: true, Refusal: "no clsact"}),
			"warning wlan0: cannot be done here: no clsact", "kmod-sched-bpf",
		},
		"not permitted": {
			doctor.Windows("wlan0", doctor.Part{Permitted: true, Refusal: "load: the kernel does not permit it"}),
			"warning wlan0: cannot be done here: load", "CAP_PERFMON",
		},
		"no BPF": {
			doctor.Windows("wlan0", doctor.Part{Permitted: true, Refusal: "load: the kernel has no BPF"}),
			"warning wlan0: cannot be done here: load", "CONFIG_BPF_SYSCALL",
		},
		"no interface": {
			doctor.Windows("wlan0", doctor.Part{Permitted: true, Refusal: "find wlan0: no such device"}),
			"warning wlan0: cannot be done here: find", "logread",
		},
		"the driver refuses": {
			doctor.EDCA("wlan0", doctor.Part{Permitted: true, Refusal: "operation not supported"}),
			"warning wlan0: cannot be done here: operation not supported", "nothing, if the driver cannot do it",
		},
		"in force": {
			doctor.Windows("wlan0", doctor.Part{Permitted: true, Generation: 3, Reason: "3 active senders"}),
			"ok wlan0: the controller's limits of windows are in force: 3 active senders", "",
		},
		"observed": {
			doctor.Windows("wlan0", doctor.Part{
				Permitted: true, ReasonCode: "REASON_CODE_OBSERVE_MODE", Reason: "observe mode: computed, not applied",
			}),
			"warning wlan0: observe mode", "`airbound mode control`",
		},
		"none": {
			doctor.Windows("wlan0", doctor.Part{Permitted: true, Reason: "no station sends"}),
			"ok none are in force: no station sends", "",
		},
		"as yet": {doctor.EDCA("wlan0", doctor.Part{Permitted: true}), "ok the controller may set EDCA parameters", ""},
		"untried": {
			doctor.EDCA("wlan0", doctor.Part{Permitted: true, Untried: true}),
			"ok the agent finds out when it runs", "",
		},
	} {
		expect(t, name, []diagnosis.Finding{test.finding}, test.want)
		expectStep(t, name, test.finding, test.step)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	const nowUS = 1_000_000_000
	expect(t, "reports", []diagnosis.Finding{
		doctor.Report("wlan0", nil, nowUS), doctor.Report("wlan0", &status.State{}, nowUS),
		doctor.Report("wlan0", &status.State{
			BSS: status.BSS{LastReportUS: nowUS - 14_000_000, StationsReported: 3},
		}, nowUS),
		doctor.Report("wlan0", &status.State{BSS: status.BSS{LastReportUS: nowUS - 75_000_000}}, nowUS),
	}, "warning nothing was reported yet", "warning nothing was reported yet", "ok less than 15 s ago, stations: 3",
		"warning wlan0: 1m15s ago")
}

func TestRadios(t *testing.T) {
	t.Parallel()
	expect(t, "wireless", []diagnosis.Finding{
		doctor.Wireless(nil, errors.New("not permitted")), doctor.Wireless(nil, nil),
		doctor.Wireless([]string{"wlan0"}, nil),
	}, "failed not permitted", "failed no interface is an access point", "ok 1 access point interfaces")
	airtime := uint64(12)
	snapshot := nl80211.Snapshot{
		Interface: nl80211.Interface{SSID: []byte("cell"), FrequencyMHz: 5180},
		Stations:  []nl80211.Station{{RXAirtimeUS: &airtime}, {RXAirtimeUS: new(uint64)}, {}},
	}
	expect(t, "no survey", doctor.BSS("wlan0", snapshot, nil),
		`ok wlan0: "cell", 5180 MHz, stations: 3, of these with airtime by the driver: 1`, "warning no survey")
	snapshot.Survey = &nl80211.Survey{}
	expect(t, "a survey", doctor.BSS("wlan0", snapshot, nil), "ok stations: 3", "ok a survey")
	expect(t, "gone", doctor.BSS("wlan0", snapshot, errors.New("no interface")), "failed no interface")
}

func TestHostapd(t *testing.T) {
	t.Parallel()
	var listed, unlisted hostapd.Associations
	listed.Replace(nil)
	unlisted.Unlist()
	expect(t, "hostapd", []diagnosis.Finding{
		doctor.Hostapd("wlan0", "/x/wlan0", &listed, nil), doctor.Hostapd("wlan0", "/x/wlan0", &unlisted, nil),
		doctor.Hostapd("wlan0", "/x/wlan0", &unlisted, errors.New("no such file")),
	}, "ok /x/wlan0 lists stations: 0", "ok it lists no stations", "warning no such file")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	expect(t, "permissions", []diagnosis.Finding{
		doctor.Permissions(0, false), doctor.Permissions(0, true), doctor.Permissions(1<<12, true), doctor.Disabled(),
	}, "warning unknown", "warning without CAP_NET_ADMIN", "ok CAP_NET_ADMIN", "warning enabled is 0")
}
