// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// host is a named network namespace.
type host string

// In runs a function in the namespace, in a thread that is in it for that long.
func (h host) In(do func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("remember the network namespace: %w", err)
	}
	defer home.Close() //nolint:errcheck // it was only read
	there, err := os.Open("/run/netns/" + string(h))
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("find a network namespace: %w", err)
	}
	defer there.Close() //nolint:errcheck // it was only read
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network namespace %s: %w", h, err)
	}
	failed := do()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		// The thread is not given back: it ends with this goroutine.
		return fmt.Errorf("leave the network namespace %s: %w", h, err)
	}
	runtime.UnlockOSThread()
	return failed
}
