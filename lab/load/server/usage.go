// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is what a process has used.
type Usage struct {
	// CPUUS is the time of all of its threads, user and system.
	CPUUS float64
	// WaitedUS is how long its threads were ready to run and did not get a core: another process had it, or one
	// another.
	WaitedUS float64
	// RSSKiB is what it has in memory now.
	RSSKiB int64
}

// UsageOf reads /proc of a process.
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read CPU time: %w", err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("read memory: %w", err)
	}
	ticks, err := parseStat(stat)
	if err != nil {
		return Usage{}, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	rss, err := parseStatus(status)
	if err != nil {
		return Usage{}, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	waitedNS, err := waited(pid)
	if err != nil {
		return Usage{}, fmt.Errorf("read waiting time of process %d: %w", pid, err)
	}
	// USER_HZ is 100 on every Linux that Go runs on.
	const tickUS = 10_000
	return Usage{CPUUS: float64(ticks) * tickUS, WaitedUS: float64(waitedNS) / 1000, RSSKiB: rss}, nil
}

// waited sums the second field of schedstat over the threads that live now; 0 on a kernel without it.
func waited(pid int) (int64, error) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, fmt.Errorf("list threads: %w", err)
	}
	var sum int64
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, err
		}
		var ran, waited int64
		if _, err := fmt.Sscan(string(text), &ran, &waited); err != nil {
			return 0, fmt.Errorf("parse %s: %w", path, err)
		}
		sum += waited
	}
	return sum, nil
}

// parseStat returns utime + stime, fields 14 and 15; the second field may contain spaces and parentheses.
func parseStat(stat []byte) (int64, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("no name in stat")
	}
	const utime, stime, firstAfterName = 14, 15, 3
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= stime-firstAfterName {
		return 0, errors.New("stat is too short")
	}
	user, err := strconv.ParseInt(fields[utime-firstAfterName], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse utime: %w", err)
	}
	system, err := strconv.ParseInt(fields[stime-firstAfterName], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse stime: %w", err)
	}
	return user + system, nil
}

func parseStatus(status []byte) (int64, error) {
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			fields := strings.Fields(value)
			if len(fields) != 2 || fields[1] != "kB" {
				return 0, fmt.Errorf("VmRSS is %q", value)
			}
			return strconv.ParseInt(fields[0], 10, 64)
		}
	}
	return 0, errors.New("no VmRSS in status")
}

// Cores returns the cores that this process may use, ascending.
func Cores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read affinity: %w", err)
	}
	var cores []int
	for core := 0; len(cores) < set.Count(); core++ {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// PinSelf pins every thread of this process; threads to come inherit it.
func PinSelf(cores []int) error {
	set := coreSet(cores)
	pinned := map[string]bool{}
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		more := false
		for _, task := range tasks {
			if pinned[task.Name()] {
				continue
			}
			more, pinned[task.Name()] = true, true
			thread, err := strconv.Atoi(task.Name())
			if err != nil {
				return fmt.Errorf("list threads: %w", err)
			}
			if err := unix.SchedSetaffinity(thread, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("pin to cores %v: %w", cores, err)
			}
		}
		if !more {
			return nil
		}
	}
}

func coreSet(cores []int) unix.CPUSet {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	return set
}

// AllowFiles raises the limit of open files, for this process and those that it starts.
func AllowFiles(count uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if limit.Max < count {
		// Only root may.
		limit.Cur, limit.Max = count, count
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raise the limit of open files to %d (see ulimit -Hn): %w", count, err)
	}
	return nil
}
