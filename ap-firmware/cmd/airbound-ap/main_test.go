// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/internal/command"
)

func TestDispatch(t *testing.T) {
	controller := []string{"--controller", "127.0.0.1:1", "--interface", "wlan0"}
	tests := map[string]struct {
		arguments      []string
		code           int
		stdout, stderr string
	}{
		"nothing":         {nil, command.ExitUsage, "", "Examples:"},
		"help":            {[]string{"--help"}, command.ExitOK, "airbound-ap once --interface wlan0 --json", ""},
		"version":         {[]string{"--version"}, command.ExitOK, "airbound-ap development", ""},
		"help of run":     {[]string{"run", "--help"}, command.ExitOK, "-hostapd-control PATH", ""},
		"examples of run": {[]string{"run", "--help"}, command.ExitOK, "Examples:\n  airbound-ap --controller", ""},
		"help of once":    {[]string{"once", "-h"}, command.ExitOK, "Usage: airbound-ap once [FLAGS]", ""},
		"examples of once": {
			[]string{"once", "-h"},
			command.ExitOK,
			"Examples:\n  airbound-ap once\n",
			"",
		},
		"no such command": {[]string{"watch"}, command.ExitUsage, "", `no command "watch"`},
		"empty command":   {[]string{""}, command.ExitUsage, "", `no command ""`},
		"flags alone":     {controller[2:], command.ExitUsage, "", "--controller is missing"},
		"twice": {
			append(controller, "--interface", "wlan0"),
			command.ExitUsage,
			"",
			"--interface wlan0 is given twice",
		},
		"no name": {
			append(controller, "--interface", "a/b"),
			command.ExitUsage,
			"",
			`"a/b" is not the name of an interface`,
		},
		"no port": {
			append(
				[]string{"run", "--controller", "127.0.0.1"},
				controller[2:]...),
			command.ExitUsage,
			"",
			"is not ADDR:PORT",
		},
		"unknown flag":   {append(controller, "--frob"), command.ExitUsage, "", "-frob; see airbound-ap run --help"},
		"stray argument": {append(controller, "wlan1"), command.ExitUsage, "", `unexpected argument "wlan1"`},
		"interval too low": {
			append(controller, "--interval", "99ms"),
			command.ExitUsage,
			"",
			"--interval 99ms is not within",
		},
		"interval no time": {append(controller, "--interval", "soon"), command.ExitUsage, "", `"soon"`},
		"log level":        {append(controller, "--log-level", "loud"), command.ExitUsage, "", `"loud"`},
		"log format": {
			append(controller, "--log-format", "xml"),
			command.ExitUsage,
			"",
			`"xml" is neither text nor json`,
		},
		"once, no name": {[]string{"once", "--interface", ""}, command.ExitUsage, "", `"" is not the name`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := program(realKernel()).Dispatch(t.Context(), test.arguments, &stdout, &stderr)
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
	var options runOptions
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	options.register(flags)
	err := errors.Join(flags.Parse([]string{"--controller", "[::1]:50051", "--interface", "phy0-ap0"}), options.check())
	if err != nil || options.controlOf("phy0-ap0") != "/var/run/hostapd/phy0-ap0" || options.interval != time.Second {
		t.Fatalf("got %+v, %v", options, err)
	}
	directory := t.TempDir()
	socket := filepath.Join(directory, "socket")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for control, want := range map[string]string{
		directory: filepath.Join(directory, "phy0-ap0"), socket: socket,
		"/nowhere/phy0-ap0": "/nowhere/phy0-ap0", "/nowhere": "/nowhere/phy0-ap0",
	} {
		options.hostapdControl = control
		if got := options.controlOf("phy0-ap0"); got != want {
			t.Errorf("%s: %s, want %s", control, got, want)
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
	c.routing.Set(neighbours.Neighbour{
		InterfaceIndex: 3, MAC: phone1, IP: netip.MustParseAddr("10.0.0.11"), State: unix.NUD_REACHABLE,
	})
	if err := once(t.Context(), options, c.sockets(), logger, &stdout); err != nil {
		t.Fatal(err)
	}
	var report struct {
		Bssid    []byte
		Stations []struct {
			MAC           []byte
			RXBytes       string   `json:"rx_bytes"`
			AirtimeSource string   `json:"airtime_source"`
			Addresses     [][]byte `json:"ip_addresses"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if mac.Address(report.Bssid) != (mac.Address{2}) || len(report.Stations) != 1 {
		t.Fatalf("report is %+v", report)
	}
	if got := report.Stations[0]; mac.Address(got.MAC) != phone1 || got.RXBytes != "1000000" ||
		got.AirtimeSource != "AIRTIME_SOURCE_ESTIMATED" || len(got.Addresses) != 1 {
		t.Fatalf("station is %+v", got)
	}
	if log.Len() > 0 {
		t.Fatalf("log is %q, want nothing", log.String())
	}
	stdout.Reset()
	options.json = false
	if err := once(t.Context(), options, c.sockets(), logger, &stdout); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"wlan0  BSSID 02:00:00:00:00:00", "busy 40.0 %", phone1.String(), "1.0", "estimated", "10.0.0.11",
	} {
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
	if err := once(t.Context(), options, c.sockets(), slog.New(slog.NewTextHandler(&log, nil)), &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), phone1.String()) || !strings.Contains(stdout.String(), phone2.String()) {
		t.Fatalf("table has not both stations:\n%s", stdout.String())
	}
	if !strings.Contains(log.String(), "no associations from hostapd") {
		t.Fatalf("log is %q, want a warning", log.String())
	}
}

func TestOnceWithoutTheInterface(t *testing.T) {
	c := newCell(t)
	var stdout bytes.Buffer
	options := onceOptions{bssOptions: c.options.bssOptions}
	err := once(t.Context(), options, c.sockets(), slog.New(slog.DiscardHandler), &stdout)
	if err == nil || !strings.Contains(err.Error(), "wlan0") || stdout.Len() > 0 {
		t.Fatalf("error is %v, output %q, want an error that names wlan0", err, stdout.String())
	}
}

func TestOnceWithoutANeighbourTable(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.routing.Refuse(unix.EPERM)
	var stdout, log bytes.Buffer
	options := onceOptions{bssOptions: c.options.bssOptions}
	if err := once(t.Context(), options, c.sockets(), slog.New(slog.NewTextHandler(&log, nil)), &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), phone1.String()) ||
		!strings.Contains(log.String(), "cannot read the stations' IP") {
		t.Fatalf("%s\n%s", stdout.String(), log.String())
	}
}
