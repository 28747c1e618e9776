// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/internal/diagnosis/diagnosistest"
	"github.com/airbound/airbound/internal/identity"
)

// These have shorter names in this package.
var (
	expect     = diagnosistest.Expect
	expectStep = diagnosistest.ExpectStep
)

var phone = diagnosis.Device{Program: "airbound-phone", Role: identity.RoleTerminal}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Now()
	early := time.Date(1970, time.January, 1, 0, 1, 0, 0, time.UTC)
	leaf := &x509.Certificate{NotBefore: now.Add(-time.Hour)}
	expect(t, "right", diagnosis.Clock(now, leaf, nil), "ok CLOCK_BOOTTIME", "ok 20")
	expect(t, "right, without a certificate", diagnosis.Clock(now, nil, nil), "ok CLOCK_BOOTTIME", "ok 20")
	expect(t, "late", diagnosis.Clock(leaf.NotBefore.Add(-time.Second), leaf, nil),
		"ok CLOCK_BOOTTIME", "warning , before the certificate's first moment, ")
	expect(t, "1970", diagnosis.Clock(early, nil, nil),
		"ok CLOCK_BOOTTIME", "warning 1970-01-01 00:01:00 UTC, before this program was written")
	expect(t, "no clock of leases", diagnosis.Clock(now, nil, syscall.EINVAL),
		"failed CLOCK_BOOTTIME: invalid argument", "ok 20")
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	private, shared := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Chmod(private, 0o700), os.Chmod(shared, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(private, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, absent := filepath.Join(private, "file"), filepath.Join(private, "a", "b")
	expect(t, "private", diagnosis.Directories(private, private), "ok state: "+private, "ok certificate: "+private)
	expect(t, "shared", diagnosis.Directories(shared, shared), "ok state: ", "failed its mode is 0755")
	expect(t, "absent", diagnosis.Directories(absent, absent), "ok will be made", "ok will be made")
	expect(t, "files", diagnosis.Directories(file, file), "failed is not a directory", "failed is not a directory")
	expect(t, "below a file", diagnosis.Directories(file+"/x", file+"/x"),
		"failed not a directory", "failed not a directory")
	// Nobody writes there, not even root.
	expect(t, "read-only", diagnosis.Directories("/proc/self/airbound", "/proc/self/airbound"),
		"failed write to /proc/self: ", "failed write to /proc/self: ")
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	expect(t, "everybody's", diagnosis.Directories(shared, private), "failed its mode is 0777", "ok certificate: ")
	if entries, err := os.ReadDir(private); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	denied := &identity.Status{
		LastError:     "connect: the controller refused: revoked (PermissionDenied)",
		LastErrorCode: identity.CertificateRevoked,
	}
	for name, test := range map[string]struct {
		state      diagnosis.State
		want, step string
	}{
		"connected": {
			diagnosis.State{Running: true, Known: true, Connected: true}, "ok running and connected", "",
		},
		"denied": {
			diagnosis.State{Running: true, Known: true, Connected: true, Certificate: denied},
			"warning the controller refused: revoked", "an operator revoked this device",
		},
		"not connected": {
			diagnosis.State{Running: true, Known: true, Certificate: &identity.Status{}},
			"warning running, not connected", "see connection and certificate below",
		},
		"no route": {
			diagnosis.State{Running: true, Known: true, Error: "no route to host"},
			"warning running, not connected to a controller; no route to host", "see connection",
		},
		"starting":    {diagnosis.State{Running: true}, "warning has not written its state yet", "wait some seconds"},
		"not running": {diagnosis.State{Known: true}, "warning not running", "start it"},
		"a used token": {
			diagnosis.State{Certificate: &identity.Status{LastError: "refused", LastErrorCode: identity.TokenUsed}},
			"warning not running; refused", "make a new token with `airbound enroll`",
		},
	} {
		finding := phone.Agent(test.state)
		expect(t, name, []diagnosis.Finding{finding}, test.want)
		expectStep(t, name, finding, test.step)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	expect(t, "configuration", []diagnosis.Finding{
		phone.Configuration("/x.conf", nil), phone.Configuration("", nil),
		phone.Configuration("/x.conf", errors.New("/x.conf: line 1: no such key")),
		diagnosis.Names("c1.example", "write it"),
	}, "ok /x.conf", "ok no file", "failed line 1: no such key", "failed the name c1.example cannot be resolved")
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	if mask, known := diagnosis.Capabilities("/proc"); !known {
		t.Errorf("%#x, %v", mask, known)
	}
	if _, known := diagnosis.Capabilities(t.TempDir()); known {
		t.Error("known without a file")
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	findings := []diagnosis.Finding{{Part: "kernel", Level: diagnosis.Failure, Found: "none", Do: "boot one"}}
	var text, encoded bytes.Buffer
	for into, asJSON := range map[*bytes.Buffer]bool{&text: false, &encoded: true} {
		if code, err := diagnosis.Print(into, findings, asJSON); code != command.ExitError || err != nil {
			t.Errorf("%d, %v", code, err)
		}
	}
	if !strings.HasPrefix(text.String(), "failed ") || !strings.HasPrefix(encoded.String(), "{") {
		t.Errorf("%s%s", &text, &encoded)
	}
	findings[0].Level = diagnosis.Warning
	if code, err := diagnosis.Print(&text, findings, false); code != command.ExitOK || err != nil {
		t.Errorf("%d, %v", code, err)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	findings := []diagnosis.Finding{
		{Part: "kernel", Level: diagnosis.OK, Found: "Linux 6.1"},
		{Part: "Wi-Fi", Level: diagnosis.Failure, Found: "no <interface>", Do: "turn it on"},
	}
	var text, encoded bytes.Buffer
	if err := errors.Join(diagnosis.WriteText(&text, findings), diagnosis.WriteJSON(&encoded, findings)); err != nil {
		t.Fatal(err)
	}
	const want = `ok       kernel        Linux 6.1
failed   Wi-Fi         no <interface>
                       -> turn it on

1 ok, 0 warnings, 1 failed
`
	if text.String() != want {
		t.Errorf("got\n%s", &text)
	}
	var decoded struct {
		Schema   int
		Failed   bool
		Findings []diagnosis.Finding
	}
	if err := json.Unmarshal(encoded.Bytes(), &decoded); err != nil || decoded.Schema != 1 || !decoded.Failed ||
		!slices.Equal(decoded.Findings, findings) || !strings.Contains(encoded.String(), "<interface>") {
		t.Errorf("%s, %v", &encoded, err)
	}
	if diagnosis.Failed(findings[:1]) || !diagnosis.Failed(findings) {
		t.Error("failed")
	}
}
