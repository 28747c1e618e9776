// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/controllerclient"
	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

type (
	request  = airboundv1.TerminalServiceConnectRequest
	response = airboundv1.TerminalServiceConnectResponse
)

const (
	timeout = 30 * time.Second
	name    = "phone-7"
	id      = "spiffe://" + credentialstest.TrustDomain + "/terminal/" + name
)

// streams is a TerminalService that records the serial numbers of the certificates which its streams come with.
type streams struct {
	airboundv1.UnimplementedTerminalServiceServer
	opened, ended chan string
	// Why a stream is refused; empty if it is not.
	refusal atomic.Pointer[string]
}

func newStreams() *streams {
	return &streams{opened: make(chan string, 100), ended: make(chan string, 100)}
}

func (s *streams) register(server *grpc.Server) { airboundv1.RegisterTerminalServiceServer(server, s) }

func (s *streams) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	presented, err := credentialstest.Presented(stream.Context())
	if err != nil {
		return err
	}
	serial := presented.SerialNumber.String()
	s.opened <- serial
	defer func() { s.ended <- serial }()
	if refusal := s.refusal.Load(); refusal != nil {
		return grpcstatus.Error(codes.PermissionDenied, *refusal)
	}
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

// await waits for a stream with a certificate. Streams of agents that were stopped may arrive late.
func (s *streams) await(t *testing.T, serial string) {
	t.Helper()
	for next(t, "stream", s.opened) != serial {
		continue
	}
}

// device is an agent's certificate and stream, and what became of them.
type device struct {
	*credentials.Device

	t        *testing.T
	cfg      credentials.Config
	connects chan bool
	ended    chan error
	stop     func()

	mutex  sync.Mutex
	status identity.Status
	log    strings.Builder
}

// config is one of a phone that knows the controller, with a new directory.
func config(t *testing.T, c *credentialstest.Controller) credentials.Config {
	t.Helper()
	return credentials.Quick(credentials.Config{
		Directory: filepath.Join(t.TempDir(), "credentials"), Role: identity.RoleTerminal,
		Controllers: []string{c.Streams}, Enrolment: []string{c.Enrolment},
	})
}

// open reads the directory and runs nothing yet.
func open(t *testing.T, cfg credentials.Config) (*device, error) {
	t.Helper()
	d := &device{t: t, connects: make(chan bool, 100), ended: make(chan error, 1)}
	cfg.SaveStatus = func(status identity.Status) error {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		d.status = status
		return nil
	}
	cfg.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(writer(d.append), t.Output()),
		&slog.HandlerOptions{Level: slog.LevelDebug}))
	d.cfg = cfg
	opened, err := credentials.Open(cfg)
	d.Device = opened
	return d, err
}

type writer func([]byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }

func (d *device) append(text []byte) (int, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.log.Write(text)
}

// start runs a device with a stream until the test ends or stop is called.
func start(t *testing.T, cfg credentials.Config) *device {
	t.Helper()
	d, err := open(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		d.ended <- credentials.RunStream(ctx, d.Device, controllerclient.Config{
			Addresses: cfg.Controllers, Logger: d.cfg.Logger, BackoffMin: time.Millisecond,
			BackoffMax: 20 * time.Millisecond,
		}, controllerclient.Stream[request, response]{
			Open: connect, Outgoing: make(chan *request), Handle: func(*response) {},
			OnState: func(connected bool) {
				select {
				case d.connects <- connected:
				case <-ctx.Done(): // Nobody reads them any more.
				}
			},
		})
	}()
	d.stop = func() {
		cancel()
		<-finished
	}
	t.Cleanup(d.stop)
	return d
}

func connect(ctx context.Context, conn *grpc.ClientConn) (grpc.BidiStreamingClient[request, response], error) {
	return airboundv1.NewTerminalServiceClient(conn).Connect(ctx)
}

func (d *device) lastStatus() identity.Status {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.status
}

func (d *device) logged(text string) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return strings.Contains(d.log.String(), text)
}

// awaitError waits until the status has an error with a text.
func (d *device) awaitError(text string) {
	d.t.Helper()
	eventually(d.t, "an error with "+text, func() bool { return strings.Contains(d.lastStatus().LastError, text) })
}

// eventually waits until a condition is true; no test depends on how long that takes.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(timeout):
		t.Fatalf("no %s within %v", what, timeout)
		panic("unreachable")
	}
}

func expect[T comparable](t *testing.T, what string, from <-chan T, want T) {
	t.Helper()
	if got := next(t, what, from); got != want {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// files returns the names and modes of what is in a directory.
func files(t *testing.T, path string) map[string]os.FileMode {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]os.FileMode{}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = info.Mode()
	}
	return found
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// enrolled returns the configuration of a phone that is enrolled, and has no token any more.
func enrolled(t *testing.T, c *credentialstest.Controller) credentials.Config {
	t.Helper()
	cfg := config(t, c)
	cfg.Token = c.Invite(identity.RoleTerminal, name)
	d := start(t, cfg)
	expect(t, "state", d.connects, true)
	d.stop()
	cfg.Token = ""
	return cfg
}

// serialIn returns the serial number of the certificate in a directory.
func serialIn(t *testing.T, directory string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(read(t, filepath.Join(directory, "certificate.pem"))))
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.SerialNumber.String()
}
