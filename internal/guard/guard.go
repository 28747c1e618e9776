// SPDX-License-Identifier: Apache-2.0

// Package guard restores what an agent has set when the agent itself cannot: it was killed, or it hangs while the lease
// ends. On an access point these are EDCA parameters, on a phone the congestion windows' maxima of a stock kernel.
//
// While anything is set, the agent has a child process, the guard: the same program in a session of its own, so that a
// signal to the agent's process group does not reach it. A pipe leads from the agent to the guard. The agent writes the
// lease's deadline to it, and again at each renewal. The guard acts when the deadline has passed, and when the pipe
// ends; an agent that has restored everything itself sends a last message. A second pipe leads back, for one byte: the
// guard is ready. Nothing may be set before that, or a guard that has just been started could come too late to see what
// it has to restore.
package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// deadlineBytes is a message of the pipe: microseconds of the agent's clock, little endian.
const deadlineBytes = 8

// released is the message in place of a deadline that ends the guard.
const released = 0

// isReady is the guard's only message.
const isReady = 1

// readyTimeout is long for a program that starts, also on a machine that is busy.
const readyTimeout = 10 * time.Second

// writeTimeout is long for a pipe that takes thousands of messages before it is full: the guard does not read.
const writeTimeout = 100 * time.Millisecond

// environment keeps the guard small.
var environment = []string{"GOMAXPROCS=1", "GOGC=20", "GOMEMLIMIT=4MiB"}

// Guard starts and stops the guard of one agent. It is not safe for concurrent use.
type Guard struct {
	arguments    []string
	readyTimeout time.Duration
	child        *child
	started      uint64
}

// New makes a guard that is not started yet; this program with the arguments is one.
func New(arguments ...string) *Guard { return &Guard{arguments: arguments, readyTimeout: readyTimeout} }

// Started counts the processes that were started.
func (g *Guard) Started() uint64 { return g.started }

// Protect makes sure that a guard runs and knows the deadline of the lease, on the clock that Watch is given. It waits
// for a guard that it starts until that is ready.
func (g *Guard) Protect(deadlineUS int64) error {
	if g.child != nil && g.child.send(deadlineUS) == nil {
		return nil
	}
	if g.child != nil { // It was killed, or does not read.
		g.child.kill()
		g.child = nil
	}
	started, err := start(g.arguments, g.readyTimeout)
	if err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	g.started++
	if err := started.send(deadlineUS); err != nil {
		started.kill()
		return fmt.Errorf("send the guard its deadline: %w", err)
	}
	g.child = started
	return nil
}

// Release ends the guard: what must be restored has been.
func (g *Guard) Release() {
	if g.child == nil {
		return
	}
	if g.child.send(released) != nil {
		g.child.kill()
	} else {
		_ = g.child.pipe.Close() // It was only written to.
	}
	g.child = nil
}

type child struct {
	process *os.Process
	pipe    *os.File
	ended   chan struct{}
}

// start runs this program again and waits until it is ready; /proc/self/exe is it even if its file was replaced.
func start(arguments []string, readyWithin time.Duration) (*child, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // The guard has its own.
	answer, ready, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	defer func() { _ = answer.Close() }() // It was only read.
	attributes := os.ProcAttr{
		Dir: "/", Env: smallEnvironment(os.Environ()), Files: []*os.File{reader, ready, os.Stderr},
		Sys: &syscall.SysProcAttr{Setsid: true},
	}
	arguments = append([]string{os.Args[0]}, arguments...)
	process, err := os.StartProcess("/proc/self/exe", arguments, &attributes) //nolint:gosec // the agent's arguments
	_ = ready.Close()                                                         // The guard has its own.
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	started := &child{process: process, pipe: writer, ended: make(chan struct{})}
	go func() {
		_, _ = process.Wait() // How it ended is in its own log.
		close(started.ended)
	}()
	if err := awaitReady(answer, readyWithin); err != nil {
		started.kill()
		return nil, err
	}
	return started, nil
}

func awaitReady(answer *os.File, within time.Duration) error {
	if err := answer.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	message := make([]byte, 1)
	switch _, err := answer.Read(message); {
	case errors.Is(err, io.EOF):
		return errors.New("it ended before it was ready")
	case err != nil:
		return fmt.Errorf("wait until it is ready: %w", err)
	case message[0] != isReady:
		return fmt.Errorf("it is ready with %d, not %d: another version", message[0], isReady)
	default:
		return nil
	}
}

func smallEnvironment(inherited []string) []string {
	small := make([]string, 0, len(inherited)+len(environment))
	for _, variable := range inherited {
		name, _, _ := strings.Cut(variable, "=")
		if name != "GOMAXPROCS" && name != "GOGC" && name != "GOMEMLIMIT" {
			small = append(small, variable)
		}
	}
	return append(small, environment...)
}

func (c *child) send(deadlineUS int64) error {
	select {
	case <-c.ended:
		return errors.New("the guard ended")
	default:
	}
	if err := c.pipe.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	message := binary.LittleEndian.AppendUint64(nil, uint64(deadlineUS)) //nolint:gosec // a monotonic clock's
	_, err := c.pipe.Write(message)
	return err
}

func (c *child) kill() {
	_ = c.process.Kill() // It may have ended.
	_ = c.pipe.Close()
}
