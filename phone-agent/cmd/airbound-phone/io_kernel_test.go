// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/blockio"
)

// These tests run `airbound-phone io` on this machine's own kernel, on loop devices of the tests. They need root, and
// the packages fio and sqlite3.

const ioTimeout = 60 * time.Second

// kernelIO is a loop device on a file in memory, and tracefs in a folder of the test.
type kernelIO struct {
	t       *testing.T
	folder  string
	tracefs string
	loop    string
}

func newKernelIO(t *testing.T, mebibytes int64) *kernelIO {
	t.Helper()
	k := &kernelIO{t: t, folder: t.TempDir()}
	k.mount("tmpfs", "memory")
	k.tracefs = k.mount("tracefs", "tracing")
	image := filepath.Join(k.folder, "memory", "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, mebibytes<<20)); err != nil {
		t.Fatal(err)
	}
	k.loop = strings.TrimSpace(k.run("losetup", "--find", "--show", image))
	t.Cleanup(func() { k.run("losetup", "--detach", k.loop) })
	return k
}

func (k *kernelIO) mount(kind, name string) string {
	k.t.Helper()
	place := filepath.Join(k.folder, name)
	if err := os.Mkdir(place, 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.run("mount", "-t", kind, kind, place)
	// Lazy: a mount namespace that another test made meanwhile has copies of all mounts, and keeps the loop device, and
	// so the file in memory, until it ends.
	k.t.Cleanup(func() { k.run("umount", "--lazy", place) })
	return place
}

func (k *kernelIO) run(program string, arguments ...string) string {
	k.t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = k.folder
	out, err := command.CombinedOutput()
	if err != nil {
		k.t.Fatalf("%s %q: %v\n%s", program, arguments, err, out)
	}
	return string(out)
}

// mounted makes a file system, and mounts it while something happens in it.
func (k *kernelIO) mounted(happens func(place string)) {
	k.t.Helper()
	place := filepath.Join(k.folder, "mounted")
	if err := os.Mkdir(place, 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.run("mount", k.loop, place)
	defer k.run("umount", place)
	happens(place)
}

// ioRecording is a running `airbound-phone io`.
type ioRecording struct {
	k       *kernelIO
	command *exec.Cmd
	out     string
	stderr  string
}

func (k *kernelIO) record(arguments ...string) *ioRecording {
	k.t.Helper()
	path, err := binary()
	if err != nil {
		k.t.Fatal(err)
	}
	r := &ioRecording{k: k, out: filepath.Join(k.folder, "out"), stderr: filepath.Join(k.folder, "err")}
	r.command = exec.Command(path, append([]string{"io", "--tracefs", k.tracefs}, arguments...)...)
	stdout, err := os.Create(r.out)
	if err != nil {
		k.t.Fatal(err)
	}
	stderr, err := os.Create(r.stderr)
	if err != nil {
		k.t.Fatal(err)
	}
	r.command.Stdout, r.command.Stderr = stdout, stderr
	if err := errors.Join(r.command.Start(), stdout.Close(), stderr.Close()); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = r.command.Process.Kill() }) // It may have ended.
	k.eventually("recording", func() bool { return strings.Contains(read(k.t, r.stderr), "recording\n") })
	return r
}

// end stops the recording and returns what it wrote on standard error.
func (r *ioRecording) end() string {
	r.k.t.Helper()
	if err := errors.Join(r.command.Process.Signal(syscall.SIGTERM), r.command.Wait()); err != nil {
		r.k.t.Fatalf("%v\n%s", err, read(r.k.t, r.stderr))
	}
	return read(r.k.t, r.stderr)
}

func (r *ioRecording) records() []blockio.Record {
	r.k.t.Helper()
	var records []blockio.Record
	for line := range strings.Lines(read(r.k.t, r.out)) {
		var record blockio.Record
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			r.k.t.Fatalf("%s: %v", line, err)
		}
		records = append(records, record)
	}
	return records
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (k *kernelIO) eventually(what string, condition func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(ioTimeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatal("never: " + what)
		}
	}
}

