// SPDX-License-Identifier: Apache-2.0

package upload_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/quic/upload"
)

const seconds = 2

func clock(t *testing.T) upload.Clock {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	made, err := upload.NewClock(time.Duration(now.Nano()))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func samples(t *testing.T, text []byte) (found []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(text) {
		var sample map[string]any
		if err := json.Unmarshal(line, &sample); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		found = append(found, sample)
	}
	return found
}

// Over loopback: both ends write a line for each second, and what is counted grows.
func TestBothEndsWriteTheLinesOfTheTrafficGenerator(t *testing.T) {
	receiver, err := upload.Listen("server1-quic", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	common := clock(t)
	var atServer, atPhone bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- receiver.Receive(t.Context(), common, seconds*time.Second, &atServer) }()
	sender := upload.Sender{Name: "phone1", To: receiver.Address(), Stop: seconds * time.Second}
	if err := sender.Send(t.Context(), common, &atPhone); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// On a busy machine the handshake may take longer than a second; then its samples begin with the next one.
	sent, got := samples(t, atPhone.Bytes()), samples(t, atServer.Bytes())
	if len(sent) == 0 || len(got) == 0 {
		t.Fatalf("%s%s", atPhone.Bytes(), atServer.Bytes())
	}
	if last := sent[len(sent)-1]; last["kind"] != "send" || last["name"] != "phone1" || last["t_ms"] != 2000.0 ||
		last["srtt_us"].(float64) <= 0 || last["min_rtt_us"].(float64) > last["srtt_us"].(float64) {
		t.Errorf("%v", last)
	}
	last := got[len(got)-1]
	if last["kind"] != "recv" || last["name"] != "server1-quic" || last["source"] != "127.0.0.1" ||
		last["t_ms"] != 2000.0 || last["bytes"].(float64) <= 0 {
		t.Errorf("%v", last)
	}
}

// Nobody answers: that the connection was not made is a sample.
func TestAnUploadWithoutAConnectionIsAResult(t *testing.T) {
	receiver, err := upload.Listen("nobody", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := receiver.Address()
	if err := receiver.Receive(t.Context(), clock(t), 0, nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sender := upload.Sender{Name: "phone1", To: address, Stop: 100 * time.Millisecond}
	if err := sender.Send(t.Context(), clock(t), &out); err != nil {
		t.Fatal(err)
	}
	if got := samples(t, out.Bytes()); len(got) != 1 || got[0]["kind"] != "unconnected" || got[0]["name"] != "phone1" {
		t.Errorf("%v", got)
	}
}
