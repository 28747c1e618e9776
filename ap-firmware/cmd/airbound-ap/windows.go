// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/guard"
	attaching "github.com/airbound/airbound/internal/tcbpf"
)

// windowsKernel is the kernel's part of limiting windows, which the BSSs of a process share.
type windowsKernel interface {
	agent.WindowsKernel
	Close() error
}

func loadWindows(options tcbpf.Options) (windowsKernel, error) { return tcbpf.Load(options) }

// connectionsDirectory is where an agent keeps its table of connections for the next one, if there is a BPF file system
// that it may write to.
const connectionsDirectory = "/sys/fs/bpf/airbound-ap"

// openWindows loads the programs if the owner permits it. Without them there are reports all the same.
func openWindows(options runOptions, kernel sockets, logger *slog.Logger) (agent.Windows, func() error) {
	closeNothing := func() error { return nil }
	if !options.windowClamp {
		return agent.Windows{}, closeNothing
	}
	name := rand.Text()
	loaded, err := kernel.windows(tcbpf.Options{
		AgentName: name, PinPath: pinPath(options, logger),
		Guard: guard.New(detachName, "--agent", name), Logger: logger,
	})
	if err != nil {
		logger.Warn("cannot follow the stations' connections", "error", err)
		return agent.Windows{On: true, Off: err.Error()}, closeNothing
	}
	return agent.Windows{On: true, Kernel: loaded}, loaded.Close
}

// pinPath is another one for each network namespace and choice of BSSs: their agents may run side by side.
func pinPath(options runOptions, logger *slog.Logger) string {
	var here syscall.Stat_t
	if err := syscall.Stat("/proc/thread-self/ns/net", &here); err != nil {
		logger.Debug("cannot keep the table of connections", "error", err)
		return ""
	}
	const mode = 0o700
	if err := os.Mkdir(connectionsDirectory, mode); err != nil && !errors.Is(err, os.ErrExist) {
		logger.Info("a restart of the agent forgets the connections: there is no BPF file system to keep them in",
			"error", err)
		return ""
	}
	name := fmt.Sprintf("connections_%d_%s", here.Ino, strings.Join(options.interfaces, "_"))
	// A BPF file system takes no points in names.
	return filepath.Join(connectionsDirectory, strings.ReplaceAll(name, ".", "-"))
}

// detachName is the command that the agent runs while its programs are attached by clsact.
const detachName = "detach-when-orphaned"

// detachCommand is a guard as guardCommand is. It does nothing while the agent lives, hanging or not: limits end by
// themselves.
func detachCommand() command.Command {
	var name string
	return command.Command{
		Name: detachName, Hidden: true, Summary: "remove the agent's programs when it ends; the agent runs it",
		Flags: func(flags *flag.FlagSet) { flags.StringVar(&name, "agent", "", "`NAME` of the agent process") },
		Check: func() error {
			if name == "" {
				return errors.New("--agent is missing; only airbound-ap itself runs this")
			}
			return nil
		},
		Run: func(_ context.Context, _, stderr io.Writer) (int, error) {
			signal.Ignore(syscall.SIGPIPE) // The reader of the log may be gone.
			logger := slog.New(slog.NewTextHandler(stderr, nil)).With("guard_of", name)
			restore := func(agentLives bool) error {
				if agentLives {
					return nil
				}
				return attaching.RemoveLeft(name)
			}
			if err := guard.Watch(os.Stdin, os.Stdout, monotonicUS, restore, logger); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

// datapathID returns what Open vSwitch has as a bridge's datapath identifier unless it is configured: the MAC address
// of its local port. It is asked for each report, since the bridge may come later. 0: there is no such interface.
func datapathID(bridge string) uint64 {
	const bytesOf64Bits, bytesOfMAC = 8, 6
	found, err := net.InterfaceByName(bridge)
	if err != nil || len(found.HardwareAddr) != bytesOfMAC {
		return 0
	}
	var octets [bytesOf64Bits]byte
	copy(octets[bytesOf64Bits-bytesOfMAC:], found.HardwareAddr)
	return binary.BigEndian.Uint64(octets[:])
}
