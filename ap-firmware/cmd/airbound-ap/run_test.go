// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/neighbours/neighbourstest"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	"github.com/airbound/airbound/internal/command"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

var (
	phone1 = mac.Address{2, 0, 0, 0, 1, 0}
	phone2 = mac.Address{2, 0, 0, 0, 2, 0}
)

const (
	timeout = 30 * time.Second

	// ownAddress is one at which no other program of this machine listens: a controller that starts again finds its
	// port free.
	ownAddress = "127.0.65.1:0"

	interval = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL
	joined   = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
	left     = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT
)

// cell is everything around an agent: a kernel and a hostapd without radios, and a controller on loopback.
type cell struct {
	t       testing.TB
	kernel  nl80211test.Kernel
	routing neighbourstest.Kernel
	events  nl80211test.Events
	hostapd *hostapdtest.Server
	options runOptions

	controller *grpc.Server
	reports    chan *airboundv1.AccessPointReport
	streams    chan grpc.BidiStreamingServer[request, response]
	// byInterface has the last stream of each interface.
	byInterface struct {
		mutex   sync.Mutex
		streams map[string]grpc.BidiStreamingServer[request, response]
	}
}

func newCell(t *testing.T) *cell {
	t.Helper()
	return newCellOf(t)
}

func newCellOf(tb testing.TB) *cell {
	tb.Helper()
	//nolint:usetesting // the path of tb.TempDir outgrows the 108 bytes of a socket's address with the name of the test
	directory, err := os.MkdirTemp("", "cell")
	if err != nil {
		tb.Fatal(err)
	}
	c := &cell{
		t:       tb,
		reports: make(chan *airboundv1.AccessPointReport, 1000),
		streams: make(chan grpc.BidiStreamingServer[request, response], 100),
		options: runOptions{
			bssOptions: bssOptions{
				interfaces: []string{"wlan0"}, hostapdControl: filepath.Join(directory, "wlan0"),
			},
			// After the first two reports a test gets only those that it caused.
			interval: time.Hour,
			state:    stateOptions{parent: tb.TempDir()},
			security: command.Security{PlainText: true},
		},
	}
	c.serveKernel()
	c.options.controller.Addresses = []string{c.startController(ownAddress)}
	c.routing.SetLink(3, 0)
	tb.Cleanup(func() {
		if c.hostapd != nil {
			_ = c.hostapd.Kill()
		}
		if files, err := os.ReadDir(directory); err != nil || len(files) > 0 {
			tb.Errorf("left behind: %v, %v", files, err)
		}
		_ = os.RemoveAll(directory)
	})
	return c
}

// Connect makes the cell a controller.
func (c *cell) Connect(stream grpc.BidiStreamingServer[request, response]) error {
	c.streams <- stream
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		c.byInterface.mutex.Lock()
		if c.byInterface.streams == nil {
			c.byInterface.streams = map[string]grpc.BidiStreamingServer[request, response]{}
		}
		c.byInterface.streams[message.GetReport().GetInterface()] = stream
		c.byInterface.mutex.Unlock()
		c.reports <- message.GetReport()
	}
}

func (c *cell) service() airboundv1.AccessPointServiceServer {
	return struct {
		airboundv1.UnsafeAccessPointServiceServer
		*cell
	}{cell: c}
}

func (c *cell) startController(address string) string {
	c.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.controller = grpc.NewServer()
	airboundv1.RegisterAccessPointServiceServer(c.controller, c.service())
	served, server := make(chan struct{}), c.controller
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	c.t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return listener.Addr().String()
}

