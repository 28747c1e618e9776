// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// uciProgram is the path of OpenWrt's uci.
var uciProgram = "/sbin/uci"

// uci runs it and returns what it prints; its errors name the command and have what it printed. Package os/exec would
// make the agent 40 kB larger.
func uci(input string, arguments ...string) (output string, err error) {
	stdin, toIt, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = stdin.Close() }()
	fromIt, stdout, err := os.Pipe()
	if err != nil {
		return "", errors.Join(err, toIt.Close())
	}
	defer func() { _ = fromIt.Close() }()
	process, err := os.StartProcess(uciProgram, append([]string{uciProgram}, arguments...),
		&os.ProcAttr{Files: []*os.File{stdin, stdout, stdout}, Env: os.Environ()})
	if err != nil {
		return "", errors.Join(fmt.Errorf("run uci: %w", err), toIt.Close(), stdout.Close())
	}
	// A batch is shorter than a pipe holds, so writing waits for nobody.
	_, err = toIt.WriteString(input)
	err = errors.Join(err, toIt.Close(), stdout.Close())
	printed, readErr := io.ReadAll(fromIt)
	state, waitErr := process.Wait()
	if err = errors.Join(err, readErr, waitErr); err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	output = strings.TrimSpace(string(printed))
	if err != nil {
		err = fmt.Errorf("uci %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return output, err
}

// showUCI returns the options of section main. Its error says whether there is none, or what else uci reports.
func showUCI() (uciOptions, error) {
	shown, err := uci("", "show", "airbound.main")
	kind, _, _ := strings.Cut(shown, "\n")
	switch {
	case err != nil && strings.HasSuffix(shown, "Entry not found"), err == nil && kind != "airbound.main=airbound":
		return nil, fmt.Errorf("%s has no section main of type airbound: install the package airbound-ap again",
			uciFile)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", uciFile, err)
	}
	options, err := parseUCI(shown)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uciFile, err)
	}
	return options, nil
}

// uciDirectory is the directory to which the init script has the agents write their states.
const uciDirectory = "/var/run/airbound-ap"

// uciOptions are the options of section main of OpenWrt's configuration: each name has the list of its values.
type uciOptions map[string][]string

// parseUCI reads lines airbound.main.OPTION='VALUE' ['VALUE'...]; a quotation mark in a value is '\\”.
func parseUCI(shown string) (uciOptions, error) {
	options := uciOptions{}
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		key, value, found := strings.Cut(line, "=")
		option, isOption := strings.CutPrefix(key, "airbound.main.")
		if !found || !isOption {
			continue // The section itself: airbound.main=airbound.
		}
		values, err := parseUCIValues(value)
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", option, err)
		}
		options[option] = values
	}
	return options, nil
}

func parseUCIValues(text string) (values []string, err error) {
	var value strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(text); i++ {
		switch octet := text[i]; {
		case octet == '\'':
			quoted, begun = !quoted, true
		case !quoted && octet == '\\' && i+1 < len(text):
			i++
			value.WriteByte(text[i])
		case !quoted && octet == ' ':
			values = append(values, value.String())
			value.Reset()
			begun = false
		default:
			begun = true
			value.WriteByte(octet)
		}
	}
	if quoted {
		return nil, errors.New("a quotation mark is missing")
	}
	if begun {
		values = append(values, value.String())
	}
	return values, nil
}

// first is an option's only value, or another one if the configuration has none.
func (o uciOptions) first(option, otherwise string) string {
	if values := o[option]; len(values) > 0 {
		return values[0]
	}
	return otherwise
}

// isOn is as uci's type bool.
func (o uciOptions) isOn(option string, otherwise bool) bool {
	switch o.first(option, "") {
	case "1", "yes", "on", "true", "enabled":
		return true
	case "0", "no", "off", "false", "disabled":
		return false
	default:
		return otherwise
	}
}

// arguments are the flags of `run` that the init script gives the agent, but for those that were given already.
func (o uciOptions) arguments(isGiven func(flag string) bool) []string {
	var arguments []string
	add := func(flag string, values ...string) {
		for _, value := range values {
			if !isGiven(flag) && value != "" {
				arguments = append(arguments, "--"+flag+"="+value)
			}
		}
	}
	add("state-dir", uciDirectory)
	add("controller", o["controller"]...)
	add("interface", o["interface"]...)
	add("hostapd-config", o.first("hostapd_config", ""))
	add("bridge", o.first("bridge", ""))
	if interval := o.first("interval_ms", ""); interval != "" {
		add("interval", interval+"ms")
	}
	add("log-level", o.first("log_level", ""))
	if o.isOn("plain_text", false) {
		add("plain-text", "true")
	} else {
		add("credentials-dir", o.first("credentials_dir", "/etc/airbound"))
		add("enroll", o["enroll"]...)
		if token := o.first("token", ""); token != "" {
			add("token", token)
		} else {
			add("token-file", o.first("token_file", ""))
		}
	}
	if !o.isOn("edca", true) {
		add("no-edca", "true")
	}
	if o.isOn("window_clamp", true) {
		add("window-clamp", "true")
	}
	if !o.isOn("station_flows", true) {
		add("no-station-flows", "true")
	}
	return arguments
}
