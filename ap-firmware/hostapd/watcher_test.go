// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/hostapd/hostapdtest"
)

const timeout = 30 * time.Second

// bench is a watcher beside a fake hostapd.
type bench struct {
	t       *testing.T
	path    string
	server  *hostapdtest.Server
	watcher *hostapd.Watcher
	stop    func()
	last    hostapd.Update
	log     syncBuffer

	mu        sync.Mutex
	malformed []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	//nolint:usetesting // the path of t.TempDir outgrows the 108 bytes of a socket's address with the name of the test
	directory, err := os.MkdirTemp("", "hostapd")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, path: filepath.Join(directory, "wlan0")}
	b.watcher = hostapd.NewWatcher(b.path, "wlan0", b.refuse, slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{
		Level: slog.LevelDebug,
	})))
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		b.watcher.Run(ctx)
	}()
	b.stop = func() {
		cancel()
		<-finished
	}
	t.Cleanup(func() {
		b.stop()
		if b.server != nil {
			_ = b.server.Kill()
		}
		_ = os.RemoveAll(directory)
	})
	return b
}

// syncBuffer is a log that a test reads while the watcher writes.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *bench) refuse(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.malformed = append(b.malformed, err.Error())
}

func (b *bench) refused() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.malformed)
}

func (b *bench) start(stations ...string) {
	b.t.Helper()
	b.listen(hostapdtest.New("wlan0", stations...))
}

// listen lets the watcher find a server, which may be prepared: the watcher comes at any moment after this.
func (b *bench) listen(server *hostapdtest.Server) {
	b.t.Helper()
	if err := server.Listen(b.path); err != nil {
		b.t.Fatal(err)
	}
	b.server = server
}

// await takes updates until one satisfies the condition.
func (b *bench) await(what string, condition func(hostapd.Update) bool) {
	b.t.Helper()
	timedOut := time.After(timeout)
	for {
		select {
		case b.last = <-b.watcher.Updates():
			if condition(b.last) {
				return
			}
		case <-timedOut:
			b.t.Fatalf("no update with %s within %v, last is %+v", what, timeout, b.last)
		}
	}
}

func (b *bench) awaitStations(macs ...string) {
	b.t.Helper()
	b.await("stations "+strings.Join(macs, " "), func(u hostapd.Update) bool {
		for _, mac := range macs {
			if !u.Associations.Has(address(mac)) {
				return false
			}
		}
		return u.Associations.Known() && u.Associations.Len() == len(macs)
	})
}

func (b *bench) awaitAway() {
	b.t.Helper()
	b.await("hostapd away", func(u hostapd.Update) bool { return !u.Associations.Known() })
}

func TestWatcherListsAndFollows(t *testing.T) {
	b := newBench(t)
	b.start(phone1)
	b.awaitStations(phone1)
	b.server.Join(phone2)
	b.awaitStations(phone1, phone2)
	if !b.last.Change.Joined || b.last.Change.Left {
		t.Fatalf("change is %+v, want a join", b.last.Change)
	}
	b.server.Leave(phone1)
	b.awaitStations(phone2)
	if !b.last.Change.Left || b.last.Change.Joined {
		t.Fatalf("change is %+v, want a leave", b.last.Change)
	}
}

func TestWatcherWaitsForHostapd(t *testing.T) {
	b := newBench(t)
	time.Sleep(50 * time.Millisecond) // A few attempts fail; nothing depends on how many.
	b.start(phone1)
	b.awaitStations(phone1)
}

func TestWatcherSurvivesRestarts(t *testing.T) {
	tests := map[string]func(*hostapdtest.Server) error{
		"terminated": (*hostapdtest.Server).Terminate,
		"killed":     (*hostapdtest.Server).Kill, // Noticed by the next ping.
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.start(phone1, phone2)
			b.awaitStations(phone1, phone2)
			if err := end(b.server); err != nil {
				t.Fatal(err)
			}
			b.awaitAway()
			b.start(phone2, phone3)
			b.awaitStations(phone2, phone3)
			if b.last.Change != (hostapd.Change{Joined: true, Left: true}) {
				t.Fatalf("change over the restart is %+v, want a join and a leave", b.last.Change)
			}
		})
	}
}

func TestWatcherLeavesHungHostapd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start(phone1)
	b.awaitStations(phone1)
	b.server.Mute()
	b.awaitAway()
}

