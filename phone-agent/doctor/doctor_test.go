// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/diagnosis/diagnosistest"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/apply/procfs/procfstest"
	"github.com/airbound/airbound/phone-agent/doctor"
	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/status"
	"github.com/airbound/airbound/phone-agent/trace/tracefs/tracefstest"
)

var expect = diagnosistest.Expect

// write makes files below a directory, from pairs of name and content.
func write(t *testing.T, directory string, pairs ...string) {
	t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		path := filepath.Join(directory, pair[0])
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(pair[1]), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFlows(t *testing.T) {
	t.Parallel()
	all := flows.Capabilities{CanMark: true, CanAdmit: true, CanPace: true}
	expect(t, "all", []diagnosis.Finding{doctor.Flows(all)},
		"ok packets can be given access category, admission, rate of UDP")
	marks := flows.Capabilities{CanMark: true, Refusal: "no driver"}
	expect(t, "no admission", []diagnosis.Finding{doctor.Flows(marks)},
		"warning packets can be given access category; no driver")
	expect(t, "nothing", []diagnosis.Finding{doctor.Flows(flows.Capabilities{Refusal: "no BPF"})},
		"warning packets leave as they are: no BPF")
}

func TestApplications(t *testing.T) {
	t.Parallel()
	expect(t, "as it should be", doctor.Applications(status.Applications{Table: "/t", Entries: 3}),
		"ok /t has classes, 3 lines")
	expect(t, "all that may be wrong", doctor.Applications(status.Applications{
		Table: "/t", NotInstalled: 1, Conflicts: 2, Error: "line 2: wrong\nthe list of packages: there is no file /p",
	}), "warning line 2: wrong", "warning there is no file /p", "warning 1 packages of /t are not installed",
		"warning 2 user ids are shared")
}

func TestKernel(t *testing.T) {
	t.Parallel()
	patched, tracing := t.TempDir(), filepath.Join(t.TempDir(), "tracing")
	if _, err := tracefstest.New(tracing); err != nil {
		t.Fatal(err)
	}
	write(t, patched, "sys/kernel/osrelease", "6.1.99-android14\n", "net/tcp_cwnd_bounds", "", "net/tcp_monitor", "",
		"sys/net/ipv4/tcp_available_congestion_control", "cubic reno\n")
	expect(t, "patched", doctor.Kernel(patched, []string{tracing}),
		"ok Linux 6.1.99-android14", "ok net/tcp_cwnd_bounds", "ok net/tcp_monitor", "ok trace events",
		"ok congestion controls: cubic reno")
	expect(t, "nothing", doctor.Kernel(t.TempDir(), []string{"/nowhere"}),
		"warning osrelease", "warning net/tcp_cwnd_bounds does not exist", "warning net/tcp_monitor does not exist",
		"warning no trace events: no tracefs at /nowhere", "warning congestion controls are unknown")
	loop := t.TempDir()
	write(t, loop, "net/tcp_monitor", "")
	if err := os.Symlink("tcp_cwnd_bounds", filepath.Join(loop, "net", "tcp_cwnd_bounds")); err != nil {
		t.Fatal(err)
	}
	expect(t, "unreadable", doctor.Kernel(loop, []string{tracing})[1:2], "failed too many levels of symbolic links")
}

func TestStorage(t *testing.T) {
	t.Parallel()
	expect(t, "no tracefs", doctor.Storage([]string{"/nowhere"}),
		"warning requests cannot be recorded: no tracefs at /nowhere")
	tracing := filepath.Join(t.TempDir(), "tracing")
	kernel, err := tracefstest.New(tracing)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "no block events", doctor.Storage([]string{tracing}),
		"warning requests cannot be recorded: the kernel has no trace event block_rq_issue")
	add := func(name string, fields ...string) {
		t.Helper()
		var text strings.Builder
		text.WriteString("name: " + name + "\nID: 7\n")
		sizes := map[string]string{"4": "4", "8": "8", "c": "16"}
		for i, field := range fields {
			fmt.Fprintf(&text, "field:int %s;offset:%d;size:%s;\n", field[2:], 16*i, sizes[field[:1]])
		}
		system, _, _ := strings.Cut(name, "_")
		if err := kernel.AddEvent(system, name, text.String()); err != nil {
			t.Fatal(err)
		}
	}
	place := []string{"4 common_pid", "4 dev", "8 sector", "4 nr_sector", "8 rwbs"}
	add("block_rq_issue", append(place, "4 bytes", "c comm")...)
	add("block_rq_complete", append(place, "8 error")...)
	expect(t, "another format", doctor.Storage([]string{tracing}),
		"warning requests cannot be recorded: the kernel's event block_rq_complete has a field error of 8 bytes")
	add("block_rq_complete", append(place, "4 error")...)
	add("block_bio_queue", append(place, "c comm")...)
	add("ext4_sync_file_enter", "4 common_pid", "4 dev", "8 ino", "4 datasync")
	add("ext4_sync_file_exit", "4 common_pid", "4 dev", "8 ino", "4 ret")
	expect(t, "some", doctor.Storage([]string{tracing}),
		"ok requests can be recorded: block_rq_issue, block_rq_complete, block_bio_queue, ext4_sync_file_enter",
		"warning not recorded: how often a request was issued again: the kernel lacks block_rq_requeue",
		"warning below a device mapper: the kernel lacks block_bio_remap",
		"warning on this file system: the kernel lacks f2fs_sync_file_enter, f2fs_sync_file_exit")
}

