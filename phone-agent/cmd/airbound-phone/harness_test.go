// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/phone-agent/monitor/procfs"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The end-to-end tests run the built program against a real gRPC server on loopback and a directory of regular files
// that stands in for /proc: the rules file then contains the last transaction.

const timeout = 30 * time.Second

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

// eventually waits until a condition is true; no test depends on how long that takes.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

type (
	request  = airboundv1.TerminalServiceConnectRequest
	response = airboundv1.TerminalServiceConnectResponse
)

// controller is a TerminalService that records reports and sends what the test sends.
type controller struct {
	airboundv1.UnimplementedTerminalServiceServer
	address string
	server  *grpc.Server
	reports chan *airboundv1.TerminalReport
	streams chan grpc.BidiStreamingServer[request, response]
}

func startController(t *testing.T, address string) *controller {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c := newController()
	c.address, c.server = listener.Addr().String(), grpc.NewServer()
	airboundv1.RegisterTerminalServiceServer(c.server, c)
	go func() { _ = c.server.Serve(listener) }()
	t.Cleanup(c.server.Stop)
	return c
}

func newController() *controller {
	return &controller{
		reports: make(chan *airboundv1.TerminalReport, 10000),
		streams: make(chan grpc.BidiStreamingServer[request, response], 100),
	}
}

func (c *controller) Connect(
	stream grpc.BidiStreamingServer[request, response],
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
func (c *controller) stream(t *testing.T) grpc.BidiStreamingServer[request, response] {
	t.Helper()
	select {
	case stream := <-c.streams:
		return stream
	case <-time.After(timeout):
		t.Fatal("the agent never connected")
		return nil
	}
}

// report waits for a report that matches.
func (c *controller) report(
	t *testing.T, what string, wanted func(*airboundv1.TerminalReport) bool,
) *airboundv1.TerminalReport {
	t.Helper()
	deadline := time.After(timeout)
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
	// capabilities that the agent has, as setpriv takes them; empty: all that the test has.
	capabilities string
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
	lines = append([]string{procfs.Header()}, lines...)
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

// awaitTransaction waits until this is the last transaction that was written to the kernel.
func (p *phone) awaitTransaction(want string) {
	p.t.Helper()
	eventually(p.t, "the last transaction is "+want, func() bool { return p.rules() == want })
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
	return p.startWith(log, "--plain-text", "--controller", controller)
}

// startWith runs an agent that has the flags for its controller.
func (p *phone) startWith(log io.Writer, arguments ...string) *exec.Cmd {
	p.t.Helper()
	agent := p.command(append([]string{
		"run", "--mac", "02:00:00:00:01:0A", "--sample-interval", "100ms", "--interval", "500ms", "--heartbeat", "1s",
	}, arguments...)...)
	if p.capabilities != "" {
		agent = exec.Command("setpriv", append([]string{
			"--bounding-set", p.capabilities, "--inh-caps", "-all", "--no-new-privs", "--",
		}, agent.Args...)...)
	}
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

// status runs the program's own status and returns its output and its exit code.
func (p *phone) status(arguments ...string) (string, int) {
	p.t.Helper()
	command := p.command(append([]string{"status"}, arguments...)...)
	text, err := command.Output()
	if err != nil && command.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(text), command.ProcessState.ExitCode()
}

func setBounds(generation uint64, leaseMS uint32, bounds ...*airboundv1.Bound) *response {
	return &response{Command: &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_SetBounds{SetBounds: &airboundv1.SetBounds{
			Generation: generation, LeaseMs: leaseMS, Bounds: bounds, ActiveSenders: 5,
			Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_STARTED_SENDING, Subject: "10.0.4.1"},
		}},
	}}
}

func renewal(generation uint64, leaseMS uint32) *response {
	return &response{Command: &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_RenewLease{
			RenewLease: &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS},
		},
	}}
}

func destination(prefix string, minSegs, maxSegs uint32) *airboundv1.Bound {
	parsed := netip.MustParsePrefix(prefix)
	return &airboundv1.Bound{
		Selector: &airboundv1.Bound_Destination{Destination: &airboundv1.Prefix{
			Address: parsed.Addr().AsSlice(), LengthBits: uint32(parsed.Bits()),
		}},
		MinSegs: minSegs, MaxSegs: maxSegs,
	}
}
