// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out what an agent needs and lacks on a phone, beside what package diagnosis finds on any device.
// It changes nothing: where a probe writes, it is one that leaves the kernel's defaults in force.
package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

const (
	kernelPart  = "kernel"
	backEndPart = "back end"
)

const installKernel = "install a kernel that has Airbound's patches, or see in docs/phone.md what works without them"

// Kernel looks at what the kernel has. procRoot is where the proc file system is, places are where tracefs may be.
func Kernel(procRoot string, places []string) []diagnosis.Finding {
	release, err := os.ReadFile(filepath.Join(procRoot, "sys", "kernel", "osrelease"))
	findings := []diagnosis.Finding{diagnosis.Good(kernelPart, "Linux %s", strings.TrimSpace(string(release)))}
	if err != nil {
		findings[0] = diagnosis.Warn(kernelPart, "mount the proc file system, or name it with --proc-root", "%v", err)
	}
	findings = append(findings, file(procRoot, "tcp_cwnd_bounds"), file(procRoot, "tcp_monitor"))
	if _, err := tracefs.Find(places, tracefs.RealKernel()); err != nil {
		findings = append(findings, diagnosis.Warn(kernelPart, "nothing, if it is enough that the start of sending is "+
			"noticed up to a second later; otherwise do what the error says", "no trace events: %v", err))
	} else {
		findings = append(findings, diagnosis.Good(kernelPart, "trace events of TCP windows"))
	}
	controls, err := os.ReadFile(filepath.Join(procRoot, "sys", "net", "ipv4", "tcp_available_congestion_control"))
	if err != nil {
		return append(findings, diagnosis.Warn(kernelPart, "nothing: bounds apply with every congestion control",
			"congestion controls are unknown: %v", err))
	}
	return append(findings, diagnosis.Good(kernelPart, "congestion controls: %s", strings.TrimSpace(string(controls))))
}

// file looks at a file of the patched kernel's in /proc/net.
func file(procRoot, name string) diagnosis.Finding {
	path := filepath.Join(procRoot, "net", name)
	opened, err := os.Open(path)
	switch {
	case err == nil:
		_ = opened.Close()
		return diagnosis.Good(kernelPart, "%s", path)
	case os.IsPermission(err):
		return diagnosis.Fail(kernelPart, "run it as root", "%v", err)
	case os.IsNotExist(err):
		return diagnosis.Warn(kernelPart, installKernel, "%s does not exist: the kernel is not patched", path)
	default:
		return diagnosis.Fail(kernelPart, "look for the reason in the kernel's log (dmesg)", "%v", err)
	}
}

// BackEnd is one way to set bounds.
type BackEnd struct {
	Name string
	apply.BackEnd
	// Probe, unless nil, finds out what the back end needs and changes nothing, whether or not an agent runs.
	Probe func() []apply.Finding
}

// BackEnds probes what each back end can do. A probe restores the kernel's defaults, so beside an agent that runs only
// the rules in force are read. One back end that works is enough.
func BackEnds(backEnds []BackEnd, agentRuns bool) []diagnosis.Finding {
	findings, works := make([]diagnosis.Finding, 0, len(backEnds)), false
	for _, backEnd := range backEnds {
		if backEnd.Probe != nil {
			each, can := needs(backEnd)
			findings, works = append(findings, each...), works || can
			continue
		}
		found, err := probe(backEnd, agentRuns)
		switch {
		case err == nil:
			works = true
			findings = append(findings, diagnosis.Good(backEndPart, "%s", found))
		case errors.Is(err, apply.ErrNotSupported):
			findings = append(findings, diagnosis.Warn(backEndPart, installKernel, "%s: %v", backEnd.Name, err))
		default:
			findings = append(findings, diagnosis.Fail(backEndPart, "run it as root; see permissions below", "%s: %v",
				backEnd.Name, err))
		}
	}
	for i := range findings {
		if !works && findings[i].Level != diagnosis.OK {
			findings[i].Level = diagnosis.Failure
		}
	}
	return findings
}

// needs makes findings of a back end's probe, and reports whether the back end works.
func needs(backEnd BackEnd) (findings []diagnosis.Finding, works bool) {
	works = true
	for _, need := range backEnd.Probe() {
		text := backEnd.Name + ": " + need.Feature
		if need.Detail != "" {
			text += ": " + need.Detail
		}
		if need.Found {
			findings = append(findings, diagnosis.Good(backEndPart, "%s", text))
			continue
		}
		works = works && !need.Needed
		findings = append(findings, diagnosis.Warn(backEndPart, cmp.Or(need.Do, installKernel), "%s", text))
	}
	return findings, works
}

func probe(backEnd BackEnd, agentRuns bool) (string, error) {
	if agentRuns {
		live, err := backEnd.Live()
		return fmt.Sprintf("%s: rules in force: %d", backEnd.Name, len(live.Rules)), err
	}
	can, err := backEnd.Up()
	if err != nil {
		return "", err
	}
	return can.String(), backEnd.Close()
}
