// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out what an agent needs and lacks on an access point, beside what package diagnosis finds on any
// device. It opens nothing: what was read comes in.
package doctor

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/diagnosis"
)

const (
	permissionsPart = "permissions"
	wirelessPart    = "wireless"
	hostapdPart     = "hostapd"
	reportPart      = "last report"
	windowsPart     = "windows"
	edcaPart        = "EDCA"
	flowsPart       = "live streams"
)

const (
	restart = "`service airbound-ap restart`"
	seeLog  = "look for the reason in its log, `logread -e airbound-ap`"
	// installKmods is what package managers of OpenWrt 25.12 and 24.10 need for filters of clsact.
	installKmods = "`apk add kmod-sched-core kmod-sched-bpf` (before OpenWrt 25.12 `opkg install` with the same), " +
		"then " + restart
)

// uciSet is a command that changes the configuration of OpenWrt, with what makes it count.
func uciSet(option string) string {
	return "`uci set airbound.main." + option + "`, `uci commit airbound`, " + restart
}

// Disabled is a finding about OpenWrt's switch for the agent.
func Disabled() diagnosis.Finding {
	return diagnosis.Warn("configuration", uciSet("enabled=1"), "option enabled is 0: the agent is not started")
}

// Permissions is a finding about the capabilities of this process: CAP_NET_ADMIN permits to set EDCA parameters and to
// attach programs. known is false if the capabilities are unknown.
func Permissions(mask uint64, known bool) diagnosis.Finding {
	switch {
	case !known:
		return diagnosis.Warn(permissionsPart, "mount the proc file system", "capabilities are unknown")
	case !diagnosis.HasNetAdmin(mask):
		return diagnosis.Warn(permissionsPart, "run doctor as root",
			"without CAP_NET_ADMIN doctor cannot try what the agent may do (effective capabilities %#x)", mask)
	default:
		return diagnosis.Good(permissionsPart, "CAP_NET_ADMIN (effective capabilities %#x)", mask)
	}
}

// Wireless is a finding about the list of access point interfaces; err is why there is none.
func Wireless(names []string, err error) diagnosis.Finding {
	switch {
	case err != nil:
		return diagnosis.Fail(wirelessPart, "run doctor as root, in the network namespace of the radios", "%v", err)
	case len(names) == 0:
		return diagnosis.Fail(wirelessPart, "switch the radio on: `wifi up`, and `wifi status` says what it lacks",
			"no interface is an access point")
	default:
		return diagnosis.Good(wirelessPart, "%d access point interfaces", len(names))
	}
}

// BSS is a finding about a sample of the kernel; err is why there is none.
func BSS(name string, snapshot nl80211.Snapshot, err error) []diagnosis.Finding {
	if err != nil {
		return []diagnosis.Finding{diagnosis.Fail(wirelessPart,
			"check the name of the interface; `airbound-ap once` lists those that are access points",
			"%s: %v", name, err)}
	}
	measured := 0
	for i := range snapshot.Stations {
		if airtime := snapshot.Stations[i].RXAirtimeUS; airtime != nil && *airtime > 0 { // mac80211 has 0 for none
			measured++
		}
	}
	bss := snapshot.Interface
	findings := []diagnosis.Finding{diagnosis.Good(wirelessPart,
		"%s: %q, %d MHz, stations: %d, of these with airtime by the driver: %d", name, bss.SSID, bss.FrequencyMHz,
		len(snapshot.Stations), measured)}
	if snapshot.Survey == nil {
		return append(findings, diagnosis.Warn(wirelessPart,
			"nothing: the controller goes by the stations' airtime alone, and does not see neighbours' traffic",
			"%s: the driver gives no survey of the channel", name))
	}
	return append(findings, diagnosis.Good(wirelessPart, "%s: the driver gives a survey of the channel", name))
}

// Hostapd is a finding about hostapd's control socket; err is why it was not used.
func Hostapd(name, socket string, associations *hostapd.Associations, err error) diagnosis.Finding {
	switch {
	case err != nil:
		return diagnosis.Warn(hostapdPart, "start hostapd (`wifi up`), or name its directory with --hostapd-control; "+
			"until then stations are known by the kernel alone", "%s: %v", name, err)
	case !associations.Known():
		return diagnosis.Good(hostapdPart, "%s: %s answers; it lists no stations, the kernel does", name, socket)
	default:
		return diagnosis.Good(hostapdPart, "%s: %s lists stations: %d", name, socket, associations.Len())
	}
}

