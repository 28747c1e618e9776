// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// change is a system call of an agent that changes what is below a directory, or that syncs it.
type change struct {
	call string
	// Below the directory; the second is that of a rename.
	path, to string
	mode     fs.FileMode // of open
	written  []byte
	failed   bool
	// Whether the agent has begun to connect before.
	connected bool
}

// watch runs this test binary as an agent in a process of its own, and returns the changes that it makes below root. It
// is killed when it is about to make the change of that number, from 0 on; a negative number kills nothing. Whatever
// comes of it, it has ended when watch returns.
func watch(t *testing.T, root string, role agentRole, kill int) (changes []change, killed bool) {
	t.Helper()
	runtime.LockOSThread() // A process is traced by one thread.
	defer runtime.UnlockOSThread()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	process, err := os.StartProcess(os.Args[0], os.Args[:1], &os.ProcAttr{
		Env: append(os.Environ(), role.environment(t)), Files: []*os.File{nil, output, output},
		Sys: &unix.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	tracer := tracer{t: t, root: root, pid: process.Pid, kill: kill, entered: map[int]*change{}}
	code := tracer.run()
	_ = process.Release()
	if !tracer.killed && code != 0 {
		t.Fatalf("the agent ended with code %d:\n%s", code, read(t, output.Name()))
	}
	return tracer.changes, tracer.killed
}

type tracer struct {
	t         *testing.T
	root      string
	pid, kill int
	changes   []change
	entered   map[int]*change // by thread
	connected bool
	killed    bool
}

const syscallStop = unix.SIGTRAP | 0x80

func (tr *tracer) run() (exitCode int) {
	first := true
	for {
		var status unix.WaitStatus
		// Not the children of other tests.
		thread, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			tr.t.Fatal("wait for the agent:", err)
		}
		if !status.Stopped() {
			if thread == tr.pid {
				return status.ExitStatus()
			}
			continue
		}
		signal := 0
		switch stop := status.StopSignal(); {
		case first:
			first = false
			tr.must(unix.PtraceSetOptions(thread,
				unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL))
		case stop == syscallStop:
			tr.stopped(thread)
		case stop == unix.SIGTRAP || stop == unix.SIGSTOP: // a thread is made, and begins
		default:
			signal = int(stop)
		}
		// The thread may have been killed.
		if err := unix.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			tr.t.Fatal("continue the agent:", err)
		}
	}
}

func (tr *tracer) must(err error) {
	if err != nil {
		tr.t.Fatal("trace the agent:", err)
	}
}

// syscallInfo is struct ptrace_syscall_info of linux/ptrace.h.
type syscallInfo struct {
	op        uint8
	_         [3]uint8
	_         uint32
	_, _      uint64
	number    uint64    // of an entry; of an exit it is the result
	arguments [6]uint64 // of an entry
	_         uint64
	_         [4]uint64 // room for later kernels
}

const (
	ptraceGetSyscallInfo = 0x420e
	entry, exit          = 1, 2
)

// stopped is called at the begin and at the end of each system call.
func (tr *tracer) stopped(thread int) {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(thread), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return // It was killed.
	}
	switch info.op {
	case entry:
		found := tr.read(thread, &info)
		if found == nil {
			return
		}
		if len(tr.changes) == tr.kill && !tr.killed {
			tr.killed = true
			tr.must(unix.Kill(tr.pid, unix.SIGKILL)) // Linux does not begin the system call.
			return
		}
		if !tr.killed {
			// The agent changes its directory in one goroutine, so this is the order.
			tr.changes = append(tr.changes, *found)
			tr.entered[thread] = &tr.changes[len(tr.changes)-1]
		}
	case exit:
		if entered := tr.entered[thread]; entered != nil {
			tr.changes[len(tr.changes)-1].failed = int64(info.number) < 0
		}
		delete(tr.entered, thread)
	}
}

// read returns the change that a system call is going to make, nil if it makes none.
func (tr *tracer) read(thread int, info *syscallInfo) *change {
	arguments := info.arguments
	found := change{connected: tr.connected}
	switch info.number {
	case unix.SYS_CONNECT:
		tr.connected = true
		return nil
	case unix.SYS_OPENAT:
		found.call, found.path = "open", tr.text(thread, arguments[1])
		found.mode = fs.FileMode(arguments[3])
		if arguments[2]&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return nil
		}
	case unix.SYS_MKDIRAT:
		found.call, found.path = "mkdir", tr.text(thread, arguments[1])
	case unix.SYS_UNLINKAT:
		found.call, found.path = "unlink", tr.text(thread, arguments[1])
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		found.call, found.path, found.to = "rename", tr.text(thread, arguments[1]), tr.text(thread, arguments[3])
	case unix.SYS_WRITE:
		found.call, found.path = "write", tr.opened(arguments[0])
		if _, isBelow := tr.relative(found.path); isBelow {
			found.written = tr.memory(thread, arguments[1], int(arguments[2]))
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		found.call, found.path = "fsync", tr.opened(arguments[0])
	case unix.SYS_FTRUNCATE, unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_PWRITE64:
		found.call, found.path = fmt.Sprintf("system call %d", info.number), tr.opened(arguments[0])
	case unix.SYS_FCHMODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_FCHOWNAT, unix.SYS_TRUNCATE:
		found.call, found.path = fmt.Sprintf("system call %d", info.number), tr.text(thread, arguments[1])
	default:
		return nil
	}
	if !tr.below(&found) {
		return nil
	}
	return &found
}

// below makes the paths of a change relative, and reports whether they are below the root. Sockets have none.
func (tr *tracer) below(found *change) bool {
	var isBelow bool
	if found.path, isBelow = tr.relative(found.path); isBelow && found.to != "" {
		found.to, isBelow = tr.relative(found.to)
	}
	return isBelow
}

func (tr *tracer) relative(path string) (relative string, isBelow bool) {
	relative, err := filepath.Rel(tr.root, path)
	return relative, err == nil && filepath.IsAbs(path) && relative != ".." && !strings.HasPrefix(relative, "../")
}

func (tr *tracer) opened(descriptor uint64) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tr.pid, descriptor))
	if err != nil {
		return "/"
	}
	return path
}

func (tr *tracer) text(thread int, address uint64) string {
	text, _, _ := bytes.Cut(tr.memory(thread, address, unix.PathMax), []byte{0})
	return string(text)
}

func (tr *tracer) memory(thread int, address uint64, length int) []byte {
	octets := make([]byte, length)
	number, err := unix.PtracePeekData(thread, uintptr(address), octets)
	if err != nil && number == 0 {
		tr.t.Fatal("read the agent's memory:", err)
	}
	return octets[:number]
}