func (c *cell) startHostapd(stations ...mac.Address) {
	c.t.Helper()
	server, err := hostapdtest.Start(c.options.hostapdControl, "wlan0", texts(stations)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.hostapd = server
}

func texts(stations []mac.Address) []string {
	texts := make([]string, len(stations))
	for i, station := range stations {
		texts[i] = station.String()
	}
	return texts
}

func (c *cell) setStations(macs ...mac.Address) {
	device := nl80211test.Device{
		Interface: nl80211.Interface{
			Index: 3, Name: "wlan0", MAC: mac.Address{2}, SSID: []byte("cell"), Type: unix.NL80211_IFTYPE_AP,
			FrequencyMHz: 2437, CenterFrequencyMHz: 2437, WidthMHz: 20,
		},
		Surveys: []nl80211.Survey{{FrequencyMHz: 2437, InUse: true, ActiveMS: new(uint64(1000)), BusyMS: 400}},
	}
	for i, station := range macs {
		device.Stations = append(device.Stations, nl80211.Station{
			MAC: station, Associated: true, Authorized: true, RXBytes: uint64(i+1) * 1_000_000, RXPackets: 700,
			RXBitrate: nl80211.Bitrate{Kbps: 54_000},
		})
	}
	c.kernel.Set(device)
}

// startAgent runs an agent and returns what stops it and waits for its end.
func (c *cell) startAgent() (stop func()) {
	c.t.Helper()
	return c.startAgentWith(c.sockets())
}

// startAgentWith does it with another kernel.
func (c *cell) startAgentWith(kernel sockets) (stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	ended, options := make(chan error, 1), c.options // The test may change them for the next agent.
	go func() { ended <- run(ctx, options, kernel, slog.New(slog.DiscardHandler)) }()
	stop = func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				c.t.Errorf("the agent ended with %v", err)
			}
		case <-time.After(timeout):
			c.t.Errorf("the agent did not end within %v", timeout)
		}
		ended <- nil // So that stopping twice is stopping once.
	}
	c.t.Cleanup(stop)
	return stop
}

func (c *cell) sockets() sockets {
	return sockets{
		flows: flowsElsewhere,
		wireless: func(malformed func(error)) (*nl80211.Client, error) {
			client, err := nl80211.New(c.kernel.Dial(), malformed)
			if err != nil {
				return nil, fmt.Errorf("dial the fake kernel: %w", err)
			}
			return client, nil
		},
		routing: func(malformed func(error)) (*neighbours.Client, error) {
			return neighbours.New(c.routing.Dial(), malformed), nil
		},
		events: c.events.Dial,
	}
}

// await takes reports until one has the trigger and exactly these stations.
func (c *cell) await(trigger airboundv1.AccessPointReportTrigger, macs ...mac.Address) *airboundv1.AccessPointReport {
	c.t.Helper()
	timedOut := time.After(timeout)
	var last *airboundv1.AccessPointReport
	for {
		select {
		case last = <-c.reports:
			var got []mac.Address
			for _, station := range last.GetStations() {
				got = append(got, mac.Address(station.GetMac()))
			}
			if last.GetTrigger() == trigger && slices.Equal(got, macs) {
				return last
			}
		case <-timedOut:
			c.t.Fatalf("no %v with %v within %v, last is %v", trigger, macs, timeout, last)
		}
	}
}

func TestReportsAtOnceWhenStationsComeAndGo(t *testing.T) {
	c := newCell(t)
	c.setStations()
	c.startHostapd()
	c.startAgent()
	first := c.await(interval)
	if first.GetSequence() != 1 || mac.Address(first.GetBssid()) != (mac.Address{2}) ||
		first.GetSurvey().GetBusyUs() != 400_000 {
		t.Fatalf("first report is %v", first)
	}
	awaitListed(t, c.hostapd)
	c.setStations(phone1)
	c.hostapd.Join(phone1.String())
	report := c.await(joined, phone1)
	if got := report.GetStations()[0]; got.GetRxBytes() != 1_000_000 || got.GetRxAirtimeUs() == 0 {
		t.Fatalf("station is %v, want its bytes and an estimate of its airtime", got)
	}
	c.setStations(phone1, phone2)
	c.hostapd.Join(phone2.String())
	c.await(joined, phone1, phone2)
	// The kernel still has phone1 for a moment.
	c.hostapd.Leave(phone1.String())
	c.await(left, phone2)
}

func TestReportsEveryInterval(t *testing.T) {
	c := newCell(t)
	c.options.interval = 10 * time.Millisecond
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.startAgent()
	last := c.await(interval, phone1)
	for range 5 {
		next := c.await(interval, phone1)
		if next.GetSequence() <= last.GetSequence() || next.GetMonotonicUs() <= last.GetMonotonicUs() {
			t.Fatalf("report %v follows %v", next, last)
		}
		last = next
	}
}

func TestReportsWithoutHostapdAndAttachesWhenItStarts(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1, phone2)
	c.startAgent()
	c.await(interval, phone1, phone2) // By the kernel alone.
	c.startHostapd(phone2)
	c.await(joined, phone2)
}

