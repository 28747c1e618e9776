// SPDX-License-Identifier: Apache-2.0

//go:build packages

// Package packagestest starts the program of each package that scripts/packages.sh made, in an emulator of its
// architecture, beside a hostapd and a controller of this process, and compares what it costs with limits.txt. The
// emulators have no nl80211: reading stations and setting EDCA parameters is not part of this.
package packagestest_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	repository = "../../.."
	timeout    = 120 * time.Second
	// From the connection to the measurement, several times the interval between reports.
	settle   = 3 * time.Second
	interval = "200ms"
	native   = "x86_64"
)

func packagesDirectory() string {
	return cmp.Or(os.Getenv("AIRBOUND_PACKAGES"), filepath.Join(repository, "build/packages"))
}

// table reads a file of words by lines, by the first word.
func table(t *testing.T, file string) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			rows[words[0]] = words[1:]
		}
	}
	return rows
}

// member returns the content of a file in a .tar.gz.
func member(t *testing.T, archive []byte, name string) []byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(plain)
	for {
		header, err := files.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if path.Clean(header.Name) == name {
			content, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
	}
}

type made struct {
	program  string
	ipkBytes int
	apkBytes int
}

// unpack writes the program of a package to a file.
func unpack(t *testing.T, architecture string) made {
	t.Helper()
	var contents [2][]byte
	for i, ending := range []string{"ipk", "apk"} {
		names, err := filepath.Glob(filepath.Join(packagesDirectory(), architecture, "*."+ending))
		if err != nil || len(names) != 1 {
			t.Fatalf("%s of %s: %v, %v; run `make packages`", ending, architecture, names, err)
		}
		if contents[i], err = os.ReadFile(names[0]); err != nil {
			t.Fatal(err)
		}
	}
	data := member(t, contents[0], "data.tar.gz")
	program := filepath.Join(t.TempDir(), "airbound-ap")
	if err := os.WriteFile(program, member(t, data, "usr/sbin/airbound-ap"), 0o755); err != nil {
		t.Fatal(err)
	}
	return made{program, len(contents[0]), len(contents[1])}
}

// controller has a stream for each agent that connected.
type controller struct {
	airboundv1.UnimplementedAccessPointServiceServer
	connected chan context.Context
}

func (c controller) Connect(stream grpc.BidiStreamingServer[airboundv1.AccessPointServiceConnectRequest,
	airboundv1.AccessPointServiceConnectResponse],
) error {
	c.connected <- stream.Context()
	<-stream.Context().Done()
	return nil
}

// start runs the program until the test ends, as the init script does; it returns the process.
func start(t *testing.T, command []string, log io.Writer) *exec.Cmd {
	t.Helper()
	process := exec.CommandContext(t.Context(), command[0], command[1:]...)
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	return process
}

func TestThePackagedProgramEnrolsConnectsAndEnds(t *testing.T) {
	for architecture, row := range table(t, "../architectures.txt") {
		t.Run(architecture, func(t *testing.T) {
			limits := table(t, "../limits.txt")[architecture]
			if len(row) != 3 || len(limits) != 4 {
				t.Fatalf("architectures.txt has %q, limits.txt %q", row, limits)
			}
			got := unpack(t, architecture)
			command := []string{got.program}
			if architecture != native {
				command = []string{row[2], got.program}
			}
			version, err := exec.CommandContext(t.Context(), command[0], append(command[1:], "--version")...).Output()
			if err != nil || !strings.HasPrefix(string(version), "airbound-ap ") {
				t.Fatalf("--version: %q, %v", version, err)
			}
			memoryKiB := run(t, command)
			information, err := os.Stat(got.program)
			if err != nil {
				t.Fatal(err)
			}
			measured := []int{int(information.Size()), got.ipkBytes, got.apkBytes, memoryKiB}
			t.Logf("%s %v, limits %v", architecture, measured, limits)
			for i, what := range []string{"bytes of program", "bytes of .ipk", "bytes of .apk", "KiB resident"} {
				if limit, err := strconv.Atoi(limits[i]); err != nil || measured[i] > limit {
					t.Errorf("%d %s, limit %d, %v", measured[i], what, limit, err)
				}
			}
		})
	}
}

// run starts an agent with a token, waits for its stream and for hostapd to have it, and ends it. It returns the
// resident memory in between.
func run(t *testing.T, command []string) int {
	t.Helper()
	directory, err := os.MkdirTemp("", "ap") //nolint:usetesting // a socket's path has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	socket := filepath.Join(directory, "wlan0")
	hostapd, err := hostapdtest.Start(socket, "wlan0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hostapd.Kill() }()
	connected := make(chan context.Context, 1)
	server := credentialstest.Start(t, func(server *grpc.Server) {
		airboundv1.RegisterAccessPointServiceServer(server, controller{connected: connected})
	})
	token := filepath.Join(directory, "token")
	if err := os.WriteFile(token, []byte(server.Invite(identity.RoleAccessPoint, "ap-1")), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	process := start(t, slices.Concat(command, []string{
		"run", "--controller", server.Streams, "--enroll", server.Enrolment, "--token-file", token,
		"--interface", "wlan0", "--hostapd-control", socket,
		"--credentials-dir", filepath.Join(directory, "credentials"),
		"--state-dir", filepath.Join(directory, "state"), "--interval", interval,
	}), &log)
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	select {
	case stream := <-connected:
		presented, err := credentialstest.Presented(stream)
		if err != nil || presented.URIs[0].String() != "spiffe://test.example/access-point/ap-1" {
			t.Errorf("%v, %v", presented, err)
		}
	case err := <-ended:
		t.Fatalf("ended: %v\n%s", err, &log)
	case <-time.After(timeout):
		_ = process.Process.Kill()
		t.Fatalf("no stream: %v\n%s", <-ended, &log)
	}
	if got := monitors(hostapd, 1); got != 1 {
		t.Errorf("%d programs are attached to hostapd", got)
	}
	time.Sleep(settle)
	memoryKiB := resident(t, process.Process.Pid, len(command) > 1)
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-ended:
	case <-time.After(timeout):
		_ = process.Process.Kill()
		err = errors.Join(errors.New("did not end"), <-ended)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, &log)
	}
	if got := monitors(hostapd, 0); got != 0 {
		t.Errorf("%d programs are still attached", got)
	}
	return memoryKiB
}

// monitors waits until so many programs are attached to hostapd, which may still have to read that one has come or
// gone, and returns how many are.
func monitors(hostapd *hostapdtest.Server, want int) int {
	for deadline := time.Now().Add(timeout); hostapd.Monitors() != want && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	return hostapd.Monitors()
}
