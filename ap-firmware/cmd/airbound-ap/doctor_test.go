// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/ap-firmware/windows/tcbpf"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/identity"
	attaching "github.com/airbound/airbound/internal/tcbpf"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// examined runs `doctor` with the cell's kernel, and returns its findings that are not ok and its exit code.
func (c *cell) examined(kernel sockets, arguments ...string) (notOK []diagnosis.Finding, code int) {
	c.t.Helper()
	arguments = append([]string{
		"doctor", "--json", "--state-dir", c.options.state.parent, "--hostapd-control", c.options.hostapdControl,
	}, arguments...)
	var out, errs bytes.Buffer
	code = program(kernel).Dispatch(c.t.Context(), arguments, &out, &errs)
	var answer struct{ Findings []diagnosis.Finding }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || len(answer.Findings) == 0 {
		c.t.Fatalf("%v, %s%s", err, &out, &errs)
	}
	return slices.DeleteFunc(answer.Findings, func(f diagnosis.Finding) bool { return f.Level == diagnosis.OK }), code
}

// at are the flags for the cell's controller with certificates.
func (c *cell) at(controller *credentialstest.Controller, more ...string) []string {
	return append([]string{
		"--controller", controller.Streams, "--enroll", controller.Enrolment,
		"--credentials-dir", c.options.security.Directory,
	}, more...)
}

// expectStep wants one finding of a level and a part, with a text, whose next step has another.
func expectStep(tb testing.TB, findings []diagnosis.Finding, level diagnosis.Level, part, found, step string) {
	tb.Helper()
	if !slices.ContainsFunc(findings, func(f diagnosis.Finding) bool {
		return f.Level == level && f.Part == part && strings.Contains(f.Found, found) && strings.Contains(f.Do, step)
	}) {
		tb.Errorf("no %s about %s with %q and the step %q in %+v", level, part, found, step, findings)
	}
}

func failures(findings []diagnosis.Finding) (failed []diagnosis.Finding) {
	for _, each := range findings {
		if each.Level == diagnosis.Failure {
			failed = append(failed, each)
		}
	}
	return failed
}

// The life of an access point's agent, as doctor shows it: no token, a token, an agent that runs, a certificate that is
// not accepted any more.
func TestDoctorOfAnAccessPoint(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startHostapd(phone1)
	controller := c.secure()
	kernel := c.sockets()
	found, code := c.examined(kernel, c.at(controller)...)
	if code != command.ExitError || len(failures(found)) != 1 {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Failure, "certificate", "no token to get one",
		"`airbound enroll access-point NAME`")
	expectStep(t, found, diagnosis.Warning, "agent", "not running", "start it")
	expectStep(t, found, diagnosis.Warning, "windows", "switched off", "uci set airbound.main.window_clamp=1")

	token := filepath.Join(t.TempDir(), "token")
	writeFile(t, token, controller.Invite(identity.RoleAccessPoint, "ap-1"))
	c.options.security.TokenFile = token
	withToken := c.at(controller, "--token-file", token)
	if found, code = c.examined(kernel, withToken...); code != command.ExitOK {
		t.Errorf("%d, %+v", code, found)
	}
	c.startAgent()
	c.await(interval, phone1)
	if found, code = c.examined(kernel, withToken...); code != command.ExitOK ||
		slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return f.Part == "agent" }) {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Warning, "certificate", "not needed any more", "remove the token")

	controller.Set(func(b *credentialstest.Behaviour) {
		b.Trusted = []*credentialstest.Authority{credentialstest.NewAuthority(t, "new")}
	})
	found, code = c.examined(kernel, withToken...)
	if code != command.ExitError {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Failure, "connection", "remote error: tls", "enrol again with a new token")
}

// A controller checks a token when the agent shows it; each of its answers names the next step.
func TestDoctorOfTokens(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	used := controller.Invite(identity.RoleAccessPoint, "ap-1")
	expired := controller.Invite(identity.RoleAccessPoint, "ap-2")
	controller.Use(used)
	controller.Expire(expired)
	for name, test := range map[string]struct{ token, found, step string }{
		"used":       {used, "the token was used", "make a new token"},
		"expired":    {expired, "the token has expired", "make a new token"},
		"unknown":    {controller.Authority.Token(), "the token is unknown", "make a new token"},
		"other role": {controller.Invite(identity.RoleTerminal, "phone"), "role terminal", "enroll access-point NAME"},
	} {
		c.options.security.Token, c.options.state.parent = test.token, t.TempDir()
		stop := c.startAgent()
		eventually(t, name, func() bool {
			text, _ := c.status()
			return strings.Contains(text, "to do ")
		})
		found, _ := c.examined(c.sockets(), c.at(controller, "--token", test.token)...)
		expectStep(t, found, diagnosis.Warning, "agent", test.found, test.step)
		stop()
	}
	foreign := credentialstest.NewAuthority(t, "other").Token()
	found, code := c.examined(c.sockets(), c.at(controller, "--token", foreign)...)
	if code != command.ExitError {
		t.Errorf("%d", code)
	}
	expectStep(t, found, diagnosis.Failure, "connection", "no certificate that the server sent has the fingerprint",
		"`airbound enroll access-point NAME`")
}

