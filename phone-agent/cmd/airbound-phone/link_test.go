// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inOwnNetwork runs a command in a network namespace that is its own, which has no interface but lo.
func inOwnNetwork(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
}

func TestNoWiFiInterface(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	command := p.command("run", "--plain-text", "--controller", "127.0.0.1:1")
	inOwnNetwork(command)
	output, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 1 ||
		!strings.Contains(string(output), "airbound-phone run: find the Wi-Fi interface: ") ||
		!strings.Contains(string(output), "; is Wi-Fi on? --interface names another one\n") {
		t.Errorf("%v, %s", err, output)
	}
}

// Without nl80211, or where it does not know the interface, the one that Android calls wlan0 is the phone's.
func TestTheInterfaceIsFound(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	agent := p.command("run", "--plain-text", "--controller", "127.0.0.1:1")
	path := agent.Path
	const script = `ip link add wlan0 address 02:00:00:00:01:0d type veth peer name other; exec "$@"`
	agent.Path, agent.Args = "/bin/sh", append([]string{"sh", "-ec", script, "sh", path}, agent.Args[1:]...)
	agent.Stderr = t.Output()
	inOwnNetwork(agent)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = agent.Process.Signal(syscall.SIGTERM)
		_ = agent.Wait()
	}()
	deadline := time.Now().Add(timeout)
	for text := ""; !strings.Contains(text, "terminal     02:00:00:00:01:0d wlan0\n"); text, _ = p.status() {
		if time.Now().After(deadline) {
			t.Fatal(text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
