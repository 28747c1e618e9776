// SPDX-License-Identifier: Apache-2.0

// Package ebpf is the back end of kernels without Airbound's patches. It sets a maximum only, by programs in the kernel
// that call bpf_setsockopt(TCP_BPF_SNDCWND_CLAMP): one at the cgroup's connections when they are established and with
// each of their round trips, and one that visits the connections that exist already. Package bpf has their sources.
//
// The clamp belongs to the socket and stays when the programs are gone. So what lifts it does not depend on the agent:
// the program at the cgroup knows the end of the lease, and a guard process lifts every maximum if the agent is killed.
// docs/decisions/0020-release-of-a-stock-kernel.md has the reasons.
package ebpf

import "github.com/airbound/airbound/phone-agent/apply/pacing"

// Names of the back end, as the controller and `status` show them.
const (
	Name = "ebpf"
	// NameNewOnly is the back end on a kernel without BTF or without the iterator: connections that existed when the
	// agent started are not bounded, and there are no rules by uid.
	NameNewOnly = "ebpf-new-only"
)

// Guard is the process that restores the kernel's defaults if the agent cannot. Nil in Options is none, for tests and
// for the guard itself.
type Guard interface {
	// Protect makes sure that a guard runs and knows when the lease ends, on CLOCK_BOOTTIME.
	Protect(deadlineUS int64) error
	// Release ends the guard: the defaults have been restored.
	Release()
}

// Options say whose connections are bounded.
type Options struct {
	// Cgroup is a directory of cgroup v2; "" for the root, which has every process of the machine.
	Cgroup string
	// ProcRoot is where proc is, usually /proc.
	ProcRoot string
	// NewOnly uses nothing of the kernel's BTF, as if it had none.
	NewOnly bool
	Guard   Guard
	// Pacing are raised while rules are in force, so that windows lie in the queue as a whole; nil leaves them.
	Pacing *pacing.Ratios
}
