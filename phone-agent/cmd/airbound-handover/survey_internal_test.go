// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/survey"
)

func TestASurveyWritesATableAndASummary(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	at, served := newAddress(), make(chan error, 1)
	go func() {
		o := surveyOptions{options: options{plainText: true}, listen: "127.0.0.1:0", interval: 20 * time.Millisecond}
		served <- o.server(ctx, io.Discard, at)
	}()
	to := <-at.lines
	for _, asJSON := range []bool{false, true} {
		table := filepath.Join(t.TempDir(), "ride.csv")
		o := surveyOptions{
			options: options{plainText: true, json: asJSON}, to: to, table: table,
			duration: time.Second, interval: 20 * time.Millisecond,
		}
		var stdout bytes.Buffer
		if err := o.phone(ctx, &stdout, io.Discard); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(table)
		if err != nil || !strings.HasPrefix(string(text), strings.Join(survey.Columns, ",")+"\n") {
			t.Errorf("%.100q, %v", text, err)
		}
		if left, err := filepath.Glob(table + ".*"); err != nil || len(left) != 0 {
			t.Errorf("%v, %v", left, err)
		}
		if !asJSON {
			for _, want := range []string{"tcp_up ", "udp_down ", "0 arrivals"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("%q is not in %q", want, stdout.String())
				}
			}
			continue
		}
		var got struct{ Summary survey.Summary }
		if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || len(got.Summary.Series) != 3 {
			t.Errorf("%s: %v", stdout.String(), err)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestASurveyWithoutAServer(t *testing.T) {
	t.Parallel()
	table := filepath.Join(t.TempDir(), "ride.csv")
	line := []string{"survey", "--to", "127.0.67.9:1", "--plain-text", "--csv", table}
	var stderr bytes.Buffer
	code := program().Dispatch(t.Context(), line, io.Discard, &stderr)
	if code != command.ExitError || !strings.Contains(stderr.String(), "connect to the server") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	if _, err := os.Stat(table); err == nil {
		t.Error("there is a table of nothing")
	}
}

func TestATableThatCannotBeWrittenIsFoundBeforeTheSurvey(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for table, want := range map[string]string{
		filepath.Join(directory, "none", "ride.csv"): "no such file or directory",
		directory: "is not a file",
	} {
		line := []string{"survey", "--to", "127.0.67.9:1", "--plain-text", "--csv", table}
		var stderr bytes.Buffer
		code := program().Dispatch(t.Context(), line, io.Discard, &stderr)
		if got := stderr.String(); code != command.ExitError || !strings.Contains(got, want) ||
			!strings.Contains(got, "write the table") {
			t.Errorf("exit code %d, %q", code, got)
		}
	}
}

func TestWrongFlagsOfASurveyAreNamed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"survey":                                                          "or --listen (the server's) is missing",
		"survey --to h:1 --listen h:1":                                    "or both are there",
		"survey --to h:1":                                                 "--csv is missing",
		"survey --to h --csv f":                                           `--to "h" is not ADDR:PORT`,
		"survey --listen :1":                                              "--plain-text, are missing",
		"survey --listen :1 --csv f":                                      "--listen excludes --csv",
		"survey --to h:1 --csv f --duration 0":                            "--duration",
		"survey --to h:1 --csv f --duration 25h":                          "--duration 25h0m0s is not within",
		"survey --to h:1 --csv f --interval 1ms":                          "--interval 1ms is not within",
		"survey --to h:1 --csv f --duration 6h --interval 20ms":           "is more than 1000000 packets",
		"survey --to h:1 --csv f --events-token t":                        "--events-token needs --events",
		"survey --to h:1 --csv f --plain-text --tls-key k":                "--plain-text excludes certificates",
		"survey --to h:1 --csv f --credentials-dir d --tls-certificate c": "--credentials-dir excludes",
	} {
		var stderr bytes.Buffer
		code := program().Dispatch(t.Context(), strings.Fields(line), io.Discard, &stderr)
		if code != command.ExitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q; want %q", line, code, stderr.String(), want)
		}
	}
}

func TestAnArrivalIsALine(t *testing.T) {
	t.Parallel()
	for want, event := range map[string]events.Event{
		"association wlan0 02:00:00:00:00:01 by nl80211": {
			Source: events.NL80211, Kind: events.Association, Interface: "wlan0", Place: "02:00:00:00:00:01",
		},
		"base_station 440-10-1 by file": {Source: events.File, Kind: events.BaseStation, Place: "440-10-1"},
	} {
		if got := arrivalText(event); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