// blkTracer starts the kernel's tracer of block devices, whose events are those of `blktrace`: the same functions count
// them. The program blktrace itself reads them from debugfs, which a kernel that is locked down does not allow. The
// function that it returns stops the tracer and returns lines "ACTION RWBS SECTOR SECTORS" of issues and completions.
func (k *kernelIO) blkTracer() (end func() []string) {
	k.t.Helper()
	device := filepath.Join("/sys/block", filepath.Base(k.loop), "trace")
	set := func(path, value string) {
		k.t.Helper()
		if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	tracer := filepath.Join(k.tracefs, "current_tracer")
	// The kernel has one tracer for all: another checkout's test may be using it.
	k.eventually("no tracer in use", func() bool { return strings.TrimSpace(read(k.t, tracer)) == "nop" })
	set(tracer, "blk")
	k.t.Cleanup(func() { set(tracer, "nop") })
	set(filepath.Join(device, "act_mask"), "issue,complete")
	set(filepath.Join(device, "enable"), "1")
	return func() []string {
		k.t.Helper()
		set(filepath.Join(device, "enable"), "0")
		var lines []string
		for line := range strings.Lines(read(k.t, filepath.Join(k.tracefs, "trace"))) {
			// dd-9966 [000] d..1. 2604.118088: 7,0 D RS 0 + 8 [dd]     a flush: FN [kworker/1:2H]
			_, event, found := strings.Cut(line, ": ")
			words := strings.Fields(event)
			if strings.HasPrefix(line, "#") || !found || len(words) < 4 {
				continue
			}
			if words = append(words, "", ""); words[4] != "+" {
				words[3], words[5] = "0", "0"
			}
			lines = append(lines, strings.Join([]string{words[1], words[2], words[3], words[5]}, " "))
		}
		return lines
	}
}

// inserts makes SQLite insert rows, a transaction each.
func (k *kernelIO) inserts(place, journal string, rows int) {
	k.t.Helper()
	var script strings.Builder
	fmt.Fprintf(&script, "pragma journal_mode=%s; create table if not exists t (number integer, text text);\n", journal)
	for i := range rows {
		fmt.Fprintf(&script, "insert into t values (%d, '%0100d');\n", i, i)
	}
	command := exec.Command("sqlite3", filepath.Join(place, journal+".db"))
	command.Stdin = strings.NewReader(script.String())
	if out, err := command.CombinedOutput(); err != nil {
		k.t.Fatalf("%v\n%s", err, out)
	}
}

// TestIOCountsWhatBlktraceCounts compares the records with blktrace's events in the same run, request by request.
func TestIOCountsWhatBlktraceCounts(t *testing.T) {
	k := newKernelIO(t, 64)
	k.run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", k.loop)
	recording := k.record("--device", k.loop, "--json")
	end := k.blkTracer()
	k.mounted(func(place string) {
		k.inserts(place, "delete", 50)
		k.inserts(place, "wal", 50)
		k.run("fio", "--name=mixed", "--directory="+place, "--rw=randrw", "--bsrange=4k-256k", "--size=8m",
			"--direct=1", "--ioengine=libaio", "--iodepth=16", "--randseed=1",
			"--output="+filepath.Join(k.folder, "fio"))
		k.run("fstrim", place)
	})
	traced := end()
	stderr := recording.end()
	var issued []string
	completions := uint64(0)
	for _, line := range traced {
		if request, is := strings.CutPrefix(line, "D "); is {
			issued = append(issued, request)
		} else {
			completions++
		}
	}
	var got []string
	for _, record := range recording.records() {
		if record.Event != blockio.Request {
			continue
		}
		if record.Seen != blockio.Whole || record.TID == 0 {
			t.Errorf("%+v", record)
		}
		for range record.Requeues + 1 {
			got = append(got, fmt.Sprintf("%s %d %d", rwbs(record), record.Sector, record.Bytes/512))
		}
	}
	t.Logf("%d requests, %d completions by the kernel's tracer\n%s", len(issued), completions, stderr)
	counts := totalsOf(t, stderr)
	if len(issued) < 500 || counts.Issues != uint64(len(issued)) || counts.Completions+counts.FlushEnds != completions {
		t.Errorf("io has %d issues and %d completions", counts.Issues, counts.Completions+counts.FlushEnds)
	}
	// io writes a record when it is completed.
	slices.Sort(got)
	slices.Sort(issued)
	if !slices.Equal(got, issued) {
		t.Errorf("io\n%s\nblktrace\n%s", strings.Join(got, "\n"), strings.Join(issued, "\n"))
	}
}

// rwbs is the kernel's own form of a request's kind and flags; of a flush it is that of the tracer.
func rwbs(r blockio.Record) string {
	if r.Kind == blockio.Flush {
		return "FN"
	}
	var letters strings.Builder
	letters.WriteString(map[string]string{blockio.Read: "R", blockio.Write: "W", blockio.Discard: "D"}[r.Kind])
	for _, flag := range []struct{ name, letter string }{
		{"fua", "F"}, {"readahead", "A"}, {"sync", "S"}, {"metadata", "M"},
	} {
		if slices.Contains(strings.Split(r.Flags, "+"), flag.name) {
			letters.WriteString(flag.letter)
		}
	}
	return letters.String()
}

// totalsOf reads what io writes on standard error at its end.
func totalsOf(t *testing.T, stderr string) (counts blockio.Counts) {
	t.Helper()
	found := 0
	for line := range strings.Lines(stderr) {
		n, _ := fmt.Sscanf(line,
			"airbound-phone io: %d requests, %d fsyncs; %d of others skipped; %d events lost; %d refused",
			&counts.Requests, &counts.Fsyncs, &counts.Skipped, &counts.Lost, &counts.Refused)
		m, _ := fmt.Sscanf(line, "airbound-phone io: %d events of the kernel: %d issues, %d completions, %d ends of",
			&counts.Events, &counts.Issues, &counts.Completions, &counts.FlushEnds)
		found = max(found, n) + max(0, m-1)
	}
	if found != 5+3 {
		t.Fatalf("no totals: %s", stderr)
	}
	return counts
}

// TestAKnownPatternComesBack: fio writes down what it asked for; with direct I/O each is a request.
func TestAKnownPatternComesBack(t *testing.T) {
	k := newKernelIO(t, 64)
	recording := k.record("--device", k.loop, "--process", "fio", "--json")
	k.run("fio", "--name=known", "--filename="+k.loop, "--rw=randrw", "--bssplit=4k/50:16k/30:64k/20", "--size=16m",
		"--direct=1", "--ioengine=psync", "--randseed=7", "--write_iolog="+filepath.Join(k.folder, "log"),
		"--output="+filepath.Join(k.folder, "fio"))
	recording.end()
	var want, got []string
	for line := range strings.Lines(read(t, filepath.Join(k.folder, "log"))) {
		// version 3: TIME FILE ACTION OFFSET LENGTH
		words := strings.Fields(line)
		i := slices.IndexFunc(words, func(w string) bool { return w == "read" || w == "write" })
		if i >= 0 && len(words) > i+2 {
			want = append(want, strings.Join(words[i:i+3], " "))
		}
	}
	for _, record := range recording.records() {
		if record.Event == blockio.Request {
			got = append(got, fmt.Sprintf("%s %d %d", record.Kind, record.Sector*512, record.Bytes))
		}
	}
	if len(want) < 500 || !slices.Equal(got, want) {
		t.Errorf("io has %d requests, fio %d\n%s\n%s", len(got), len(want), strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// TestLossesAreInTheSum: a buffer that is too small loses events; those that were read and those that were lost are all
// that there were: three for each request.
func TestLossesAreInTheSum(t *testing.T) {
	k := newKernelIO(t, 16)
	recording := k.record("--device", k.loop, "--json", "--read-at-end", "--buffer-kib", "8")
	const requests = 4096
	k.run("fio", "--name=lost", "--filename="+k.loop, "--rw=randwrite", "--bs=4k", "--size=16m", "--direct=1",
		"--ioengine=psync", "--randseed=7", "--output="+filepath.Join(k.folder, "fio"))
	stderr := recording.end()
	counts := totalsOf(t, stderr)
	if counts.Lost == 0 || counts.Refused != 0 || counts.Events+counts.Lost != 3*requests {
		t.Errorf("%d events and %d losses are not %d\n%s", counts.Events, counts.Lost, 3*requests, stderr)
	}
	gaps := uint64(0)
	for _, record := range recording.records() {
		if record.Event == blockio.Lost {
			gaps += record.Times
		}
	}
	if gaps != counts.Lost {
		t.Errorf("gaps of %d events, %d lost", gaps, counts.Lost)
	}
}

// ioAnonymousKBMax is 4 MiB, which io has beside its file and the kernel's buffer, and one more for a collector of
// garbage that a busy machine lets run late.
const ioAnonymousKBMax = 5 << 10

// TestRequestsAsFastAsTheyCome: as many as the machine can, read meanwhile. What a busy machine reads too late is lost
// and counted.
func TestRequestsAsFastAsTheyCome(t *testing.T) {
	k := newKernelIO(t, 128)
	recording := k.record("--device", k.loop, "--csv")
	const requests = 1 << 15
	began := time.Now()
	k.run("fio", "--name=fast", "--filename="+k.loop, "--rw=randread", "--bs=4k", "--size=128m", "--direct=1",
		"--ioengine=psync", "--randseed=7", "--output="+filepath.Join(k.folder, "fio"))
	took := time.Since(began)
	pid := recording.command.Process.Pid
	ticks, anonymous := processorTicks(t, pid), statusKB(t, pid, "RssAnon")
	stderr := recording.end()
	t.Logf("%.0f requests a second with fio's start; %d ms of processor time; %d kB of memory of its own\n%s",
		requests/took.Seconds(), ticks*1000/clockTicks, anonymous, stderr)
	counts := totalsOf(t, stderr)
	if counts.Refused != 0 || counts.Events+counts.Lost != 3*requests {
		t.Errorf("%d events and %d losses are not %d", counts.Events, counts.Lost, 3*requests)
	}
	if anonymous > ioAnonymousKBMax {
		t.Errorf("%d kB, more than %d", anonymous, ioAnonymousKBMax)
	}
}

// TestADeviceThatVanishes: what was recorded is written, and that the device is gone.
func TestADeviceThatVanishes(t *testing.T) {
	k := newKernelIO(t, 16)
	const add, remove = 0x4c80, 0x4c81 // LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	number := 1000 + os.Getpid()%100_000
	if err := unix.IoctlSetInt(control, add, number); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("loop%d", number)
	k.run("losetup", "/dev/"+name, k.loop)
	t.Cleanup(func() { // Of a test that failed; else the device is gone.
		_ = exec.Command("losetup", "--detach", "/dev/"+name).Run()
		_ = unix.IoctlSetInt(control, remove, number)
		_ = unix.Close(control)
	})
	recording := k.record("--device", name, "--json")
	k.run("dd", "if=/dev/"+name, "of=/dev/null", "bs=64k", "count=4", "iflag=direct")
	k.run("losetup", "--detach", "/dev/"+name)
	k.eventually("removed", func() bool {
		err := unix.IoctlSetInt(control, remove, number)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			t.Fatal(err)
		}
		return err == nil
	})
	stderr := recording.end()
	reads := slices.DeleteFunc(recording.records(), func(r blockio.Record) bool { return r.Command != "dd" })
	if len(reads) < 4 || !strings.Contains(stderr, "the device "+name+" is gone\n") {
		t.Errorf("%d reads\n%s", len(reads), stderr)
	}
}

// TestAFullDisk: an error that says so, and nothing is left in the kernel.
func TestAFullDisk(t *testing.T) {
	k := newKernelIO(t, 16)
	full := filepath.Join(k.folder, "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	k.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full)
	defer k.run("umount", full)
	recording := k.record("--device", k.loop, "--json", "--out", filepath.Join(full, "out"))
	k.run("dd", "if="+k.loop, "of=/dev/null", "bs=4k", "iflag=direct")
	err := recording.command.Wait()
	if stderr := read(t, recording.stderr); err == nil || !strings.Contains(stderr, "no space left on device") {
		t.Errorf("%v, %s", err, stderr)
	}
	pattern := fmt.Sprintf("airbound-%d*", recording.command.Process.Pid)
	left, err := filepath.Glob(filepath.Join(k.tracefs, "instances", pattern))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
