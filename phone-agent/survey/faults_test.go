// SPDX-License-Identifier: Apache-2.0

package survey_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/survey"
)

// between carries TCP connections to a server; the second is broken when broken is closed.
func between(t *testing.T, server string, broken <-chan struct{}) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for count := 1; ; count++ {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server)
			if err != nil {
				t.Error(err)
				return
			}
			closed := make(chan struct{}, 2)
			carry := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				closed <- struct{}{}
			}
			go carry(near, far)
			go carry(far, near)
			isSecond := count == 2
			go func() {
				defer func() { _, _ = near.Close(), far.Close() }()
				if isSecond {
					<-broken
					return
				}
				<-closed
			}()
		}
	}()
	return listener.Addr().String()
}

func TestAConnectionForRecordsThatBreaksEndsTheSurvey(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	at := between(t, serve(t, "4", "127.0.0.1", &survey.Server{Interval: 5 * time.Millisecond}), broken)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := survey.Run(ctx, at, survey.Config{
		Interval: 5 * time.Millisecond, Drain: time.Second,
		Saved: atLeast(3, func() {
			select {
			case <-broken:
			default:
				close(broken)
			}
		}), SaveInterval: 10 * time.Millisecond,
	})
	if err == nil || ctx.Err() != nil || result == nil || result.Log.Summary().Series[0].Received < 3 {
		t.Errorf("%+v, %v, %v", result, err, ctx.Err())
	}
}

// A table takes seconds to write. What it does not have is noted meanwhile.
func TestASurveyGoesOnWhileItIsSaved(t *testing.T) {
	t.Parallel()
	at := serve(t, "4", "127.0.0.1", &survey.Server{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, saved := make(chan string), false
	result, err := survey.Run(ctx, at, survey.Config{
		Events: events, Drain: patience, SaveInterval: time.Millisecond,
		Saved: func(log *survey.Log) {
			if saved {
				return
			}
			saved = true
			defer cancel()
			for _, text := range []string{"one", "two", "three"} {
				select {
				case events <- text:
				case <-time.After(patience):
					t.Errorf("%s: it waits", text)
					return
				}
			}
			if got := log.Summary().Events; got != 0 {
				t.Errorf("%d events came into what is saved", got)
			}
		},
	})
	if err != nil || result.Log.Summary().Events < 2 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestAServerThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.ReadFull(conn, make([]byte, 54))
			cancel() // As Ctrl-C does.
		}
	}()
	at := listener.Addr().String()
	result, err := survey.Run(ctx, at, survey.Config{})
	if result != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), at) {
		t.Errorf("%+v, %v", result, err)
	}
}