func TestFindsAMissedAssociationByTheKernelsTable(t *testing.T) {
	c := newCell(t)
	c.options.interval = 20 * time.Millisecond
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.startAgent()
	c.await(interval, phone1)
	awaitListed(t, c.hostapd)
	c.hostapd.JoinSilently(phone2.String())
	c.setStations(phone1, phone2)
	c.await(interval, phone1, phone2)
}

func TestReportsAtOnceToARestartedController(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.startAgent()
	before := c.await(interval, phone1)
	c.controller.Stop()
	c.startController(c.options.controller.String())
	after := c.await(interval, phone1)
	if after.GetSequence() <= before.GetSequence() {
		t.Fatalf("sequence went from %d to %d", before.GetSequence(), after.GetSequence())
	}
}

// The mode is in answers and in commands.
func TestTheControllersModeIsInTheStatus(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.startAgent()
	stream := c.stream()
	awaitMode := func(want string) {
		t.Helper()
		eventually(t, "mode "+want, func() bool {
			text, _ := c.status("--json")
			return strings.Contains(text, `"mode": "`+want+`"`)
		})
	}
	if err := stream.Send(&response{Mode: airboundv1.CellMode_CELL_MODE_OBSERVE}); err != nil {
		t.Fatal(err)
	}
	awaitMode("observe")
	command := &airboundv1.AccessPointCommand{Command: &airboundv1.AccessPointCommand_SetEdca{
		SetEdca: setOf(1, time.Minute, 5),
	}}
	err := stream.Send(&response{Command: command, Mode: airboundv1.CellMode_CELL_MODE_CONTROL})
	if err != nil {
		t.Fatal(err)
	}
	awaitMode("control")
}

func TestGarbageIsCountedAndCostsNothing(t *testing.T) {
	c := newCell(t)
	c.setStations()
	c.kernel.SetGarbage([]byte{1, 2, 3})
	c.startHostapd()
	c.startAgent()
	c.await(interval)
	awaitListed(t, c.hostapd)
	for _, garbage := range []string{"<3>AP-STA-CONNECTED nonsense", "\x00\x01", "<9"} {
		c.hostapd.Send(garbage)
	}
	c.setStations(phone1)
	c.hostapd.Join(phone1.String())
	// Three from hostapd, and one from each sample of the kernel: the first report, mostly the second, and this one.
	report := c.await(joined, phone1)
	if got, want := report.GetMalformedInputsTotal(), 3+report.GetSequence(); got != want {
		t.Fatalf("refused %d inputs, want %d", got, want)
	}
}

func TestInterfaceThatGoesAndComesBack(t *testing.T) {
	c := newCell(t)
	c.options.interval = 10 * time.Millisecond
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.startAgent()
	before := c.await(interval, phone1)
	c.kernel.Set()
	time.Sleep(50 * time.Millisecond) // A few samples fail; nothing depends on how many.
	c.setStations(phone1)
	for c.await(interval, phone1).GetSequence() <= before.GetSequence()+1 {
		continue
	}
}

func TestStopWhileNothingAnswers(t *testing.T) {
	c := newCell(t)
	c.controller.Stop()
	stop := c.startAgent()
	stop()
	awaitNoAgent(t)
}

func TestStopLeavesNoGoroutine(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startHostapd(phone1)
	stop := c.startAgent()
	c.await(interval, phone1)
	awaitListed(t, c.hostapd)
	stop()
	awaitNoAgent(t)
}

// awaitNoAgent waits until no goroutine of an agent runs; grpc-go's end a moment after their connection.
func awaitNoAgent(t *testing.T) {
	t.Helper()
	ofAgent := []string{
		"main.run(",
		"main.(*bss).loop(",
		"hostapd.(*Client)",
		"hostapd.(*Watcher)",
		"controllerclient.",
		"http2Client",
	}
	buffer := make([]byte, 1<<20)
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		if !slices.ContainsFunc(ofAgent, func(name string) bool { return strings.Contains(stacks, name) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("something of the agent is left:\n%s", stacks)
		}
	}
}

// awaitListed waits until an agent has read the list: what hostapd sends from then on is no reply.
func awaitListed(t *testing.T, server *hostapdtest.Server) {
	t.Helper()
	for deadline := time.Now().Add(timeout); server.Listed() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no agent has listed the stations")
		}
	}
}