func TestBackEnds(t *testing.T) {
	t.Parallel()
	named := func(name string, kernel *procfstest.Kernel) doctor.BackEnd {
		return doctor.BackEnd{Name: name, BackEnd: procfs.New(kernel)}
	}
	missing := fmt.Errorf("open: %w", fs.ErrNotExist)
	works, lacks := &procfstest.Kernel{}, &procfstest.Kernel{ReadError: missing, WriteError: missing}
	forbidden := &procfstest.Kernel{ReadError: syscall.EACCES, WriteError: syscall.EACCES}
	expect(t, "works", doctor.BackEnds([]doctor.BackEnd{named("one", works)}, false), "ok procfs (max, min")
	expect(t, "lacks", doctor.BackEnds([]doctor.BackEnd{named("one", lacks)}, false), "failed one: ")
	expect(t, "forbidden", doctor.BackEnds([]doctor.BackEnd{named("one", forbidden)}, false), "failed denied")
	expect(t, "one of two", doctor.BackEnds([]doctor.BackEnd{named("one", lacks), named("two", works)}, false),
		"warning one: ", "ok procfs")
}

func TestWhatABackEndsProbeFinds(t *testing.T) {
	t.Parallel()
	stock := func(findings ...apply.Finding) doctor.BackEnd {
		return doctor.BackEnd{Name: "stock", Probe: func() []apply.Finding { return findings }}
	}
	has := apply.Finding{Feature: "cgroup v2", Found: true, Needed: true, Detail: "/sys/fs/cgroup"}
	less := apply.Finding{Feature: "BTF", Detail: "no rules by uid"}
	none := apply.Finding{Feature: "capabilities", Needed: true, Detail: "missing: CAP_BPF"}
	missing := fmt.Errorf("open: %w", fs.ErrNotExist)
	patched := doctor.BackEnd{
		Name: "patched", BackEnd: procfs.New(&procfstest.Kernel{ReadError: missing, WriteError: missing}),
	}
	for _, agentRuns := range []bool{false, true} {
		expect(t, "can do less", doctor.BackEnds([]doctor.BackEnd{patched, stock(has, less)}, agentRuns),
			"warning patched: ", "ok stock: cgroup v2: /sys/fs/cgroup", "warning stock: BTF: no rules by uid")
	}
	expect(t, "does not work", doctor.BackEnds([]doctor.BackEnd{patched, stock(has, none)}, false),
		"failed patched: ", "ok stock: cgroup v2", "failed stock: capabilities: missing: CAP_BPF")
}

// What a running agent has set stays in force.
func TestABackEndThatARunningAgentUses(t *testing.T) {
	t.Parallel()
	kernel := &procfstest.Kernel{}
	if err := kernel.Write([]byte("all 10 20\n")); err != nil {
		t.Fatal(err)
	}
	backEnds := []doctor.BackEnd{{Name: "procfs", BackEnd: procfs.New(kernel)}}
	expect(t, "beside an agent", doctor.BackEnds(backEnds, true), "ok procfs: rules in force: 1")
	if rules, err := kernel.Read(); err != nil || string(rules) != "all 10 20\n" {
		t.Errorf("%q, %v", rules, err)
	}
	kernel.ReadError = syscall.EACCES
	expect(t, "beside an agent that may not", doctor.BackEnds(backEnds, true), "failed permission denied")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	proc := func(mask, context string) string {
		directory := t.TempDir()
		write(t, directory, "self/attr/current", context,
			"self/status", "Name:\tairbound\nCapPrm:\t0\nCapEff:\t"+mask+"\n")
		return directory
	}
	selinux := func(enforce string) string {
		directory := t.TempDir()
		write(t, directory, "enforce", enforce)
		return directory
	}
	expect(t, "root", doctor.Permissions(proc("000001ffffffffff", ""), "/nowhere", 0),
		"ok root", "ok CAP_NET_ADMIN", "ok no SELinux")
	expect(t, "a user", doctor.Permissions(proc("0000000000000000", ""), "/nowhere", 2000),
		"warning user 2000", "failed CAP_NET_ADMIN is missing", "ok no SELinux")
	expect(t, "a user with the capability", doctor.Permissions(proc("0000000000001000", ""), "/nowhere", 2000),
		"warning user 2000", "ok CAP_NET_ADMIN", "ok no SELinux")
	expect(t, "no proc", doctor.Permissions("/nowhere", "/nowhere", 0),
		"ok root", "warning capabilities are unknown", "ok no SELinux")
	expect(t, "odd proc", doctor.Permissions(proc("many", ""), "/nowhere", 0)[1:2], "warning capabilities are unknown")
	for context, want := range map[string]string{
		"u:r:magisk:s0\x00": "ok SELinux enforcing, context u:r:magisk:s0", "u:r:su:s0\n": "ok SELinux enforcing",
		"u:r:shell:s0": "warning SELinux enforcing, context u:r:shell:s0",
		"":             "warning SELinux enforcing, context unknown",
	} {
		expect(t, context, doctor.Permissions(proc("1000", context), selinux("1"), 0)[2:], want)
	}
	expect(t, "permissive", doctor.Permissions(proc("1000", "u:r:shell:s0"), selinux("0"), 0)[2:],
		"ok SELinux permissive, context u:r:shell:s0")
}

func TestWiFi(t *testing.T) {
	t.Parallel()
	expect(t, "Wi-Fi", []diagnosis.Finding{
		doctor.WiFi("wlan0", "02:00:00:00:01:0a", "02:00:00:00:00:01", "home", nil),
		doctor.WiFi("wlan0", "02:00:00:00:01:0a", "", "", nil), doctor.WiFi("", "02:00:00:00:01:0a", "", "", nil),
		doctor.WiFi("", "", "", "", errors.New("no Wi-Fi interface")),
	}, `ok connected to "home", access point 02:00:00:00:00:01`, "warning not connected to an access point",
		"ok by --mac", "failed no Wi-Fi interface")
}