// reportOldUS is the age from which a report is late: the agent writes its time every 10 s.
const reportOldUS = 15_000_000

// Report is a finding about an agent that runs: when it reported last. nowUS is CLOCK_MONOTONIC.
func Report(name string, state *status.State, nowUS int64) diagnosis.Finding {
	if state == nil || state.LastReportUS == 0 {
		return diagnosis.Warn(reportPart, seeLog, "%s: nothing was reported yet", name)
	}
	age := time.Duration(nowUS-state.LastReportUS) * time.Microsecond
	if nowUS-state.LastReportUS > reportOldUS {
		return diagnosis.Warn(reportPart, "see agent and wireless; or "+seeLog, "%s: %v ago", name,
			age.Round(time.Second))
	}
	return diagnosis.Good(reportPart, "%s: less than 15 s ago, stations: %d", name, state.StationsReported)
}

// observing is the code of a controller that computes and applies nothing.
const observing = "REASON_CODE_OBSERVE_MODE"

// errForbidden means that the owner does not permit something.
var errForbidden = errors.New("switched off on this access point")

// Part is something that a controller may set.
type Part struct {
	// Permitted is whether the owner permits it.
	Permitted bool
	// Untried is whether nobody has found out yet if it can be done here.
	Untried bool
	// Refusal is why it cannot be done here, by the agent that runs or by a trial; empty if it can.
	Refusal string
	// Generation is that of the set in force, 0 without one; Reason is why, ReasonCode the controller's code for it.
	Generation         uint64
	Reason, ReasonCode string
}

// Windows is a finding about limits of receive windows.
func Windows(name string, part Part) diagnosis.Finding {
	return part.finding(windowsPart, name, uciSet("window_clamp=1")+"; elsewhere start the agent with --window-clamp",
		"what stations without an agent send is not limited", "limits of windows")
}

// Flows is a finding about packets that are sent as video.
func Flows(name string, part Part) diagnosis.Finding {
	return part.finding(flowsPart, name,
		uciSet("station_flows=1")+"; elsewhere start the agent without --no-station-flows",
		"packets of live streams go as the others", "packets sent as video")
}

// EDCA is a finding about how long the access point's queues wait for the air.
func EDCA(name string, part Part) diagnosis.Finding {
	return part.finding(edcaPart, name, uciSet("edca=1")+"; elsewhere start the agent without --no-edca",
		"the access point does not wait longer while phones upload", "EDCA parameters")
}

func (p Part) finding(part, name, permit, without, what string) diagnosis.Finding {
	switch {
	case !p.Permitted:
		return diagnosis.Warn(part, permit, "%s: %v: %s", name, errForbidden, without)
	case p.Refusal != "" && part != edcaPart:
		return diagnosis.Warn(part, programsNeed(p.Refusal), "%s: cannot be done here: %s", name, p.Refusal)
	case p.Refusal != "":
		return diagnosis.Warn(part, "nothing, if the driver cannot do it; else "+seeLog,
			"%s: cannot be done here: %s", name, p.Refusal)
	case p.Untried:
		return diagnosis.Good(part,
			"%s: not switched off; the agent finds out when it runs whether the driver can do it", name)
	case p.Generation != 0:
		return diagnosis.Good(part, "%s: the controller's %s are in force: %s", name, what, p.Reason)
	case p.ReasonCode == observing:
		return diagnosis.Warn(part, "`airbound mode control` where the controller runs", "%s: %s", name, p.Reason)
	case p.Reason != "":
		return diagnosis.Good(part, "%s: the controller may set %s; none are in force: %s", name, what, p.Reason)
	default:
		return diagnosis.Good(part, "%s: the controller may set %s", name, what)
	}
}

// programsNeed is what to do if the kernel's programs cannot be loaded or attached, by the text of package tcbpf.
func programsNeed(refusal string) string {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(refusal, text) })
	}
	switch {
	case has("clsact", "add filter"):
		return installKmods
	case has("does not permit"):
		return "give the agent CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, as OpenWrt's package does, or run it as root"
	case has("no BPF", "does not support"):
		return "install an image whose kernel has BPF (CONFIG_BPF_SYSCALL); without it everything else works"
	default:
		return seeLog
	}
}
