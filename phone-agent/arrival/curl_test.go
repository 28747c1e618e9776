// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// upload has curl, as it is, upload a file to the cell's server, 500 kB/s, until end.
func (c cell) upload(address string) (end func()) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<30); err != nil { // It takes half an hour, and no place.
		c.t.Fatal(err)
	}
	curl := exec.CommandContext(c.t.Context(), "curl", "--silent", "--show-error", "--globoff", "--noproxy", "*",
		"--limit-rate", "500k", "-T", file, "http://"+address+":5003/file")
	curl.Stderr = os.Stderr
	if err := curl.Start(); err != nil {
		c.t.Fatalf("start curl (Debian's package of that name): %v", err)
	}
	c.await("receives")
	return func() {
		_ = curl.Process.Kill()
		_ = curl.Wait()
	}
}

// waits is so when the timeout of curl's only connection is doubled often.
func waits(found []arrival.Connection) bool { return len(found) == 1 && least(found) >= untilDoubled }

// An unmodified program's upload goes on by the agent's messages. In the outage the kernel sends for them, and for
// nothing else: each time that its timer expires adds one to both numbers, however late this is.
func TestAnUploadByCurlGoesOn(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	for _, address := range []string{serverIP, "[" + serverIP6 + "]"} {
		end := c.upload(address)
		c.path(anothers)
		c.eventually(kernel, "the upload's timeout is doubled", waits)
		if was := c.unanswered(kernel)[0]; was.Backoff != was.Retransmits {
			t.Errorf("before the arrival: %+v", was)
		}
		outcome := arrival.Outcome{}
		for deadline := time.Now().Add(timeout); outcome.AtOnce == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Second) // The last attempt must be a timeout ago.
			if outcome, err = kernel.Retransmit(0); err != nil || outcome.Unanswered != 1 || outcome.Refused > 0 {
				t.Fatalf("%+v, %v", outcome, err)
			}
		}
		if now := c.unanswered(kernel); outcome.AtOnce != 1 || len(now) != 1 || now[0].Backoff >= now[0].Retransmits {
			t.Errorf("%+v, %+v", outcome, now)
		}
		c.path(own)
		if _, err := kernel.Retransmit(0); err != nil {
			t.Fatal(err)
		}
		c.eventually(kernel, "the upload goes on", nothing)
		end()
		c.untilEnded("/proc/thread-self/net", 5003)
	}
}

// TestSilenceOfCurl prints when the first retransmission of curl's has left the phone after outages, and when it is
// answered.
func TestSilenceOfCurl(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	for length := range strings.SplitSeq(*outages, ",") {
		outage, err := time.ParseDuration(length)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{serverIP, "[" + serverIP6 + "]"} {
			for _, retransmit := range []bool{false, true} {
				end := c.upload(address)
				began := time.Now()
				c.path(anothers)
				time.Sleep(outage - time.Since(began))
				c.path(own)
				back := time.Now()
				var outcome arrival.Outcome
				if retransmit {
					if outcome, err = kernel.Retransmit(0); err != nil {
						t.Fatal(err)
					}
				}
				left := time.Since(back)
				c.eventually(kernel, "the upload goes on", nothing)
				t.Logf("outage of %s, %s, Retransmit %t: %d sent within %s, answered after %s", outage, address,
					retransmit, outcome.AtOnce, left.Round(time.Millisecond), time.Since(back).Round(time.Millisecond))
				end()
			}
		}
	}
}