func TestDoctorOfWrongAddresses(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	c.options.security.Token = controller.Invite(identity.RoleAccessPoint, "ap-1")
	stop := c.startAgent()
	c.await(interval, phone1)
	stop()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	inPlainText := c.startController("127.0.0.1:0")
	directory := []string{"--credentials-dir", c.options.security.Directory}
	for name, test := range map[string]struct {
		arguments   []string
		found, step string
	}{
		"the port of enrolment": {
			append(directory, "--controller", controller.Enrolment), "not the port of agents",
			"agents connect to 50051",
		},
		"plain text": {
			append(directory, "--controller", inPlainText), "but TLS: ", "no TLS is spoken there",
		},
		"plain text at TLS": {
			[]string{"--plain-text", "--controller", controller.Streams}, "TLS is spoken there", "check the port",
		},
		"a web server": {
			append(directory, "--controller", web.Listener.Addr().String()), "but TLS: ", "no TLS is spoken there",
		},
		"gone": {
			append(directory, "--controller", gone.Addr().String()), "connection refused", "start the controller",
		},
		"no such name": {append(directory, "--controller", "no..name:50051"), "lookup no..name", "check the name"},
	} {
		found, code := c.examined(c.sockets(), test.arguments...)
		if code != command.ExitError {
			t.Errorf("%s: %d, %+v", name, code, found)
		}
		expectStep(t, found, diagnosis.Failure, "connection", test.found, test.step)
	}
}

func TestDoctorOfACertificateThatHasEnded(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	controller.Set(func(b *credentialstest.Behaviour) { b.Life, b.RefuseRenewal = 2*time.Second, os.ErrPermission })
	c.options.security.Token = controller.Invite(identity.RoleAccessPoint, "ap-1")
	c.startAgent()
	var found []diagnosis.Finding
	eventually(t, "ended", func() bool {
		found, _ = c.examined(c.sockets(), c.at(controller)...)
		return slices.ContainsFunc(found, func(f diagnosis.Finding) bool {
			return f.Part == "certificate" && strings.Contains(f.Found, ", ended ")
		})
	})
	expectStep(t, found, diagnosis.Failure, "certificate", ", ended ", "set the clock if it is wrong, else enrol again")
}

// The certificate begins later than the clock shows: the clock is late.
func TestDoctorOfAClockThatIsLate(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	controller.Set(func(b *credentialstest.Behaviour) {
		b.Life = 2 * time.Hour
		b.Alter = func(leaf *credentialstest.Leaf, _ *airboundv1.Credentials) {
			leaf.NotBefore = time.Now().Add(time.Hour)
		}
	})
	c.options.security.Token = controller.Invite(identity.RoleAccessPoint, "ap-1")
	stop := c.startAgent()
	eventually(t, "enrolled", func() bool { return controller.Counts().Enrolments == 1 })
	eventually(t, "written", func() bool {
		found, _ := c.examined(c.sockets(), c.at(controller)...)
		return slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return f.Part == "clock" })
	})
	stop()
	found, _ := c.examined(c.sockets(), c.at(controller)...)
	expectStep(t, found, diagnosis.Warning, "clock", "before the certificate's first moment", "set the clock")
}

// unwilling is a kernel without what filters of clsact need.
func unwilling(tcbpf.Options) (windowsKernel, error) {
	return nil, attaching.Explain("add qdisc clsact to interface 3",
		fmt.Errorf("the kernel has neither TCX nor clsact: %w", unix.ENOENT))
}

