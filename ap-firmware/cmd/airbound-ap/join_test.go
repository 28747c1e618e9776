// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/command"
)

const joinToken = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// fakeUCI is what `join` asks of uci: it writes down what a batch was, and answers as if all had been done, or nothing.
const fakeUCI = `#!/bin/sh
case "$2 $3" in
"get airbound.main") cat "$UCI/type" ;;
"get airbound.main.token") cat "$UCI/token" ;;
"show airbound.main") cat "$UCI/shown" ;;
"batch ") cat >"$UCI/batch" ;;
*) exit 1 ;;
esac
`

// openWrt has a fake uci run and returns the folder of what it does.
func openWrt(t *testing.T, token string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"uci": fakeUCI, "type": "airbound\n", "token": token + "\n"} {
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

func dispatched(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = program(realKernel()).Dispatch(t.Context(), arguments, &out, &err)
	return code, out.String(), err.String()
}

func TestJoinWritesOpenWrtsConfiguration(t *testing.T) {
	folder := openWrt(t, joinToken)
	code, stdout, stderr := dispatched(t, "join", "airbound1:[2001:db8::1]:50051:50053:"+joinToken)
	if code != command.ExitOK || stderr != "" || !strings.Contains(stdout, "service airbound-ap restart") ||
		strings.Contains(stdout, joinToken) {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	batch, err := os.ReadFile(filepath.Join(folder, "batch"))
	want := `delete airbound.main.controller
delete airbound.main.enroll
delete airbound.main.token_file
delete airbound.main.plain_text
add_list airbound.main.controller='[2001:db8::1]:50051'
add_list airbound.main.enroll='[2001:db8::1]:50053'
set airbound.main.token='` + joinToken + `'
set airbound.main.enabled='1'
commit airbound
`
	if err != nil || string(batch) != want {
		t.Errorf("%v, %s", err, batch)
	}
}

func TestAJoinThatCannotBeWrittenSaysWhy(t *testing.T) {
	good := "airbound1:x:1:2:" + joinToken
	folder := openWrt(t, "another")
	if code, _, stderr := dispatched(t, "join", good); code != command.ExitError ||
		!strings.Contains(stderr, "uci has not written") || strings.Contains(stderr, joinToken) {
		t.Errorf("%d, %s", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(folder, "type"), []byte("wifi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := dispatched(t, "join", good); code != command.ExitError ||
		!strings.Contains(stderr, "no section main") {
		t.Errorf("%d, %s", code, stderr)
	}
	uciProgram = filepath.Join(t.TempDir(), "uci")
	want := fmt.Sprintf("--controller %s --enroll %s --token-file", "x:1", "x:2")
	if code, _, stderr := dispatched(t, "join", good); code != command.ExitError || !strings.Contains(stderr, want) ||
		strings.Contains(stderr, joinToken) {
		t.Errorf("%d, %s", code, stderr)
	}
	if code, _, stderr := dispatched(t, "join", joinToken); code != command.ExitError ||
		!strings.Contains(stderr, "a token alone") {
		t.Errorf("%d, %s", code, stderr)
	}
}
