// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestWhatUCIShows(t *testing.T) {
	options, err := parseUCI("airbound.main=airbound\nairbound.main.controller='a:1' '[::1]:2'\n" +
		"airbound.main.token='it'\\''s'\nairbound.main.edca='0'\nairbound.main.empty=''\nwireless.radio0.band='5g'\n")
	if err != nil || !slices.Equal(options["controller"], []string{"a:1", "[::1]:2"}) ||
		options.first("token", "") != "it's" || options.isOn("edca", true) || !options.isOn("window_clamp", true) ||
		options.first("empty", "x") != "" || len(options) != 4 {
		t.Errorf("%v, %v", options, err)
	}
	if _, err := parseUCI("airbound.main.token='half\n"); err == nil {
		t.Error("half a value was read")
	}
	want := []string{
		"--controller=a:1", "--controller=[::1]:2", "--credentials-dir=/etc/airbound", "--token=it's", "--no-edca=true",
		"--window-clamp=true",
	}
	given := func(flag string) bool { return flag == "state-dir" }
	if got := options.arguments(given); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The init script and doctor have the same flags: each that the script may add comes from a configuration.
func TestUCIHasTheFlagsOfTheInitScript(t *testing.T) {
	script, err := os.ReadFile("../../openwrt/airbound-ap/files/airbound-ap.init")
	if err != nil {
		t.Fatal(err)
	}
	every := uciOptions{
		"controller": {"a:1"}, "interface": {"wlan0"}, "hostapd_config": {"/x"}, "bridge": {"br-lan"},
		"interval_ms": {"100"}, "log_level": {"debug"}, "enroll": {"a:2"}, "token_file": {"/t"}, "edca": {"0"},
		"station_flows": {"0"},
	}
	plain := uciOptions{"plain_text": {"1"}}
	never := func(string) bool { return false }
	arguments := slices.Concat(every.arguments(never), plain.arguments(never))
	commands := regexp.MustCompile(`(?m)(?:append_param|set_param) command.*$`).FindAllString(string(script), -1)
	if len(commands) == 0 {
		t.Error("no command in the script")
	}
	for _, each := range commands {
		for _, name := range regexp.MustCompile(`--[a-z-]+`).FindAllString(each, -1) {
			if !slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, name+"=") }) {
				t.Errorf("%s is not among %q", name, arguments)
			}
		}
	}
}
