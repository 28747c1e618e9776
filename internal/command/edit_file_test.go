// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/command"
)

func TestEditFileReplacesItsKeysAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "phone.conf")
	before := "# mine\ncontroller = a:1\n\n  interface = wlan0 # the one\ntoken = OLD\ncontroller = b:2\n#token = x\n"
	if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	add := []command.Setting{{Key: "controller", Value: "c:3"}, {Key: "token", Value: "NEW"}}
	for range 2 {
		if err := command.EditFile(path, []string{"controller", "token", "token-file"}, add); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		want := "# mine\n\n  interface = wlan0 # the one\n#token = x\ncontroller = c:3\ntoken = NEW\n"
		if err != nil || string(text) != want {
			t.Fatalf("%q, %v", text, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	others, err := filepath.Glob(path + ".*")
	if err != nil || len(others) != 0 {
		t.Errorf("left: %v, %v", others, err)
	}
}

func TestEditFileMakesAFileAndFollowsALink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "real"), filepath.Join(folder, "link")
	add := []command.Setting{{Key: "controller", Value: "c:3"}}
	if err := command.EditFile(path, nil, add); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := command.EditFile(link, nil, add); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	text, readErr := os.ReadFile(path)
	if err != nil || info.Mode().IsRegular() || readErr != nil ||
		string(text) != "controller = c:3\ncontroller = c:3\n" {
		t.Errorf("%v %v, %q %v", info.Mode(), err, text, readErr)
	}
}

func TestEditFileChangesNothingIfSomethingIsWrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "wrong")
	if err := os.WriteFile(path, []byte("a = 1\nno setting\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []command.Setting{{Key: "controller", Value: "c:3"}}
	for where, want := range map[string]string{
		path: "line 2: ", folder: "read the configuration",
		filepath.Join(folder, "none", "x"): "write the configuration",
	} {
		if err := command.EditFile(where, nil, good); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if err := command.EditFile(filepath.Join(folder, "x"), nil, []command.Setting{{Key: "a", Value: ""}}); err == nil {
		t.Error("a setting without a value was written")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "a = 1\nno setting\n" {
		t.Errorf("%q, %v", text, err)
	}
}
