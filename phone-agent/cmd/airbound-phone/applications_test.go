// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// classOf is the class of the only destination's part; the default if there is none with a connection.
func classOf(report *airboundv1.TerminalReport) airboundv1.ApplicationClass {
	for _, destination := range report.GetDestinations() {
		for _, part := range destination.GetClasses() {
			if part.GetConnections() > 0 {
				return part.GetApplicationClass()
			}
		}
	}
	return airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED
}

func TestAnApplicationIsInstalledAndUpdatedAndTheTableChanges(t *testing.T) {
	t.Parallel()
	const upload = "1 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 0 0 " +
		"28123 27010 4312 1448 98304 60816 0 1234567 0 3 0 0 0 0"
	server := startController(t, "127.0.0.1:0")
	p := newPhone(t)
	p.connections(upload)
	folder := t.TempDir()
	table, list := filepath.Join(folder, "applications"), filepath.Join(folder, "packages.list")
	// As Android's package manager does, and an operator with an editor.
	replace := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(table, "live package com.example.camera\nlively uid 1\n")
	p.startWith(t.Output(), "--plain-text", "--controller", server.address,
		"--applications", table, "--packages-list", list)
	server.stream(t)
	await := func(what string, class airboundv1.ApplicationClass) {
		t.Helper()
		server.report(t, what, func(report *airboundv1.TerminalReport) bool {
			return len(report.GetDestinations()) > 0 && classOf(report) == class
		})
	}
	status := func(want string) {
		t.Helper()
		eventually(t, want, func() bool {
			text, _ := p.status()
			return strings.Contains(text, want)
		})
	}
	await("not installed", airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED)
	status("there is no file " + list)
	status(`line 2: "lively" is none of the classes`)
	replace(list, "com.example.camera 10073 0 /data/user/0/com.example.camera\n")
	await("installed", airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE)
	status("left out: 1 line of it, 0 of the list of packages")
	replace(table, "background package com.example.camera\n")
	await("the table has changed", airboundv1.ApplicationClass_APPLICATION_CLASS_BACKGROUND)
	replace(list, "com.example.other 10073 0 /data\nno user id\n")
	await("removed", airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED)
	status("1 line; 1 package not installed")
	status("left out: 0 lines of it, 1 of the list of packages")
	if err := os.WriteFile(table, []byte("bulk port 5001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	await("by its port", airboundv1.ApplicationClass_APPLICATION_CLASS_BULK)
	if err := os.Remove(table); err != nil {
		t.Fatal(err)
	}
	await("without the table", airboundv1.ApplicationClass_APPLICATION_CLASS_UNSPECIFIED)
	status("there is no file " + table)
}

// A phone without Android has no folder of the list, and a vendor's service may not read it.
func TestTheListOfPackagesIsFollowedIfThePackagesMatter(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	folder := t.TempDir()
	table, list := filepath.Join(folder, "applications"), filepath.Join(folder, "none", "packages.list")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	logged := func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("bulk port 5001\n")
	p.startWith(log, "--plain-text", "--controller", "127.0.67.9:1", "--applications", table, "--packages-list", list)
	for _, lines := range []string{"1 line", "2 lines"} {
		eventually(t, lines, func() bool {
			text, _ := p.status()
			return strings.Contains(text, "by "+table+", "+lines)
		})
		write("bulk port 5001\nbulk uid 1\n")
	}
	write("live package com.example.camera\n")
	const missing = "there is no file"
	eventually(t, missing, func() bool {
		text, _ := p.status()
		return strings.Contains(text, missing) && strings.Contains(text, list)
	})
	// The folder comes after all, as where its file system is mounted late.
	if err := os.Mkdir(filepath.Dir(list), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte("com.example.camera 10073 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the list is read", func() bool {
		text, _ := p.status()
		return strings.Contains(text, "1 line; 0 packages not installed") && !strings.Contains(text, missing)
	})
	if text := logged(); strings.Contains(text, "changes of a file are not noticed") {
		t.Error(text)
	}
}