func TestDoctorOfAKernelWithoutModules(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	kernel := c.sockets()
	kernel.windows = unwilling
	arguments := []string{"--plain-text", "--controller", c.options.controller.String(), "--window-clamp"}
	found, code := c.examined(kernel, arguments...)
	if code != command.ExitOK {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Warning, "windows", "neither TCX nor clsact", "`apk add kmod-sched-core ")
	// The agent that runs says the same.
	c.options.windowClamp = true
	c.startAgentWith(kernel)
	c.await(interval, phone1)
	found, _ = c.examined(c.sockets(), arguments...)
	expectStep(t, found, diagnosis.Warning, "windows", "neither TCX nor clsact", "`apk add kmod-sched-core ")
}

func TestDoctorOfRadios(t *testing.T) {
	c := newCell(t)
	arguments := []string{"--plain-text", "--controller", c.options.controller.String()}
	found, code := c.examined(c.sockets(), arguments...)
	if code != command.ExitError {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Failure, "wireless", "no interface is an access point", "`wifi up`")
	c.setStations(phone1)
	found, code = c.examined(c.sockets(), append(arguments, "--no-edca", "--no-station-flows")...)
	if code != command.ExitOK {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Warning, "hostapd", "wlan0: ", "start hostapd")
	expectStep(t, found, diagnosis.Warning, "EDCA", "switched off", "uci set airbound.main.edca=1")
	expectStep(t, found, diagnosis.Warning, "live streams", "switched off", "uci set airbound.main.station_flows=1")
	expectStep(t, found, diagnosis.Warning, "certificate", "plain text", "remove plain-text")
	found, _ = c.examined(c.sockets(), append(arguments, "--interface", "wlan7")...)
	expectStep(t, found, diagnosis.Failure, "wireless", "wlan7: ", "`airbound-ap once`")
}

// doctorProcess is doctor, really executed, with a directory of states where no agent is.
func (c *cell) doctorProcess() *exec.Cmd {
	return exec.Command("/proc/self/exe", "doctor", "--plain-text", "--controller", c.options.controller.String(),
		"--interface", "wlan0", "--window-clamp", "--hostapd-control", c.options.hostapdControl,
		"--state-dir", c.t.TempDir())
}

// What doctor tries beside an agent, of which it need not know, leaves the agent's filters as they are.
func TestDoctorDoesNotDisturbAnAgent(t *testing.T) {
	c := newCell(t)
	there := newAir(t)
	t.Setenv(clsactVariable, "yes")
	c.kernel.Set(wlan0(phone1))
	c.startProcess("--window-clamp")
	stream := c.stream()
	if err := stream.Send(flowsCommand(1)); err != nil {
		t.Fatal(err)
	}
	c.awaitBSS("it is in force", "wlan0", func(report *airboundv1.AccessPointReport) bool {
		return report.GetStationFlows().GetGeneration() == 1 && report.GetWindows().GetCanSet()
	})
	before := there.filters()
	for _, want := range []string{"airbound up ", "airbound down ", "airbound mark "} {
		if !strings.Contains(before, want) {
			t.Errorf("no %q in %s", want, before)
		}
	}
	text, err := c.doctorProcess().Output()
	for _, want := range []string{"may set limits of windows", "may set packets sent as video"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q: %v in %s", want, err, text)
		}
	}
	if after := there.filters(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestADoctorThatIsKilledLeavesNothing(t *testing.T) {
	c := newCell(t)
	there := newAir(t)
	t.Setenv(clsactVariable, "yes")
	t.Setenv(hangVariable, "yes")
	c.kernel.Set(wlan0(phone1))
	doctor := c.doctorProcess()
	if err := doctor.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "attached", func() bool { return strings.Contains(there.filters(), "airbound mark ") })
	if err := doctor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = doctor.Wait()
	eventually(t, "nothing is left", func() bool { return there.filters() == "" })
	eventually(t, "no guard", func() bool { return len(processesWith(t, detachName, "--agent")) == 0 })
}

// An agent that has just started has no state yet: doctor tries nothing beside it, and says no more than it knows.
func TestDoctorBesideAnAgentWithoutAState(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	directory := statedir.New(c.options.state.parent, "wlan0")
	unlock, err := directory.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unlock() }()
	kernel := c.sockets()
	kernel.windows, kernel.flows = triesNothing(t), nil
	found, _ := c.examined(kernel, "--plain-text", "--controller", c.options.controller.String(), "--window-clamp")
	expectStep(t, found, diagnosis.Warning, "last report", "nothing was reported yet", "logread")
	if slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return f.Part == "windows" || f.Part == "EDCA" }) {
		t.Errorf("%+v", found)
	}
}

