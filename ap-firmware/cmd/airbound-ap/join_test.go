// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/command"
)

const joinToken = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// fakeUCI keeps what is staged and what is committed, as lines of batches. It fails at the step that the file fails has
// the begin of; a batch's exit code is 0 all the same (uci's cli.c).
const fakeUCI = `#!/bin/sh
staged=$(cat "$UCI/changes")
case "$*" in
"show airbound.main")
	[ ! -s "$UCI/unreadable" ] || { cat "$UCI/unreadable" >&2; exit 1; }
	cat "$UCI/shown"
	;;
"changes airbound") [ -z "$staged" ] || echo "$staged" ;;
"batch")
	while read -r step; do
		fails=$(cat "$UCI/fails")
		case "$step" in
		"${fails:-none}"*) echo "/sbin/uci: I/O error" >&2 ;;
		"revert airbound") : >"$UCI/changes" ;;
		"commit airbound") cat "$UCI/changes" >>"$UCI/committed"; : >"$UCI/changes" ;;
		*) echo "$step" >>"$UCI/changes" ;;
		esac
	done
	;;
*) exit 1 ;;
esac
`

// openWrt has a fake uci run and returns the folder of what it does.
func openWrt(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"uci": fakeUCI, "shown": "airbound.main=airbound\nairbound.main.controller='old:1' 'old:2'\n" +
			"airbound.main.token_file='/t'\nairbound.main.edca='0'\n",
		"changes": "", "committed": "", "fails": "", "unreadable": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := uciProgram
	uciProgram = filepath.Join(folder, "uci")
	t.Cleanup(func() { uciProgram = program })
	t.Setenv("UCI", folder)
	return folder
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func dispatched(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = program(realKernel()).Dispatch(t.Context(), arguments, &out, &err)
	return code, out.String(), err.String()
}

func TestJoinWritesOpenWrtsConfiguration(t *testing.T) {
	folder := openWrt(t)
	code, stdout, stderr := dispatched(t, "join", "airbound1:[2001:db8::1]:50051:50053:"+joinToken)
	if code != command.ExitOK || stderr != "" || !strings.Contains(stdout, "service airbound-ap restart") ||
		strings.Contains(stdout, joinToken) {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	want := `delete airbound.main.controller
delete airbound.main.token_file
add_list airbound.main.controller='[2001:db8::1]:50051'
add_list airbound.main.enroll='[2001:db8::1]:50053'
set airbound.main.token='` + joinToken + `'
set airbound.main.enabled='1'
`
	if committed, left := read(t, folder, "committed"), read(t, folder, "changes"); committed != want || left != "" {
		t.Errorf("%s, and staged %s", committed, left)
	}
}

const joinString = "airbound1:x:1:2:" + joinToken

// expectRefused wants an error with a text and without the token, and nothing committed.
func expectRefused(t *testing.T, folder, want string) {
	t.Helper()
	code, _, stderr := dispatched(t, "join", joinString)
	if code != command.ExitError || !strings.Contains(stderr, want) || strings.Contains(stderr, joinToken) {
		t.Errorf("no %q: %d, %s", want, code, stderr)
	}
	if committed := read(t, folder, "committed"); committed != "" {
		t.Errorf("committed %s", committed)
	}
}

// Whichever step fails, none of them stays, and the error names the step.
func TestAJoinThatFailsChangesNothing(t *testing.T) {
	folder := openWrt(t)
	for _, step := range []string{
		"delete airbound.main.controller", "add_list airbound.main.enroll", "set airbound.main.token",
		"set airbound.main.enabled", "commit airbound",
	} {
		writeFile(t, filepath.Join(folder, "fails"), step)
		expectRefused(t, folder, "uci "+step+": /sbin/uci: I/O error; "+uciFile+" is as before")
		if staged := read(t, folder, "changes"); staged != "" {
			t.Errorf("%s: staged %s", step, staged)
		}
	}
	writeFile(t, filepath.Join(folder, "fails"), "")
	writeFile(t, filepath.Join(folder, "unreadable"), "/sbin/uci: Parse error (invalid command) at line 3, byte 0")
	expectRefused(t, folder, "uci show airbound.main: exit status 1: /sbin/uci: Parse error (invalid command)")
}

// Changes of somebody else are neither committed nor reverted, and their values are not shown.
func TestAJoinLeavesOthersChanges(t *testing.T) {
	folder := openWrt(t)
	changes := "airbound.main.token='secret'\n-airbound.main.edca\nairbound.main.interface+='wlan7'\n"
	writeFile(t, filepath.Join(folder, "changes"), changes)
	expectRefused(t, folder, "of airbound.main.token, airbound.main.edca, airbound.main.interface: `uci commit")
	if staged := read(t, folder, "changes"); staged != changes {
		t.Errorf("staged %s", staged)
	}
	if _, _, stderr := dispatched(t, "join", joinString); strings.Contains(stderr, "secret") {
		t.Error(stderr)
	}
}

func TestAJoinThatCannotBeWrittenSaysWhy(t *testing.T) {
	folder := openWrt(t)
	writeFile(t, filepath.Join(folder, "shown"), "airbound.main=wifi\n")
	expectRefused(t, folder, "no section main of type airbound")
	writeFile(t, filepath.Join(folder, "unreadable"), "/sbin/uci: Entry not found")
	expectRefused(t, folder, "no section main of type airbound")
	uciProgram = filepath.Join(t.TempDir(), "uci")
	expectRefused(t, folder, "--controller x:1 --enroll x:2 --token-file")
	if code, _, stderr := dispatched(t, "join", joinToken); code != command.ExitError ||
		!strings.Contains(stderr, "a token alone") {
		t.Errorf("%d, %s", code, stderr)
	}
}
