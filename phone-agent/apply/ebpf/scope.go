// SPDX-License-Identifier: Apache-2.0

package ebpf

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply"
)

// scope is whose connections are bounded: those of a cgroup, in a network namespace.
type scope struct {
	cgroup      string
	cgroupID    uint64
	netnsInum   uint32
	netnsCookie uint64
	// Whether the kernel has cookies of network namespaces (5.14).
	hasCookie bool
}

func findScope(options Options) (scope, error) {
	where := scope{cgroup: options.Cgroup}
	var err error
	if where.cgroup == "" {
		if where.cgroup, err = RootCgroup(options.ProcRoot); err != nil {
			return scope{}, err
		}
	}
	var directory unix.Stat_t
	if err := unix.Stat(where.cgroup, &directory); err != nil {
		return scope{}, fmt.Errorf("find cgroup %s: %w", where.cgroup, err)
	}
	var fileSystem unix.Statfs_t
	if err := unix.Statfs(where.cgroup, &fileSystem); err != nil {
		return scope{}, fmt.Errorf("find cgroup %s: %w", where.cgroup, err)
	}
	if fileSystem.Type != unix.CGROUP2_SUPER_MAGIC {
		return scope{}, fmt.Errorf("%w: %s is not of cgroup v2", apply.ErrNotSupported, where.cgroup)
	}
	// The kernel's number of a cgroup is its directory's inode number.
	where.cgroupID = directory.Ino
	var netns unix.Stat_t
	// Of the thread, not of the process: that is whose connections the iterator visits.
	if err := unix.Stat(filepath.Join(options.ProcRoot, "thread-self", "ns", "net"), &netns); err != nil {
		return scope{}, fmt.Errorf("find out the network namespace: %w", err)
	}
	where.netnsInum = uint32(netns.Ino) //nolint:gosec // namespaces have 32-bit numbers
	where.netnsCookie, where.hasCookie, err = netnsCookie()
	return where, err
}

// netnsCookie returns the number that a program without BTF knows a network namespace by.
func netnsCookie() (uint64, bool, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, false, fmt.Errorf("find out the network namespace: %w", err)
	}
	defer func() { _ = unix.Close(socket) }() // It was only asked.
	cookie, err := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find out the network namespace: %w", err)
	}
	return cookie, true, nil
}

// RootCgroup is where the whole hierarchy of cgroup v2 is mounted.
func RootCgroup(procRoot string) (string, error) {
	file, err := os.Open(filepath.Join(procRoot, "self", "mountinfo"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: find cgroup v2: %w", apply.ErrNotSupported, err)
	}
	if err != nil {
		return "", fmt.Errorf("find cgroup v2: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// proc(5): ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS
		before, after, _ := strings.Cut(lines.Text(), " - ")
		words := strings.Fields(before)
		const root, place = 3, 4
		if strings.HasPrefix(after, "cgroup2 ") && len(words) > place && words[root] == "/" {
			return words[place], nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("find cgroup v2: %w", err)
	}
	return "", fmt.Errorf("%w: no file system of type cgroup2 is mounted", apply.ErrNotSupported)
}

func isRunning(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