func TestWatcherCountsGarbageAndGoesOn(t *testing.T) {
	b := newBench(t)
	b.start(phone1)
	b.awaitStations(phone1)
	garbage := []string{
		"<3>AP-STA-CONNECTED 02:00:00:00:02", "<3>", "<", "late reply\n", "", "\x00\xff", strings.Repeat("y", 20_000),
	}
	for _, datagram := range garbage {
		b.server.Send(datagram)
	}
	b.server.Join(phone2)
	b.awaitStations(phone1, phone2)
	if got := b.refused(); len(got) != len(garbage) {
		t.Fatalf("refused %d messages, want %d: %q", len(got), len(garbage), got)
	}
}

func TestWatcherFindsMissedEvents(t *testing.T) {
	b := newBench(t)
	b.start(phone1)
	b.awaitStations(phone1)
	b.server.JoinSilently(phone2)
	b.watcher.Refresh()
	b.awaitStations(phone1, phone2)
	b.awaitAway()
	b.awaitStations(phone1, phone2)
	if got := b.server.Attached(); got != 2 {
		t.Fatalf("attached %d times, want 2: the first connection gets no events", got)
	}
	if got := b.server.Monitors(); got != 1 {
		t.Fatalf("%d clients are attached, want 1: the first one detached", got)
	}
}

func TestRefreshWithoutADifferenceChangesNothing(t *testing.T) {
	b := newBench(t)
	b.start(phone1)
	b.awaitStations(phone1)
	b.server.Associate(phone3) // Has no keys, so it is no difference.
	b.watcher.Refresh()
	b.server.Join(phone2)
	b.awaitStations(phone1, phone2)
	if got := b.server.Attached(); got != 1 {
		t.Fatalf("attached %d times, want once", got)
	}
}

func TestWatcherRefusesTheSocketOfAnotherInterface(t *testing.T) {
	b := newBench(t)
	other, err := hostapdtest.Start(b.path, "wlan1", phone1)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(timeout); other.Attached() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the watcher did not try again")
		}
	}
	select {
	case update := <-b.watcher.Updates():
		t.Fatalf("got %+v from the socket of wlan1", update)
	default:
	}
	if got := b.log.String(); !strings.Contains(got, `socket serves [\"wlan1\"], not wlan0`) {
		t.Errorf("the log does not name the cause:\n%s", got)
	}
	if err := other.Kill(); err != nil {
		t.Fatal(err)
	}
	b.start(phone2)
	b.awaitStations(phone2)
}

func TestAnAttachThatIsRefusedIsNoSession(t *testing.T) {
	b := newBench(t)
	server := hostapdtest.New("wlan0", phone1)
	server.Answer("ATTACH", "FAIL\n")
	b.listen(server)
	for deadline := time.Now().Add(timeout); len(b.refused()) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the watcher did not try again")
		}
	}
	if got := b.refused()[0]; !strings.Contains(got, `hostapd answered ATTACH with "FAIL"`) {
		t.Errorf("refused %s", got)
	}
	select {
	case update := <-b.watcher.Updates():
		t.Errorf("got %+v without a session", update)
	default:
	}
}

// The agent that takes the updates has ended.
func TestStopsBesideAReaderThatIsGone(t *testing.T) {
	b := newBench(t)
	b.start()
	b.awaitStations()
	for i := range 40 {
		b.server.Join(fmt.Sprintf("02:00:00:00:03:%02d", i))
	}
	for deadline := time.Now().Add(timeout); len(b.watcher.Updates()) < cap(b.watcher.Updates()); {
		if time.Now().After(deadline) {
			t.Fatal("the updates never wait")
		}
		time.Sleep(time.Millisecond)
	}
	b.stop()
}

func TestStopDetaches(t *testing.T) {
	b := newBench(t)
	b.start(phone1)
	b.awaitStations(phone1)
	b.stop()
	for deadline := time.Now().Add(timeout); b.server.Monitors() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the client is still attached")
		}
	}
}

// A list that cannot be read does not make an empty set of associations the truth.
func TestAListThatFailsIsNoEmptyList(t *testing.T) {
	b := newBench(t)
	server := hostapdtest.New("wlan0", phone1)
	server.Answer("STA-FIRST", "nothing that is a station\n")
	b.listen(server)
	for deadline := time.Now().Add(timeout); b.server.Attached() < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the watcher did not try again")
		}
	}
	b.stop()
	for {
		select {
		case update := <-b.watcher.Updates():
			if update.Associations.Known() {
				t.Fatalf("got %+v without a list", update)
			}
			continue
		default:
		}
		break
	}
}

// line is what the watcher logs of one attempt that failed.
var line = regexp.MustCompile(`level=(\w+) msg="no associations from hostapd" .* retry_in=(\S+)`)

