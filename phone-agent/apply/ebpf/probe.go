// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply"
)

// Probe finds out what the back end would be able to do here. It loads the programs and attaches none: nothing is in
// force at any time. The last finding is the number of connections that have a maximum although no agent is running.
func Probe(options Options) []apply.Finding {
	var findings []apply.Finding
	add := func(feature string, needed bool, found string, err error) bool {
		finding := apply.Finding{Feature: feature, Needed: needed, Found: err == nil, Detail: found}
		if err != nil {
			finding.Detail = err.Error()
		}
		findings = append(findings, finding)
		return finding.Found
	}
	if !add("capabilities", true, "", capabilities()) {
		findings[0].Do = "run it as root, or with these capabilities"
	}
	where, err := findScope(options)
	if !add("cgroup v2", true, where.cgroup, err) {
		return findings
	}
	add("locked memory", true, "", rlimit.RemoveMemlock())
	newOnly, err := loadNewOnly(where)
	if add("sockops programs that set a maximum", true, "", err) {
		newOnly.close()
	}
	var programs sockopsObjects
	err = loadSockopsObjects(&programs, nil)
	if err == nil {
		err = programs.Close()
	}
	add("the kernel's BTF, and a socket's uid", false, "", without("rules by uid", err))
	visitor := &objects{}
	err = visitor.loadIterator()
	defer visitor.close()
	if add("the iterator iter/tcp", false, "", without("connections that exist when the agent starts", err)) {
		findings = append(findings, left(where))
	}
	return findings
}

func without(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("no %s: %w", what, err)
}

// left tells whether connections have a maximum that nobody will lift.
func left(where scope) apply.Finding {
	const feature = "no maximum left behind"
	agents, err := findAttached(where)
	closeAll(agents)
	if err != nil {
		return apply.Finding{Feature: feature, Detail: err.Error()}
	}
	if len(agents) > 0 {
		return apply.Finding{Feature: feature, Found: true, Detail: "an agent is running"}
	}
	count, err := countBounded(where)
	if err != nil {
		return apply.Finding{Feature: feature, Detail: err.Error()}
	}
	if count > 0 {
		return apply.Finding{
			Feature: feature,
			Detail:  fmt.Sprintf("%d connections have a maximum and no agent is running", count),
			Do:      "lift it with `airbound-phone cleanup`",
		}
	}
	return apply.Finding{Feature: feature, Found: true}
}

// countBounded visits the connections and sets nothing.
func countBounded(where scope) (uint64, error) {
	specification, err := loadIterator()
	if err != nil {
		return 0, err
	}
	if err := specification.Variables[iteratorVarCountOnly].Set(true); err != nil {
		return 0, err
	}
	var found iteratorObjects
	if err := specification.LoadAndAssign(&found, nil); err != nil {
		return 0, err
	}
	counter := &objects{closers: []io.Closer{&found}}
	defer counter.close()
	if err := counter.useIterator(&found); err != nil {
		return 0, err
	}
	if err := counter.writeConfig(where.config()); err != nil {
		return 0, err
	}
	seen, err := counter.visitConnections()
	return seen.BoundedBefore, err
}

// neededCapabilities are those of bpf(2) for these programs. For loading them CAP_BPF and CAP_PERFMON would do, but
// only CAP_SYS_ADMIN may open a program of another process (BPF_PROG_GET_FD_BY_ID), as an agent must that lifts what a
// killed one has left, and the guard.
var neededCapabilities = []struct {
	number uint
	name   string
}{{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}}

func capabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read the process's capabilities: %w", err)
	}
	const bits = 32
	has := func(number uint) bool { return data[number/bits].Effective&(1<<(number%bits)) != 0 }
	var missing []string
	for _, capability := range neededCapabilities {
		if !has(capability.number) {
			missing = append(missing, capability.name)
		}
	}
	if len(missing) > 0 {
		return errors.New("missing: " + strings.Join(missing, ", "))
	}
	return nil
}
