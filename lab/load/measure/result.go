// SPDX-License-Identifier: Apache-2.0

package measure

// Kinds of servers.
const (
	Controller = "controller"
	Raw        = "raw"
)

// Round is what was measured of one server in one window.
type Round struct {
	Server  string  `json:"server"`
	Seconds float64 `json:"seconds"`
	// Reports are those of terminals and access points. Offered includes those that could not be sent because the
	// connection was full.
	OfferedReports  int64 `json:"offered_reports"`
	TerminalReports int64 `json:"terminal_reports"`
	HandledReports  int64 `json:"handled_reports"`
	Commands        int64 `json:"commands"`
	SetBounds       int64 `json:"set_bounds"`
	RefusedCommands int64 `json:"refused_commands"`
	// Streams that were opened in the window.
	OpenedStreams int64 `json:"opened_streams"`
	// Streams that ended though nobody meant them to.
	BrokenStreams int64 `json:"broken_streams"`
	// CPU and memory of the server; nil if its process is not known.
	CPUUS *float64 `json:"cpu_us"`
	// WaitedRatio is the share of the time in which the server's threads, summed, were ready to run and did not get its
	// core. Much of it beside little CPU time means that others used the core.
	WaitedRatio  *float64 `json:"waited_ratio"`
	RSSBeforeKiB *int64   `json:"rss_before_kib"`
	RSSAfterKiB  *int64   `json:"rss_after_kib"`
	Terminals    int      `json:"terminals"`
	AccessPoints int      `json:"access_points"`

	Latency *Percentiles `json:"latency_ms"`
	Samples []Sample     `json:"-"`
	Missing int          `json:"missing"`
	Void    int          `json:"void"`
	// Grows is whether p99 rose steadily.
	Grows bool `json:"p99_grows"`
	// Saturate is whether as many reports were offered as the server took.
	Saturate bool `json:"saturate"`

	Generator Generator `json:"generator"`
}

// Generator is what the load generator itself cost, and how late it was.
type Generator struct {
	CPUUSPerMessage  float64      `json:"cpu_us_per_message"`
	Cores            float64      `json:"cores"`
	KiBPerConnection float64      `json:"kib_per_connection"`
	Lag              *Percentiles `json:"lag_ms"`
}

// Behind reports whether the server did not keep up: it handled fewer than 99 % of what was offered (in a saturated run
// the generator waits for it, so that does not count), more than 0.1 % of the expected sets did not come within WaitUS,
// or the 99th percentile grows steadily.
func (r *Round) Behind() bool {
	// Some reports are under way when the counters of both processes are read: of a small run more than 1 %.
	const unhandledMax, underWay, missingMax = 0.01, 5, 0.001
	unhandled := float64(r.OfferedReports - r.HandledReports)
	if !r.Saturate && unhandled > max(underWay, unhandledMax*float64(r.OfferedReports)) {
		return true
	}
	if float64(r.Missing) > missingMax*float64(r.Missing+len(r.Samples)) {
		return true
	}
	return r.Grows
}

// Result is the whole measurement: the rounds of a server taken together.
type Result struct {
	ReportsPerS       *float64     `json:"reports_per_s"`
	CPUUSPerReport    *float64     `json:"cpu_us_per_report"`
	RawCPUUSPerReport *float64     `json:"raw_cpu_us_per_report"`
	RSSKiBPerTerminal *float64     `json:"rss_kib_per_terminal"`
	Latency           *Percentiles `json:"latency_ms"`
	Behind            bool         `json:"behind"`

	RawRSSKiBPerTerminal *float64 `json:"rss_kib_per_terminal_raw"`
	RawReportsPerS       *float64 `json:"raw_reports_per_s"`
	OfferedPerS          *float64 `json:"offered_per_s"`
	CommandsPerS         *float64 `json:"commands_per_s"`
	// CPUUSPerTerminalReport charges the access points' reports to the terminals'.
	CPUUSPerTerminalReport *float64       `json:"cpu_us_per_terminal_report"`
	Cores                  *float64       `json:"cores"`
	Missing                int            `json:"missing"`
	Seed                   uint64         `json:"seed"`
	Settings               map[string]any `json:"settings"`
	Rounds                 []Round        `json:"rounds"`
}

// Sum makes the result of rounds. The server is behind if it was in any round; in a run of the yardstick alone, Behind
// and Latency are the yardstick's.
func Sum(rounds []Round, seed uint64, settings map[string]any) Result {
	controller, raw := total(rounds, Controller), total(rounds, Raw)
	result := Result{
		ReportsPerS: controller.perSecond(controller.handled), CPUUSPerReport: controller.cpuPer(controller.handled),
		RSSKiBPerTerminal: controller.rssPerTerminal(), Latency: PercentilesOf(controller.latencies),
		OfferedPerS: controller.perSecond(controller.offered), CommandsPerS: controller.perSecond(controller.commands),
		CPUUSPerTerminalReport: controller.cpuPer(controller.terminalReports), Cores: controller.cores(),
		Missing: controller.missing, Behind: controller.behind,
		RawCPUUSPerReport: raw.cpuPer(raw.handled), RawRSSKiBPerTerminal: raw.rssPerTerminal(),
		RawReportsPerS: raw.perSecond(raw.handled),
		Seed:           seed, Settings: settings, Rounds: rounds,
	}
	if controller.seconds == 0 {
		result.OfferedPerS, result.CommandsPerS = raw.perSecond(raw.offered), raw.perSecond(raw.commands)
		result.Cores, result.Behind = raw.cores(), raw.behind
	}
	return result
}

type sums struct {
	seconds                                     float64
	offered, handled, terminalReports, commands float64
	cpuUS                                       float64
	cpuKnown                                    bool
	rssKiB                                      float64
	rssTerminals                                float64
	latencies                                   []int64
	missing                                     int
	behind                                      bool
}

func total(rounds []Round, server string) sums {
	s := sums{cpuKnown: true}
	for i := range rounds {
		r := &rounds[i]
		if r.Server != server {
			continue
		}
		s.seconds += r.Seconds
		s.offered += float64(r.OfferedReports)
		s.handled += float64(r.HandledReports)
		s.terminalReports += float64(r.TerminalReports)
		s.commands += float64(r.Commands)
		if r.CPUUS == nil {
			s.cpuKnown = false
		} else {
			s.cpuUS += *r.CPUUS
		}
		if r.RSSBeforeKiB != nil && r.RSSAfterKiB != nil {
			s.rssKiB += float64(*r.RSSAfterKiB - *r.RSSBeforeKiB)
			s.rssTerminals += float64(r.Terminals)
		}
		s.latencies = append(s.latencies, Latencies(r.Samples)...)
		s.missing += r.Missing
		s.behind = s.behind || r.Behind()
	}
	return s
}

func ratio(value, of float64) *float64 {
	if of == 0 {
		return nil
	}
	quotient := value / of
	return &quotient
}

func (s *sums) perSecond(count float64) *float64 { return ratio(count, s.seconds) }

func (s *sums) cpuPer(count float64) *float64 {
	if !s.cpuKnown {
		return nil
	}
	return ratio(s.cpuUS, count)
}

func (s *sums) cores() *float64 {
	if !s.cpuKnown {
		return nil
	}
	return ratio(s.cpuUS/1e6, s.seconds)
}

func (s *sums) rssPerTerminal() *float64 { return ratio(s.rssKiB, s.rssTerminals) }
