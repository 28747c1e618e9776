// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// secure makes the cell's controller one with mutual TLS, and the agents' options those for it, without a token.
func (c *cell) secure() *credentialstest.Controller {
	c.t.Helper()
	t, isTest := c.t.(*testing.T)
	if !isTest {
		c.t.Fatal("no certificates in a benchmark")
	}
	controller := credentialstest.Start(t, func(server *grpc.Server) {
		airboundv1.RegisterAccessPointServiceServer(server, c.service())
	})
	c.options.controller.Addresses = []string{controller.Streams}
	c.options.security = command.Security{
		Directory: filepath.Join(c.t.TempDir(), "credentials"), Enrolment: []string{controller.Enrolment},
	}
	return controller
}

func TestAnAccessPointEnrolsAtItsFirstStart(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	c.options.security.Token = controller.Invite(identity.RoleAccessPoint, "ap-1")
	stop := c.startAgent()
	c.await(interval, phone1)
	presented, err := credentialstest.Presented(c.stream().Context())
	if err != nil || presented.URIs[0].String() != "spiffe://test.example/access-point/ap-1" {
		t.Errorf("%v, %v", presented.URIs, err)
	}
	text, code := c.status()
	for _, want := range []string{
		"enrolled     spiffe://test.example/access-point/ap-1\n", "certificate  until 2", " UTC, next renewal 2",
	} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, text)
		}
	}
	stop()
	c.options.security.Token = ""
	c.startAgent()
	c.stream()
}

// An access point has an agent for each of its BSSs, and one certificate.
func TestTheAgentsOfAnAccessPointShareACertificate(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	c.options.security.Token = controller.Invite(identity.RoleAccessPoint, "ap-1")
	c.startAgent()
	c.options.state.parent = t.TempDir()
	c.startAgent()
	var serials []string
	for range 2 {
		presented, err := credentialstest.Presented(c.stream().Context())
		if err != nil {
			t.Fatal(err)
		}
		serials = append(serials, presented.SerialNumber.String())
	}
	if got := controller.Counts(); serials[0] != serials[1] || got.Enrolments != 1 {
		t.Errorf("%v, %+v", serials, got)
	}
}

// What an agent that was killed left is written back even if the next one cannot connect.
func TestAnAccessPointWithoutACertificate(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	agent := c.startProcess()
	sendSet(t, c.stream(), setOf(7, time.Minute, 5))
	c.awaitQueues("set", bestEffort(5))
	for _, guard := range c.guards() {
		process, err := os.FindProcess(guard)
		if err := errorsOf(err, process.Kill()); err != nil {
			t.Fatal(err)
		}
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	c.secure()
	tests := map[string]struct{ token, want string }{
		"no token":     {"", "enrol it: run `airbound enroll access-point NAME`"},
		"half a token": {"half", "the token has 4 characters"},
	}
	for name, test := range tests {
		c.options.security.Token = test.token
		err := run(context.WithoutCancel(t.Context()), c.options, c.sockets(), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.kernel.Queues(indexOfWLAN0); got != c.own() || c.record() != nil {
			t.Errorf("%s: %v, record %v", name, got, c.record())
		}
		if text, code := c.status(); code != exitNotRunning || !strings.Contains(text, "stopped in order") ||
			!strings.Contains(text, test.want) {
			t.Errorf("%s: status %d:\n%s", name, code, text)
		}
	}
}

// Whatever starts agents would start it again and again if it ended.
func TestAnAccessPointWhoseTokenIsRefusedShowsWhatToDo(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	token := filepath.Join(t.TempDir(), "token")
	c.options.security.TokenFile = token
	used := controller.Invite(identity.RoleTerminal, "phone-1")
	if err := os.WriteFile(token, []byte(used), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := c.startAgent()
	text := ""
	for deadline := time.Now().Add(timeout); !strings.Contains(text, "the role terminal"); {
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(deadline) {
			t.Fatal(text)
		}
		text, _ = c.status()
	}
	for _, want := range []string{
		"enrolled     not yet\n", "the controller refused: the token is for the role terminal",
		"to do        `airbound enroll access-point NAME` is for access points, ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	stop()
	if err := os.WriteFile(token, []byte(controller.Invite(identity.RoleAccessPoint, "ap-1")), 0o600); err != nil {
		t.Fatal(err)
	}
	c.startAgent()
	c.await(interval, phone1)
}
