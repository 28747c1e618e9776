// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/airbound/airbound/internal/guard"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/ebpf"
	"github.com/airbound/airbound/phone-agent/apply/none"
	"github.com/airbound/airbound/phone-agent/apply/pacing"
	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/monitor"
	monitorprocfs "github.com/airbound/airbound/phone-agent/monitor/procfs"
	"github.com/airbound/airbound/phone-agent/monitor/sockdiag"
)

// What --back-end and --monitor take.
const (
	auto         = "auto"
	patched      = "procfs"
	stock        = ebpf.Name
	stockNewOnly = ebpf.NameNewOnly
	anyKernel    = "sockdiag"
)

// backEndOptions choose how bounds reach the kernel.
type backEndOptions struct {
	name   string
	cgroup string
}

func (o *backEndOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.name, "back-end", auto,
		"`KIND` of kernel interface for bounds: procfs (patched kernel), ebpf (stock kernel), ebpf-new-only, or auto")
	flags.StringVar(&o.cgroup, "cgroup", "", "`DIR` of cgroup v2 whose connections ebpf bounds (default: the root)")
}

func (o *backEndOptions) check() error {
	return checkOneOf("back-end", o.name, auto, patched, stock, stockNewOnly)
}

func checkOneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("--%s is %q, none of %s", name, value, strings.Join(allowed, ", "))
}

func (p places) newProcfs() apply.BackEnd { return procfs.New(procfs.NewFiles(p.procRoot)) }

// newEBPF makes the back end of stock kernels. Only a running agent needs a guard.
func (p places) newEBPF(keeper ebpf.Guard, logger *slog.Logger) *ebpf.BackEnd {
	return ebpf.New(ebpf.Options{
		Cgroup: p.backEnd.cgroup, ProcRoot: p.procRoot, NewOnly: p.backEnd.name == stockNewOnly, Guard: keeper,
		Pacing: pacing.New(p.procRoot, p.stateDir, logger),
	})
}

// isPatched reports whether the kernel has a file of Airbound's patches.
func (p places) isPatched(name string) bool {
	_, err := os.Stat(filepath.Join(p.procRoot, "net", name))
	return !errors.Is(err, fs.ErrNotExist)
}

// newBackEnd chooses for a command that only looks.
func (p places) newBackEnd(logger *slog.Logger) apply.BackEnd {
	if p.backEnd.name == patched || (p.backEnd.name == auto && p.isPatched("tcp_cwnd_bounds")) {
		return p.newProcfs()
	}
	return p.newEBPF(nil, logger)
}

// openBackEnd chooses for a running agent, which only reports if the kernel can do nothing.
func (p places) openBackEnd(logger *slog.Logger) (apply.BackEnd, error) {
	if p.backEnd.name == patched || (p.backEnd.name == auto && p.isPatched("tcp_cwnd_bounds")) {
		return p.newProcfs(), nil
	}
	made := p.newEBPF(guard.New(p.guardArguments()...), logger)
	if p.backEnd.name != auto {
		return made, nil
	}
	if _, err := made.Up(); errors.Is(err, apply.ErrNotSupported) {
		logger.Warn("this kernel cannot bound congestion windows, reporting only", "error", err)
		return none.New(err), nil
	} else if err != nil {
		return nil, err
	}
	return made, nil
}

// openMonitor chooses where snapshots come from, and where their DSCPs if not from there.
func (p places) openMonitor(name string) (monitor.Source, monitor.Marker, error) {
	if name == patched || (name == auto && p.isPatched("tcp_monitor")) {
		return monitorprocfs.New(p.procRoot), &sockdiag.Marks{}, nil
	}
	source, err := sockdiag.Open(monotonicUS)
	return source, nil, err
}
