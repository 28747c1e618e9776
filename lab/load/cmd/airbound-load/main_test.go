// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/lab/load/controllertest"
)

func TestWrongUsage(t *testing.T) {
	tests := map[string]struct {
		arguments []string
		says      string
	}{
		"no such option":   {[]string{"--phones", "3"}, "phones"},
		"argument":         {[]string{"now"}, "unexpected argument"},
		"too many":         {[]string{"--cells", "100000", "--terminals", "2000"}, "cells times terminals"},
		"not a number":     {[]string{"--rate", "NaN"}, "rate"},
		"changes too fast": {[]string{"--change-every", "5"}, "change-every"},
		"roams too fast":   {[]string{"--roam-every", "0.5"}, "roam-every"},
		"raw twice":        {[]string{"--raw", "--compare-raw"}, "raw"},
		"remote":           {[]string{"--controller", "192.0.2.1:50051"}, "allow-remote"},
		"remote addresses": {[]string{"--controller", "192.0.2.1:50051", "--allow-remote"}, "shared-address"},
		"no port":          {[]string{"--controller", "127.0.0.1"}, "controller"},
		"cores":            {[]string{"--server-cores", "1,x"}, "server-cores"},
		"endless":          {[]string{"--seconds", "86400"}, "seconds"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, complaint := command(t, test.arguments...)
			if code != exitUsage || !strings.Contains(complaint, test.says) {
				t.Errorf("exit code %d: %s", code, complaint)
			}
		})
	}
}

// command runs the program; its exit code and what it printed.
func command(t *testing.T, arguments ...string) (code int, out, complaint string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var buffer bytes.Buffer
	code = run(arguments, &buffer, file)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return code, buffer.String(), string(text)
}

func TestHelpHasExamples(t *testing.T) {
	code, _, text := command(t, "--help")
	if code != exitDone || !strings.Contains(text, "examples:") || !strings.Contains(text, "-change-every") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestNoController(t *testing.T) {
	tests := map[string][]string{
		"none there":     {"--controller", "127.0.0.1:1", "--operators", "127.0.0.1:1"},
		"does not start": {"--command", "sh -c exit"},
	}
	for name, arguments := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, complaint := command(t, arguments...)
			if code != exitNoReply || !strings.Contains(complaint, "no controller answers") {
				t.Errorf("exit code %d: %s", code, complaint)
			}
		})
	}
}

func TestARunAgainstAControllerThatRuns(t *testing.T) {
	agents, operators := (&controllertest.Controller{}).Serve(t)
	path := filepath.Join(t.TempDir(), "out.json")
	code, out, complaint := command(t, "--controller", agents.String(), "--operators", operators.String(),
		"--cells", "2", "--terminals", "4", "--seconds", "10", "--warmup", "3", "--change-every", "6", "--json", path)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, complaint)
	}
	if !strings.Contains(out, "handled/s") {
		t.Errorf("printed %s", out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		ReportsPerS float64  `json:"reports_per_s"`
		CPU         *float64 `json:"cpu_us_per_report"`
		Latency     struct {
			P50 float64 `json:"p50"`
			Max float64 `json:"max"`
		} `json:"latency_ms"`
		Behind   bool           `json:"behind"`
		Missing  int            `json:"missing"`
		Settings map[string]any `json:"settings"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	if result.ReportsPerS < 5 || result.CPU != nil || result.Latency.P50 <= 0 || result.Behind || result.Missing != 0 {
		t.Errorf("result is %s", text)
	}
	if result.Settings["change_every"] != 6.0 || result.Settings["cells"] != 2.0 {
		t.Errorf("settings are %v", result.Settings)
	}
}

func TestControllerAndYardstickTakeTurns(t *testing.T) {
	o, err := parse([]string{"--compare-raw", "--rounds", "2"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.servers(); !slices.Equal(got, []string{"controller", "raw", "controller", "raw"}) {
		t.Errorf("servers are %v", got)
	}
}
