// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/lab/load/controllertest"
	"github.com/airbound/airbound/lab/load/server"
)

func TestTheConfigurationNamesBothAddresses(t *testing.T) {
	for _, name := range []string{"{listen}", "{operators}"} {
		if !strings.Contains(server.Configuration, `"`+name+`"`) {
			t.Errorf("no %s in %s", name, server.Configuration)
		}
	}
}

func TestAServerThatEndsOrDoesNotExistIsNotStarted(t *testing.T) {
	tests := map[string]struct {
		command []string
		says    string
	}{
		"ends":           {[]string{"sh", "-c", "echo no such policy >&2; exit 2"}, "no such policy"},
		"does not exist": {[]string{"airbound-does-not-exist"}, "airbound-does-not-exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := server.Start(t.Context(), test.command, nil, "")
			if !errors.Is(err, server.ErrNotStarted) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

const listener = `
import os, socket, sys
assert open(sys.argv[3]).read().count("127.0.0.1:") == 2
assert sorted(os.sched_getaffinity(0)) == [int(sys.argv[4])], os.sched_getaffinity(0)
sockets = []
for address in sys.argv[1:3]:
    host, port = address.split(":")
    sockets.append(socket.create_server((host, int(port))))
for server in sockets:
    server.accept()[0].close()
sockets[0].accept()
`

func TestAServerIsStartedPinnedMeasuredAndStopped(t *testing.T) {
	cores, err := server.Cores()
	if err != nil {
		t.Fatal(err)
	}
	core := cores[len(cores)-1]
	command := []string{"python3", "-c", listener, "{listen}", "{operators}", "{config}", string(rune('0' + core))}
	if core > 9 {
		t.Fatal("the test takes a core of one digit")
	}
	p, err := server.Start(t.Context(), command, []int{core}, "")
	if err != nil {
		t.Fatal(err)
	}
	usage, err := server.UsageOf(p.PID())
	if err != nil || usage.RSSKiB < 1000 {
		t.Errorf("usage %+v, error %v", usage, err)
	}
	if err := p.Ended(); err != nil {
		t.Errorf("ended: %v", err)
	}
	p.Stop()
	if err := p.Ended(); !errors.Is(err, server.ErrEnded) {
		t.Errorf("after its end: %v", err)
	}
	after, err := server.Cores()
	if err != nil || len(after) != len(cores) {
		t.Errorf("cores %v before, %v after; %v", cores, after, err)
	}
}

func TestCPUTimeRises(t *testing.T) {
	before, err := server.UsageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		after, err := server.UsageOf(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if after.CPUUS > before.CPUUS {
			return
		}
	}
	t.Error("no CPU time was used")
}

func TestReportsAreReadFromTheController(t *testing.T) {
	controller := &controllertest.Controller{}
	_, address := controller.Serve(t)
	operators, err := server.DialOperators(address.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer operators.Close()
	if reports, err := operators.Reports(t.Context()); err != nil || reports != 0 {
		t.Errorf("%d reports, error %v", reports, err)
	}
}
