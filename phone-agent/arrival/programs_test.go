// SPDX-License-Identifier: Apache-2.0

package arrival_test

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// Programs as they are, and what they upload: curl a file, 500 kB/s, and ffmpeg a live video, a frame each 40 ms.
var programs = []string{"curl", "ffmpeg"}

func command(program, url, file string) []string {
	if program == "curl" {
		return []string{
			"curl", "--silent", "--show-error", "--globoff", "--noproxy", "*", "--limit-rate", "500k", "-T", file, url,
		}
	}
	return []string{
		"ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-re", "-f", "lavfi", "-i", "testsrc2=rate=25",
		"-c:v", "flv1", "-b:v", "700k", "-f", "flv", "-method", "PUT", url,
	}
}

// upload has a program upload to the cell's server until end.
func (c cell) upload(program, address string) (end func()) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<30); err != nil { // It takes half an hour, and no place.
		c.t.Fatal(err)
	}
	words := command(program, "http://"+address+":5003/file", file)
	process := exec.CommandContext(c.t.Context(), words[0], words[1:]...)
	process.Env = append(os.Environ(), "no_proxy=*")
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		c.t.Fatalf("start %s (Debian's package of that name): %v", program, err)
	}
	c.await("receives")
	return func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
}

// waits is so when the timeout of a program's only connection is doubled often.
func waits(found []arrival.Connection) bool { return len(found) == 1 && least(found) >= untilDoubled }

// An unmodified program's upload goes on by the agent's messages. In the outage the kernel sends for them, and for
// nothing else: each time that its timer expires adds one to both numbers, however late this is.
func TestUploadsByProgramsGoOn(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	c.eachUpload(func(program, address string) {
		end := c.upload(program, address)
		c.path(anothers)
		c.eventually(kernel, "the upload's timeout is doubled", waits)
		if was := c.unanswered(kernel)[0]; was.Backoff != was.Retransmits {
			t.Errorf("%s, before the arrival: %+v", program, was)
		}
		outcome := arrival.Outcome{}
		for deadline := time.Now().Add(timeout); outcome.AtOnce == 0 && time.Now().Before(deadline); {
			time.Sleep(time.Second) // The last attempt must be a timeout ago.
			if outcome, err = kernel.Retransmit(0); err != nil || outcome.Unanswered != 1 || outcome.Refused > 0 {
				t.Fatalf("%s: %+v, %v", program, outcome, err)
			}
		}
		if now := c.unanswered(kernel); outcome.AtOnce != 1 || len(now) != 1 || now[0].Backoff >= now[0].Retransmits {
			t.Errorf("%s: %+v, %+v", program, outcome, now)
		}
		c.path(own)
		if _, err := kernel.Retransmit(0); err != nil {
			t.Fatal(err)
		}
		c.eventually(kernel, "the upload goes on", nothing)
		end()
		c.untilEnded("/proc/thread-self/net", 5003)
	})
}

// eachUpload calls do for each program, by IPv4 and IPv6.
func (c cell) eachUpload(do func(program, address string)) {
	for _, program := range programs {
		for _, address := range []string{serverIP, "[" + serverIP6 + "]"} {
			do(program, address)
		}
	}
}

// What is left when an attempt was made just before the arrival: the kernel waits for the rest of the timeout, which is
// no longer doubled, and no message makes it send sooner.
func TestAnAttemptJustBeforeTheArrival(t *testing.T) {
	c := newCell(t)
	kernel, err := arrival.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kernel.Close() })
	socket := c.connect(unix.AF_INET, &unix.SockaddrInet4{Port: 5001, Addr: netip.MustParseAddr(serverIP).As4()})
	c.eventually(kernel, "nothing waits", nothing)
	c.path(anothers)
	c.write(socket)
	c.eventually(kernel, "the timeout is doubled", waits)
	// The attempts of the kernel are seconds apart by now. If the machine was too busy to find one at once, the next.
	for deadline := time.Now().Add(timeout); ; {
		before := c.unanswered(kernel)[0].Retransmits
		c.eventually(kernel, "another attempt", func(found []arrival.Connection) bool {
			return found[0].Retransmits > before
		})
		outcome, err := kernel.Retransmit(0)
		if err != nil {
			t.Fatal(err)
		}
		if now := c.unanswered(kernel)[0]; outcome.AtOnce == 0 && now.Backoff == 0 && now.Retransmits == before+1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("an attempt of just now is repeated at once: %+v", outcome)
		}
	}
	c.path(own)
	c.eventually(kernel, "it is acknowledged", nothing)
}

// TestSilenceOfPrograms prints when the first retransmission of a program's has left the phone after outages, and when
// it is answered.
func TestSilenceOfPrograms(t *testing.T) {
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
		c.eachUpload(func(program, address string) {
			for _, retransmit := range []bool{false, true} {
				end := c.upload(program, address)
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
				t.Logf("outage of %s, %s, %s, Retransmit %t: %d sent within %s, answered after %s", outage, program,
					address, retransmit, outcome.AtOnce, left.Round(time.Millisecond),
					time.Since(back).Round(time.Millisecond))
				end()
			}
		})
	}
}
