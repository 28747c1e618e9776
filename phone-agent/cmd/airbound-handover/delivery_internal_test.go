// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/handover"
)

var errKilled = errors.New("killed")

// killedAfter ends a receiver after some steps, at the step of another run each time.
func killedAfter(steps int) func(string) error {
	return func(string) error {
		if steps--; steps == 0 {
			return errKilled
		}
		return nil
	}
}

func TestEachRecordIsInTheFileOnceWhereverTheServerIsKilled(t *testing.T) {
	t.Parallel()
	for name, newest := range map[string]bool{"in order": false, "newest first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			// An address that no other test uses: the port is free when the server is started again.
			receiver := receiveOptions{
				options: options{plainText: true, lines: true, newestFirst: newest}, listen: "127.0.68.1:0",
				output: filepath.Join(directory, "records"), state: filepath.Join(directory, "state"),
			}
			if newest {
				receiver.listen = "127.0.68.2:0"
			}
			var lines []string
			for i := range 12 {
				lines = append(lines, fmt.Sprintf("line %d", i))
			}
			at, kills := newAddress(), 0
			sent, received := make(chan error, 1), make(chan error, 1)
			run := func(stderr io.Writer, steps int) {
				receiver.step = killedAfter(steps)
				received <- receiver.run(t.Context(), io.Discard, stderr)
			}
			go run(at, 1)
			receiver.listen = <-at.lines
			go func() {
				o := sendOptions{
					to: receiver.listen, options: options{plainText: true, lines: true, newestFirst: newest},
					timeout: patience,
				}
				sent <- o.run(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), io.Discard, io.Discard)
			}()
			err := <-received
			for ; errors.Is(err, errKilled); err = <-received {
				kills++
				go run(io.Discard, 1+kills%4)
			}
			if err != nil || kills < 6 {
				t.Fatalf("killed %d times, %v", kills, err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(receiver.output)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			if newest {
				slices.Sort(got)
				slices.Sort(lines)
			}
			if !slices.Equal(got, lines) {
				t.Errorf("%q", got)
			}
			if _, err := os.Stat(receiver.state); err == nil {
				t.Error("the state is there after the end")
			}
		})
	}
}

func TestFilesThatDoNotBelongTogether(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ output, state, want string }{
		"records without a state": {"text", "", "is not empty, and there is no state"},
		"a state that is none":    {"", "garbage", "is no state of `receive`"},
		"a state of nothing":      {"", "{}", "is no state of `receive`"},
		"a state without records": {"", `{"session":"00","next":3,"bytes":20}`, "has 0 bytes, and had 20"},
		"a state of no session":   {"", `{"next":3}`, "is no state of `receive`"},
		"ranges that overlap":     {"", `{"session":"00","next":3,"above":[{"First":2,"Last":5}]}`, "records 2 to 5"},
		"a range that ends first": {"", `{"session":"00","next":3,"above":[{"First":7,"Last":5}]}`, "records 7 to 5"},
		"below zero":              {"", `{"session":"00","next":3,"bytes":-1}`, "is no state of `receive`"},
	} {
		directory := t.TempDir()
		output, state := filepath.Join(directory, "records"), filepath.Join(directory, "state")
		for path, text := range map[string]string{output: test.output, state: test.state} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made, err := openDelivery(output, state)
		if err == nil {
			_ = made.output.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if text, _ := os.ReadFile(output); string(text) != test.output {
			t.Errorf("%s: the records are %q now", name, text)
		}
	}
}

// A second receiver by mistake would cut off what the first has just written.
func TestFilesOfAReceiverThatRuns(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	output, state := filepath.Join(directory, "records"), filepath.Join(directory, "state")
	running, err := openDelivery(output, state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := running.origin("first", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := running.output.WriteString("written and not saved yet"); err != nil {
		t.Fatal(err)
	}
	second, err := openDelivery(output, state)
	if err == nil {
		_ = second.output.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "another process") || !strings.Contains(err.Error(), output) {
		t.Error(err)
	}
	if text, err := os.ReadFile(output); err != nil || string(text) != "written and not saved yet" {
		t.Errorf("the records are %q now, %v", text, err)
	}
	// It is free with the end of the first one.
	if err := running.output.Close(); err != nil {
		t.Fatal(err)
	}
	if second, err = openDelivery(output, state); err != nil {
		t.Fatal(err)
	}
	_ = second.output.Close()
}

func TestAnotherSessionIsRefused(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	made, err := openDelivery(filepath.Join(directory, "records"), filepath.Join(directory, "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = made.output.Close() }()
	if _, err := made.origin("first", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := made.origin("second", ""); !errors.Is(err, errOther) {
		t.Error(err)
	}
	if origin, err := made.origin("first", ""); err != nil || origin.Next != 1 {
		t.Errorf("%+v, %v", origin, err)
	}
}

// In whatever order records come, the state has those that came, and survives its file.
func TestTheStateHasTheRecordsThatCame(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		state := deliveryState{Next: 1}
		came := map[uint64]bool{}
		for _, i := range draw.Perm(20) {
			state.add(uint64(i) + 1)
			came[uint64(i)+1] = true
			text, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			var again deliveryState
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatal(err)
			}
			for record := range uint64(22) {
				isIn := func(r handover.Range) bool { return r.First <= record && record <= r.Last }
				found := record > 0 && record < again.Next || slices.ContainsFunc(again.Above, isIn)
				if found != came[record] {
					t.Fatalf("%+v: record %d", again, record)
				}
			}
		}
		if state.Next != 21 || len(state.Above) != 0 {
			t.Errorf("%+v", state)
		}
	}
}
