// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestDispatch(t *testing.T) {
	controller := []string{"--controller", "127.0.0.1:1", "--interface", "wlan0"}
	tests := map[string]struct {
		arguments      []string
		code           int
		stdout, stderr string
	}{
		"nothing":          {nil, exitUsage, "", "Examples:"},
		"help":             {[]string{"--help"}, exitOK, "airbound-ap once --interface wlan0 --json", ""},
		"version":          {[]string{"--version"}, exitOK, "airbound-ap development", ""},
		"help of run":      {[]string{"run", "--help"}, exitOK, "-hostapd-control PATH", ""},
		"examples of run":  {[]string{"run", "--help"}, exitOK, "Examples:\n  airbound-ap run --controller", ""},
		"help of once":     {[]string{"once", "-h"}, exitOK, "Usage: airbound-ap once", ""},
		"examples of once": {[]string{"once", "-h"}, exitOK, "Examples:\n  airbound-ap once --interface wlan0\n", ""},
		"no such command":  {[]string{"watch"}, exitUsage, "", `no command "watch"`},
		"empty command":    {[]string{""}, exitUsage, "", `no command ""`},
		"flags alone":      {controller[2:], exitUsage, "", "--controller is missing"},
		"no interface":     {[]string{"run", "--controller", "127.0.0.1:1"}, exitUsage, "", "--interface is missing"},
		"no port":          {append([]string{"run", "--controller", "127.0.0.1"}, controller[2:]...), exitUsage, "", "is not ADDR:PORT"},
		"unknown flag":     {append(controller, "--frob"), exitUsage, "", "-frob; see airbound-ap run --help"},
		"stray argument":   {append(controller, "wlan1"), exitUsage, "", `unexpected argument "wlan1"`},
		"interval too low": {append(controller, "--interval", "99ms"), exitUsage, "", "--interval 99ms is not within"},
		"interval no time": {append(controller, "--interval", "soon"), exitUsage, "", `"soon"`},
		"log level":        {append(controller, "--log-level", "loud"), exitUsage, "", `"loud"`},
		"log format":       {append(controller, "--log-format", "xml"), exitUsage, "", `"xml" is neither text nor json`},
		"once, no name":    {[]string{"once"}, exitUsage, "", "--interface is missing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := dispatch(t.Context(), test.arguments, &stdout, &stderr)
			if code != test.code {
				t.Errorf("code is %d, want %d", code, test.code)
			}
			for _, stream := range []struct{ name, got, want string }{
				{"stdout", stdout.String(), test.stdout}, {"stderr", stderr.String(), test.stderr},
			} {
				if !strings.Contains(stream.got, stream.want) || stream.want == "" && stream.got != "" {
					t.Errorf("%s is %q, want %q in it", stream.name, stream.got, stream.want)
				}
			}
		})
	}
}

func TestHostapdControlFollowsTheInterface(t *testing.T) {
	options, err := parseRunOptions([]string{"--controller", "[::1]:50051", "--interface", "phy0-ap0"}, nil)
	if err != nil || options.hostapdControl != "/run/hostapd/phy0-ap0" || options.interval != time.Second {
		t.Fatalf("got %+v, %v", options, err)
	}
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"text": "msg=hello", "json": `"msg":"hello"`} {
		var log bytes.Buffer
		options := runOptions{logFormat: format}
		options.logger(&log).Info("hello")
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s log is %q, want %q in it", format, log.String(), want)
		}
	}
}

func TestOnce(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1, phone2)
	c.startHostapd(phone1)
	var stdout, log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	options := onceOptions{bssOptions: c.options.bssOptions, json: true}
	if err := once(t.Context(), options, c.dial, logger, &stdout); err != nil {
		t.Fatal(err)
	}
	var report struct {
		Bssid    string
		Stations []map[string]any
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if report.Bssid != "02:00:00:00:00:00" || len(report.Stations) != 1 || report.Stations[0]["mac"] != phone1 ||
		report.Stations[0]["rx_bytes"] != "1000000" || report.Stations[0]["airtime_source"] != "AIRTIME_SOURCE_ESTIMATED" {
		t.Fatalf("report is %+v", report)
	}
	if log.Len() > 0 {
		t.Fatalf("log is %q, want nothing", log.String())
	}
	stdout.Reset()
	options.json = false
	if err := once(t.Context(), options, c.dial, logger, &stdout); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"wlan0  BSSID 02:00:00:00:00:00", "busy 40.0 %", phone1, "1.0", "estimated"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("table has no %q:\n%s", want, stdout.String())
		}
	}
}

func TestOnceWithoutHostapd(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1, phone2)
	var stdout, log bytes.Buffer
	options := onceOptions{bssOptions: c.options.bssOptions}
	if err := once(t.Context(), options, c.dial, slog.New(slog.NewTextHandler(&log, nil)), &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), phone1) || !strings.Contains(stdout.String(), phone2) {
		t.Fatalf("table has not both stations:\n%s", stdout.String())
	}
	if !strings.Contains(log.String(), "hostapd does not tell") {
		t.Fatalf("log is %q, want a warning", log.String())
	}
}

func TestOnceWithoutTheInterface(t *testing.T) {
	c := newCell(t)
	var stdout bytes.Buffer
	options := onceOptions{bssOptions: c.options.bssOptions}
	err := once(t.Context(), options, c.dial, slog.New(slog.DiscardHandler), &stdout)
	if err == nil || !strings.Contains(err.Error(), "wlan0") || stdout.Len() > 0 {
		t.Fatalf("error is %v, output %q, want an error that names wlan0", err, stdout.String())
	}
}

func TestMalformedInputsAreLoggedNowAndThen(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1000, 0)
	inputs := malformedInputs{
		logger: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now },
	}
	for range 100 {
		inputs.add(errors.New("garbage"))
	}
	if got := strings.Count(log.String(), "\n"); got != 1 || inputs.count() != 100 {
		t.Fatalf("logged %d lines and counted %d, want 1 and 100", got, inputs.count())
	}
	now = now.Add(malformedLogInterval)
	inputs.add(errors.New("more"))
	if got := log.String(); !strings.Contains(got, "error=more total=101 unlogged_before=99") {
		t.Fatalf("log is %q", got)
	}
}
