// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/stationflows"
	"github.com/airbound/airbound/ap-firmware/stationflows/tcbpf"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// flowsThere is the real kernel's part, called in another namespace. In that of the tests there is no wlan0.
type flowsThere struct {
	*tcbpf.Kernel

	namespace string
}

func flowsElsewhere(options tcbpf.Options) stationFlowsKernel {
	options.Clsact = os.Getenv(clsactVariable) != ""
	return &flowsThere{tcbpf.New(options), os.Getenv(namespaceVariable)}
}

func (f *flowsThere) there(call func() error) error {
	if f.namespace == "" {
		return call()
	}
	return (&elsewhere{namespace: f.namespace}).there(call)
}

// hangVariable has a trial stay where its program is attached.
const hangVariable = "DOCTOR_TEST_HANGS"

func (f *flowsThere) Try(bss string) error {
	if os.Getenv(hangVariable) != "" {
		if err := f.Set(bss, nil, nil, 0); err != nil {
			return err
		}
		select {}
	}
	return f.there(func() error { return f.Kernel.Try(bss) })
}

func (f *flowsThere) Set(bss string, indexes []uint32, flows []stationflows.Flow, deadlineUS int64) error {
	return f.there(func() error { return f.Kernel.Set(bss, indexes, flows, deadlineUS) })
}

func (f *flowsThere) End(bss string) error { return f.there(func() error { return f.Kernel.End(bss) }) }

func (f *flowsThere) Close() error { return f.there(f.Kernel.Close) }

func flowsCommand(generation uint64) *response {
	set := &airboundv1.SetStationFlows{
		Generation: generation, LeaseMs: 60_000,
		Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_UPLOADS},
		Flows: []*airboundv1.StationFlow{{
			Mac: phone1[:], Address: []byte{192, 0, 2, 1}, Category: airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO,
		}},
	}
	return &response{Command: &airboundv1.AccessPointCommand{
		Command: &airboundv1.AccessPointCommand_SetStationFlows{SetStationFlows: set},
	}}
}

// sendToStation sends a datagram from the access point.
func (a *air) sendToStation() {
	a.t.Helper()
	err := (&elsewhere{namespace: a.accessPoint}).there(func() error {
		conn, err := net.Dial("udp", "192.0.2.2:9")
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("to the station"))
		_ = conn.Close()
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// The program, really executed: a controller has packets to a station marked, and the agent is killed.
func TestTheProgramMarksPackets(t *testing.T) {
	for _, how := range []string{"", "clsact"} {
		t.Run("TCX or "+how, func(t *testing.T) {
			c := newCell(t)
			there := newAir(t)
			t.Setenv(clsactVariable, how)
			c.kernel.Set(wlan0(phone1))
			process := c.startProcess()
			stream := c.stream()
			c.awaitBSS("it can", "wlan0", func(report *airboundv1.AccessPointReport) bool {
				return report.GetStationFlows().GetCanSet()
			})
			if got := there.filters(); got != "" {
				t.Errorf("%s", got)
			}
			if err := stream.Send(flowsCommand(1)); err != nil {
				t.Fatal(err)
			}
			c.awaitBSS("it is in force", "wlan0", func(report *airboundv1.AccessPointReport) bool {
				return report.GetStationFlows().GetGeneration() == 1
			})
			c.awaitBSS("packets are marked", "wlan0", func(report *airboundv1.AccessPointReport) bool {
				there.sendToStation()
				return report.GetStationFlows().GetMarkedPacketsTotal() > 0
			})
			text, _ := c.status()
			if !strings.Contains(text, "flows        generation 1, 1 flow to 1 station as video\n") {
				t.Errorf("%s", text)
			}
			if how != "" && !strings.Contains(there.filters(), "clsact") {
				t.Errorf("%s", there.filters())
			}
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = process.Wait()
			// Long before the end of the lease: the guard removes filters, and the kernel what TCX has.
			eventually(t, "nothing is left", func() bool { return there.filters() == "" })
			eventually(t, "no guard", func() bool { return len(processesWith(t, detachName, "--agent")) == 0 })
		})
	}
}

func TestTheProgramEndsInOrderWithFlows(t *testing.T) {
	c := newCell(t)
	there := newAir(t)
	t.Setenv(clsactVariable, "yes")
	c.kernel.Set(wlan0(phone1))
	process := c.startProcess()
	stream := c.stream()
	if err := stream.Send(flowsCommand(1)); err != nil {
		t.Fatal(err)
	}
	c.awaitBSS("it is in force", "wlan0", func(report *airboundv1.AccessPointReport) bool {
		return report.GetStationFlows().GetGeneration() == 1
	})
	if err := process.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Error(err)
	}
	if got := there.filters(); got != "" {
		t.Errorf("%s", got)
	}
	eventually(t, "no guard", func() bool { return len(processesWith(t, detachName, "--agent")) == 0 })
}

// What the owner forbids is not tried, and the controller is not told that it could be.
func TestStationFlowsAreForbidden(t *testing.T) {
	c := newCell(t)
	newAir(t)
	c.kernel.Set(wlan0(phone1))
	c.startProcess("--no-station-flows")
	if got := c.awaitBSS("a report", "wlan0", any1); got.GetStationFlows() != nil {
		t.Errorf("%v", got.GetStationFlows())
	}
	if text, _ := c.status(); !strings.Contains(text, "flows        switched off on the access point: --no-st") {
		t.Errorf("%s", text)
	}
}