func triesNothing(t *testing.T) func(tcbpf.Options) (windowsKernel, error) {
	t.Helper()
	return func(tcbpf.Options) (windowsKernel, error) {
		t.Error("tried")
		return nil, os.ErrPermission
	}
}

func TestAnInterruptedDoctorTriesNothingMore(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	kernel := c.sockets()
	kernel.windows, kernel.flows = triesNothing(t), nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := program(kernel).Dispatch(ctx, []string{
		"doctor", "--plain-text", "--controller", c.options.controller.String(), "--window-clamp",
		"--state-dir", c.options.state.parent,
	}, &out, &errs)
	if code != command.ExitError || out.Len() > 0 || errs.String() != "airbound-ap doctor: interrupted\n" {
		t.Errorf("%d, %s%s", code, &out, &errs)
	}
}

// A controller in observe mode computes and applies nothing, which its reason says.
func TestDoctorOfObserveMode(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startHostapd(phone1)
	c.options.interval = 20 * time.Millisecond
	c.startAgent()
	stream := c.stream()
	c.awaitReport("can", (*airboundv1.EdcaState).GetCanSet)
	sendSet(t, stream, setOf(1, time.Minute, 5))
	c.awaitGeneration(1)
	set := &airboundv1.SetEdca{
		Generation: 2, LeaseMs: 60_000,
		Reason: &airboundv1.Reason{Code: airboundv1.ReasonCode_REASON_CODE_OBSERVE_MODE},
	}
	sendSet(t, stream, set)
	c.awaitGeneration(0)
	found, _ := c.examined(c.sockets(), "--plain-text", "--controller", c.options.controller.String())
	expectStep(t, found, diagnosis.Warning, "EDCA", "observe mode", "`airbound mode control`")
}

// On OpenWrt nothing has to be given: the configuration has it.
func TestDoctorTakesOpenWrtsConfiguration(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	controller := c.secure()
	folder := openWrt(t)
	shown := "airbound.main=airbound\nairbound.main.enabled='0'\nairbound.main.controller='" + controller.Streams +
		"'\nairbound.main.enroll='" + controller.Enrolment + "'\nairbound.main.credentials_dir='" +
		c.options.security.Directory + "'\nairbound.main.token='" +
		controller.Invite(identity.RoleAccessPoint, "ap-1") + "'\nairbound.main.window_clamp='0'\n"
	writeFile(t, filepath.Join(folder, "shown"), shown)
	found, code := c.examined(c.sockets())
	if code != command.ExitOK {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Warning, "configuration", "enabled is 0", "`uci set airbound.main.enabled=1`")
	writeFile(t, filepath.Join(folder, "shown"), shown+"airbound.main.interval_ms='1'\n")
	found, code = c.examined(c.sockets())
	if code != command.ExitError {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Failure, "configuration", "--interval 1ms is not within", "airbound-ap run --help")

	writeFile(t, filepath.Join(folder, "unreadable"), "/sbin/uci: Parse error (invalid command) at line 3, byte 0")
	found, _ = c.examined(c.sockets())
	expectStep(t, found, diagnosis.Failure, "configuration",
		"read /etc/config/airbound: uci show airbound.main: exit status 1: /sbin/uci: Parse error", "correct it")
	writeFile(t, filepath.Join(folder, "unreadable"), "/sbin/uci: Entry not found")
	found, _ = c.examined(c.sockets())
	expectStep(t, found, diagnosis.Failure, "configuration", "no section main", "correct it")
}

// A state that cannot be read is a finding with its file, and hides no other BSS's.
func TestDoctorOfAStateThatCannotBeRead(t *testing.T) {
	c := newCell(t)
	c.setStations(phone1)
	c.startAgent()
	c.await(interval, phone1)
	damaged := filepath.Join(c.options.state.parent, "wlan7", "state.json")
	if err := os.Mkdir(filepath.Dir(damaged), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, damaged, "{")
	arguments := []string{"--plain-text", "--controller", c.options.controller.String()}
	found, code := c.examined(c.sockets(), arguments...)
	if code != command.ExitError || len(failures(found)) != 1 {
		t.Errorf("%d, %+v", code, found)
	}
	expectStep(t, found, diagnosis.Failure, "agent", "its status cannot be read: wlan7: "+damaged,
		"start the agent again")
	if slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return strings.Contains(f.Found, "not running") }) {
		t.Errorf("%+v", found)
	}
	if _, code := c.status(); code != command.ExitError {
		t.Errorf("status ended with %d", code)
	}
}

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
