// SPDX-License-Identifier: Apache-2.0

// Package server starts the server that is loaded, and reads what it costs and what it counted.
package server

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/load/secure"
)

// Configuration is the file that a controller is started with.
//
//go:embed controller.toml
var Configuration string

// Errors of Start.
var (
	ErrNotStarted = errors.New("the server did not start")
	ErrEnded      = errors.New("the server ended")
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	logTailBytes = 2000
)

// Process is a server of our own.
type Process struct {
	// Listen and Operators are its addresses.
	Listen, Operators string
	command           *exec.Cmd
	directory         string
	ended             chan struct{}
}

// Start starts a command, pinned to the given cores unless there are none. In its words {listen}, {operators} and
// {config} are replaced by addresses of 127.0.0.1 with free ports and by a configuration file with these; {tls-dir} by
// the directory of identities, which is empty for plain text, and a word that is {plain-text} by --plain-text then, or
// left out. It must be called from a goroutine whose thread lives on: the server is ended with the thread that started
// it.
func Start(ctx context.Context, command []string, cores []int, tlsDirectory string) (*Process, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "airbound-load-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the server: %w", err)
	}
	p := &Process{Listen: ports[0], Operators: ports[1], directory: directory, ended: make(chan struct{})}
	if err := p.start(command, cores, tlsDirectory); err != nil {
		_ = os.RemoveAll(directory)
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	if err := p.wait(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(command []string, cores []int, tlsDirectory string) error {
	config := filepath.Join(p.directory, "controller.toml")
	replace := strings.NewReplacer("{listen}", p.Listen, "{operators}", p.Operators, "{config}", config,
		"{tls-dir}", tlsDirectory, "{plain-text}", "--plain-text")
	configuration := replace.Replace(Configuration)
	if tlsDirectory != "" {
		configuration += fmt.Sprintf("\n[tls]\ndirectory = %q\nenrollment = \"\"\n",
			filepath.Join(tlsDirectory, secure.AuthorityDirectory))
	}
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("write its configuration: %w", err)
	}
	log, err := os.Create(filepath.Join(p.directory, "log"))
	if err != nil {
		return fmt.Errorf("make its log: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has a descriptor of its own
	words := make([]string, 0, len(command))
	for _, word := range command {
		if tlsDirectory == "" || word != "{plain-text}" {
			words = append(words, replace.Replace(word))
		}
	}
	p.command = exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // the user's command; Stop ends it
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := startPinned(p.command, cores); err != nil {
		return err
	}
	go func() {
		_ = p.command.Wait() // its end is in ProcessState
		close(p.ended)
	}()
	return nil
}

// startPinned starts a command from a thread that is pinned for that moment: a child inherits it.
func startPinned(command *exec.Cmd, cores []int) error {
	if len(cores) == 0 {
		return command.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read affinity: %w", err)
	}
	set := coreSet(cores)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to cores %v: %w", cores, err)
	}
	return errors.Join(command.Start(), unix.SchedSetaffinity(0, &before))
}

// wait returns once the server takes connections at both addresses.
func (p *Process) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, address := range []string{p.Listen, p.Operators} {
		if err := p.waitFor(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

func (p *Process) waitFor(ctx context.Context, address string) error {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%w: %w", ErrNotStarted, p.Ended())
		case <-ctx.Done():
			return fmt.Errorf("%w within %v: %s", ErrNotStarted, startTimeout, p.logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// PID is the server's process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended returns an error if the server has ended by itself.
func (p *Process) Ended() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%w (%v): %s", ErrEnded, p.command.ProcessState, p.logTail())
	default:
		return nil
	}
}

func (p *Process) logTail() string {
	text, err := os.ReadFile(filepath.Join(p.directory, "log"))
	if err != nil {
		return err.Error()
	}
	text = bytes.TrimSpace(text)
	return string(text[max(0, len(text)-logTailBytes):])
}

// Stop ends the server and removes its files.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	_ = os.RemoveAll(p.directory)
}

// freePorts finds ports of 127.0.0.1 that nobody listens on.
func freePorts(count int) ([]string, error) {
	addresses := make([]string, count)
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }() // after all are found, so that they differ
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}
