// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/phone-agent/monitor"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The end-to-end tests run the built program against a real gRPC server on loopback and a directory of regular files that
// stands in for /proc: the rules file then holds the last transaction.

const patience = 30 * time.Second

// binary is built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "airbound-phone-e2e")
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "airbound-phone")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=e2e", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	return path, build.Run()
})

// eventually waits until a condition holds; how long that takes does not matter to any test.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// controller is a TerminalService that keeps what it is told and says what the test says.
type controller struct {
	airboundv1.UnimplementedTerminalServiceServer
	address string
	server  *grpc.Server
	reports chan *airboundv1.TerminalReport
	streams chan grpc.BidiStreamingServer[airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse]
}

func startController(t *testing.T, address string) *controller {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := &controller{
		address: listener.Addr().String(),
		server:  grpc.NewServer(),
		reports: make(chan *airboundv1.TerminalReport, 10000),
		streams: make(chan grpc.BidiStreamingServer[airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse], 100),
	}
	airboundv1.RegisterTerminalServiceServer(c.server, c)
	go func() { _ = c.server.Serve(listener) }()
	t.Cleanup(c.server.Stop)
	return c
}

func (c *controller) Connect(
	stream grpc.BidiStreamingServer[airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse],
) error {
	c.streams <- stream
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		c.reports <- request.GetReport()
	}
}

// stream waits for the agent to connect.
func (c *controller) stream(t *testing.T) grpc.BidiStreamingServer[
	airboundv1.TerminalServiceConnectRequest, airboundv1.TerminalServiceConnectResponse] {
	t.Helper()
	select {
	case stream := <-c.streams:
		return stream
	case <-time.After(patience):
		t.Fatal("the agent never connected")
		return nil
	}
}

// report waits for a report that is as wanted.
func (c *controller) report(t *testing.T, what string, wanted func(*airboundv1.TerminalReport) bool) *airboundv1.TerminalReport {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case report := <-c.reports:
			if wanted(report) {
				return report
			}
		case <-deadline:
			t.Fatalf("no report: %s", what)
		}
	}
}

// phone is a fake /proc, a state directory and the agents that run on them.
type phone struct {
	t        *testing.T
	root     string
	stateDir string
}

func newPhone(t *testing.T) *phone {
	t.Helper()
	p := &phone{t: t, root: t.TempDir(), stateDir: filepath.Join(t.TempDir(), "state")}
	if err := os.Mkdir(filepath.Join(p.root, "net"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.writeFile("tcp_cwnd_bounds", "")
	p.connections()
	return p
}

func (p *phone) writeFile(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, "net", name)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		p.t.Fatal(err)
	}
}

// connections replaces the monitor's content as a whole.
func (p *phone) connections(lines ...string) {
	p.t.Helper()
	lines = append([]string{strings.Join(monitor.Columns, " ")}, lines...)
	p.writeFile("tcp_monitor", strings.Join(lines, "\n")+"\n")
}

func (p *phone) rules() string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, "net", "tcp_cwnd_bounds"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// eventuallyHolds waits until this is the last transaction that the kernel was given.
func (p *phone) eventuallyHolds(want string) {
	p.t.Helper()
	eventually(p.t, "the kernel was last given "+want, func() bool { return p.rules() == want })
}

func (p *phone) command(arguments ...string) *exec.Cmd {
	p.t.Helper()
	path, err := binary()
	if err != nil {
		p.t.Fatalf("build the agent: %v", err)
	}
	arguments = append(arguments, "--proc-root", p.root, "--state-dir", p.stateDir)
	return exec.Command(path, arguments...)
}

// start runs an agent until the test ends.
func (p *phone) start(controller string) *exec.Cmd {
	p.t.Helper()
	return p.startWithLog(controller, p.t.Output())
}

func (p *phone) startWithLog(controller string, log io.Writer) *exec.Cmd {
	p.t.Helper()
	agent := p.command("run", "--controller", controller, "--mac", "02:00:00:00:01:0A", "--sample-interval", "100ms", "--interval", "500ms")
	agent.Stderr = log
	if err := agent.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if agent.ProcessState == nil {
			_ = agent.Process.Kill()
			_ = agent.Wait()
		}
	})
	return agent
}

// status runs the program's own status and returns what it says and its exit code.
func (p *phone) status(arguments ...string) (string, int) {
	p.t.Helper()
	command := p.command(append([]string{"status"}, arguments...)...)
	text, err := command.Output()
	if err != nil && command.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

func setBounds(generation uint64, leaseMS uint32, bounds ...*airboundv1.Bound) *airboundv1.TerminalServiceConnectResponse {
	return &airboundv1.TerminalServiceConnectResponse{Command: &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_SetBounds{SetBounds: &airboundv1.SetBounds{
			Generation: generation, LeaseMs: leaseMS, Bounds: bounds, Reason: "n 5, paper JB",
		}},
	}}
}

func renewal(generation uint64, leaseMS uint32) *airboundv1.TerminalServiceConnectResponse {
	return &airboundv1.TerminalServiceConnectResponse{Command: &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_RenewLease{RenewLease: &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS}},
	}}
}

func destination(prefix string, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{
		Selector: &airboundv1.Bound_DestinationPrefix{DestinationPrefix: prefix}, MinSegs: minSegs, MaxSegs: maxSegs,
	}
}