// attempts returns level and wait of each attempt that failed.
func (b *bench) attempts() (levels []string, waits []time.Duration) {
	b.t.Helper()
	for _, found := range line.FindAllStringSubmatch(b.log.String(), -1) {
		wait, err := time.ParseDuration(found[2])
		if err != nil {
			b.t.Fatal(err)
		}
		levels, waits = append(levels, found[1]), append(waits, wait)
	}
	return levels, waits
}

func (b *bench) awaitAttempts(count int) (levels []string, waits []time.Duration) {
	b.t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		if levels, waits = b.attempts(); len(levels) >= count {
			return levels, waits
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("only %d attempts within %v", len(levels), timeout)
		}
	}
}

func TestBackOffStartsAgainAfterASession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, waits := b.awaitAttempts(4) // The fourth wait is 400 to 800 ms.
	if waits[3] < 400*time.Millisecond {
		t.Errorf("waits grow as %v", waits)
	}
	b.start(phone1)
	b.awaitStations(phone1)
	_, waits = b.attempts() // Another one may have failed before there was a socket.
	failed := len(waits)
	if err := b.server.Terminate(); err != nil {
		t.Fatal(err)
	}
	if _, waits = b.awaitAttempts(failed + 1); waits[failed] > 100*time.Millisecond {
		t.Errorf("after a session the watcher waits %v", waits[failed])
	}
}

func TestACauseIsLoggedAsAWarningOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	levels, _ := b.awaitAttempts(3)
	if want := []string{"WARN", "DEBUG", "DEBUG"}; !slices.Equal(levels[:3], want) {
		t.Errorf("levels are %v, want %v", levels, want)
	}
	b.start(phone1)
	b.awaitStations(phone1)
	levels, _ = b.attempts() // Another one may have failed before there was a socket.
	failed := len(levels)
	if err := b.server.Terminate(); err != nil {
		t.Fatal(err)
	}
	if levels, _ = b.awaitAttempts(failed + 1); levels[failed] != "WARN" {
		t.Errorf("the end of a session is logged as %s", levels[failed])
	}
}

func TestTheEndOfASessionIsAWarningEvenIfTheCauseIsNotNew(t *testing.T) {
	b := newBench(t)
	server := hostapdtest.New("wlan0", phone1)
	server.Answer("STA-FIRST", "WHAT\n")
	b.listen(server)
	b.awaitAttempts(2)
	server.AnswerAsUsual("STA-FIRST")
	b.awaitStations(phone1)
	failed, _ := b.attempts()
	server.Answer("STA-FIRST", "WHAT\n")
	b.watcher.Refresh()
	b.awaitAway()
	if levels, _ := b.awaitAttempts(len(failed) + 1); levels[len(failed)] != "WARN" {
		t.Errorf("the end of a session is logged as %s:\n%s", levels[len(failed)], b.log.String())
	}
}

// A hostapd that was stopped reads nothing from its socket, and once the queue is full a write to it waits.
func TestStopsBesideAHostapdThatReadsNothing(t *testing.T) {
	b := newBench(t)
	b.start("02:00:00:00:01:00")
	b.awaitStations("02:00:00:00:01:00")
	if err := b.server.Freeze(); err != nil {
		t.Fatal(err)
	}
	b.watcher.Refresh() // makes it write
	b.awaitAway()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.stop()
	}()
	select {
	case <-ended:
	case <-time.After(timeout):
		t.Fatalf("the watcher did not end within %v", timeout)
	}
}

// Each time hostapd may have set the transmit queues, an update says so; at no other time.
func TestStartsOfTheAccessPointAreReported(t *testing.T) {
	b := newBench(t)
	b.start(phone1)
	isStart := func(update hostapd.Update) bool { return update.Enabled }
	b.await("attached", isStart)
	b.server.Join(phone2)
	b.await("joined", func(update hostapd.Update) bool { return update.Change.Joined && !update.Enabled })
	for _, event := range []string{"<3>AP-ENABLED ", "<3>INTERFACE-ENABLED "} {
		b.server.Send(event)
		b.await(event, func(update hostapd.Update) bool {
			return update.Enabled && update.Change == (hostapd.Change{}) && update.Associations.Len() == 2
		})
	}
	b.server.Leave(phone2)
	b.await("left", func(update hostapd.Update) bool { return update.Change.Left && !update.Enabled })
	if err := b.server.Terminate(); err != nil {
		t.Fatal(err)
	}
	b.await("gone", func(update hostapd.Update) bool { return !update.Associations.Known() && !update.Enabled })
	b.start(phone1)
	b.await("started again", isStart)
}
