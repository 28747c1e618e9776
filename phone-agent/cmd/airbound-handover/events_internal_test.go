// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/offer"
	"github.com/airbound/airbound/phone-agent/handover"
)

// agent offers arrivals at a Unix socket, or at a loopback port if there is a token, until stop is called.
func agent(t *testing.T, socket, token string) (server *offer.Server, address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var listener net.Listener
	var err error
	if token == "" {
		listener, err = offer.ListenUnix(ctx, socket)
	} else {
		listener, err = offer.ListenLoopback(ctx, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	server = offer.New(func(events.Source, events.Report) events.Outcome { return events.New }, func(error) {})
	done := make(chan struct{})
	go func() {
		server.Serve(ctx, listener, events.Program, token)
		close(done)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return server, listener.Addr().String(), stop
}

var arrivedThere = events.Event{
	AtUS: 1, Source: events.File, Kind: events.BaseStation, Place: "440-10-1234-5678",
}

// next waits for an arrival, which is published until it comes: a connection may be a new one.
func next(t *testing.T, server *offer.Server, subscribed <-chan handover.Event) handover.Event {
	t.Helper()
	deadline := time.After(patience)
	for {
		server.Publish(arrivedThere)
		select {
		case event := <-subscribed:
			return event
		case <-deadline:
			t.Fatal("the arrival never came")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestArrivalsComeToEachSession(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"unix": "", "loopback": "0123456789abcdef0123456789abcdef"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := filepath.Join(t.TempDir(), "events.sock")
			server, at, stop := agent(t, socket, token)
			heard := make(chan events.Event, 1000)
			made := &arrivals{subscribed: map[chan handover.Event]struct{}{}, heard: func(event events.Event) {
				select {
				case heard <- event:
				default:
				}
			}}
			end, err := made.follow(t.Context(), at, token, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			one, other, gone := made.subscribe(), made.subscribe(), made.subscribe()
			made.unsubscribe(gone)
			for _, each := range []chan handover.Event{one, other} {
				if got := next(t, server, each); got.Kind != string(events.BaseStation) {
					t.Errorf("%+v", got)
				}
			}
			if len(gone) != 0 {
				t.Error("a session that has ended gets arrivals")
			}
			if got := <-heard; got.Place != arrivedThere.Place || got.Source != arrivedThere.Source {
				t.Errorf("%+v", got)
			}
			if token != "" {
				return
			}
			// The agent is started again.
			stop()
			again, _, _ := agent(t, socket, token)
			for len(one) > 0 {
				<-one
			}
			next(t, again, one)
		})
	}
}

func TestWithoutAnAgentNothingIsSent(t *testing.T) {
	t.Parallel()
	_, loopback, _ := agent(t, "", "0123456789abcdef0123456789abcdef")
	for name, agents := range map[string]options{
		"no socket":       {events: filepath.Join(t.TempDir(), "none")},
		"a wrong token":   {events: loopback, eventsToken: "fedcba9876543210fedcba9876543210"},
		"no agent's port": {events: "127.0.67.9:1", eventsToken: "0123456789abcdef0123456789abcdef"},
	} {
		agents.plainText = true
		o := sendOptions{options: agents, to: "127.0.67.9:1", timeout: patience}
		err := o.run(t.Context(), strings.NewReader("x"), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "the agent") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// pemFiles writes a certificate, its key and its authority.
func pemFiles(t *testing.T, authority *credentialstest.Authority, leaf *tls.Certificate) options {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return options{
		certificate: write("cert.pem", "CERTIFICATE", leaf.Certificate[0]), key: write("key.pem", "PRIVATE KEY", key),
		authority: write("ca.pem", "CERTIFICATE", authority.Certificate.Raw),
	}
}

func TestTheAgentsCertificateIsEnough(t *testing.T) {
	t.Parallel()
	controller := credentialstest.Start(t, nil)
	directory := controller.Enrolled(t, identity.RoleTerminal)
	server := pemFiles(t, controller.Authority, controller.Authority.Server(credentialstest.ControllerLeaf()))
	at, done := newAddress(), make(chan error, 1)
	var received bytes.Buffer
	go func() {
		o := receiveOptions{listen: "127.0.0.1:0", options: server}
		done <- o.run(t.Context(), &received, at)
	}()
	o := sendOptions{to: <-at.lines, options: options{credentials: directory}, timeout: patience}
	if err := o.run(t.Context(), strings.NewReader("a text"), io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil || received.String() != "a text" {
		t.Errorf("%q, %v", received.String(), err)
	}

	// A survey as well.
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		o := surveyOptions{options: server, listen: "127.0.0.1:0", interval: 20 * time.Millisecond}
		done <- o.server(ctx, io.Discard, at)
	}()
	ride := surveyOptions{
		options: options{credentials: directory}, to: <-at.lines, table: filepath.Join(t.TempDir(), "ride.csv"),
		duration: time.Second, interval: 20 * time.Millisecond,
	}
	if err := ride.phone(ctx, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAServerOfAnotherAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	controller := credentialstest.Start(t, nil)
	directory := controller.Enrolled(t, identity.RoleTerminal)
	other := credentialstest.NewAuthority(t, "another")
	ctx, cancel := context.WithCancel(t.Context())
	at, done := newAddress(), make(chan error, 1)
	go func() {
		o := receiveOptions{
			listen: "127.0.0.1:0", options: pemFiles(t, other, other.Server(credentialstest.ControllerLeaf())),
		}
		done <- o.run(ctx, io.Discard, at)
	}()
	const soon = time.Second
	o := sendOptions{to: <-at.lines, options: options{credentials: directory}, timeout: soon}
	if err := o.run(ctx, strings.NewReader("a text"), io.Discard, io.Discard); err == nil {
		t.Error("it was taken")
	}
	if _, err := os.Stat(filepath.Join(directory, "key.pem")); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the server had a session")
	}

	none := sendOptions{to: "127.0.67.9:1", timeout: soon}
	none.credentials = filepath.Join(t.TempDir(), "none")
	if err := none.run(t.Context(), strings.NewReader(""), io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("a directory without a certificate: %v", err)
	}
}
