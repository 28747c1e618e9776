// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/command"
)

func program(defaultCommand string) *command.Program {
	var size int
	var fail bool
	return &command.Program{
		Name:      "airbound-test",
		Version:   "1.2",
		Summary:   "Does nothing.",
		Default:   defaultCommand,
		ExitCodes: "Exit codes: 0 to 2.",
		Commands: []command.Command{
			{
				Name:     "run",
				Summary:  "does it",
				Notes:    "It is done at once.",
				Examples: []string{"airbound-test run --size 3"},
				Flags: func(flags *flag.FlagSet) {
					flags.IntVar(&size, "size", 1, "a `SIZE`")
					flags.BoolVar(&fail, "fail", false, "fail")
				},
				Check: func() error {
					if size > 9 {
						return errors.New("--size is above 9")
					}
					return nil
				},
				Run: func(_ context.Context, stdout, _ io.Writer) (int, error) {
					if fail {
						return command.ExitError, errors.New("it failed")
					}
					_, err := stdout.Write(bytes.Repeat([]byte("x"), size))
					return 7, err
				},
			},
			{
				Name: "inner", Summary: "is not for people", Hidden: true, Examples: []string{"airbound-test inner"},
				Flags: func(*flag.FlagSet) {},
				Run:   func(context.Context, io.Writer, io.Writer) (int, error) { return command.ExitOK, nil },
			},
			{
				Name:     "other",
				Summary:  "does nothing",
				Examples: []string{"airbound-test other"},
				Flags:    func(*flag.FlagSet) {},
				Run:      func(context.Context, io.Writer, io.Writer) (int, error) { return command.ExitOK, nil },
			},
		},
	}
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		defaultCommand string
		arguments      []string
		code           int
		stdout, stderr string
	}{
		"nothing": {"", nil, 2, "", "Examples:"},
		"help":    {"", []string{"--help"}, 0, "  other  does nothing\n", ""},
		"help has examples": {
			"",
			[]string{"help"},
			0,
			"Examples:\n  airbound-test run --size 3\n  airbound-test other\n",
			"",
		},
		"help has the codes": {"", []string{"-h"}, 0, "Exit codes: 0 to 2.\n", ""},
		"version":            {"", []string{"--version"}, 0, "airbound-test 1.2\n", ""},
		"help of a command": {
			"",
			[]string{"run", "--help"},
			0,
			"Usage: airbound-test run [FLAGS]\n\ndoes it\n\nFlags:\n",
			"",
		},
		"its examples": {
			"",
			[]string{"run", "-h"},
			0,
			"\nIt is done at once.\n\nExamples:\n  airbound-test run --size 3\n",
			"",
		},
		"no such command": {
			"",
			[]string{"walk"},
			2,
			"",
			`airbound-test: no command "walk"; see airbound-test --help`,
		},
		"empty command":  {"run", []string{""}, 2, "", `no command ""`},
		"flags alone":    {"run", []string{"--size", "3"}, 7, "xxx", ""},
		"no default":     {"", []string{"--size", "3"}, 2, "", `no command "--size"`},
		"unknown flag":   {"", []string{"run", "--frob"}, 2, "", "-frob; see airbound-test run --help"},
		"stray argument": {"", []string{"run", "now"}, 2, "", `airbound-test run: unexpected argument "now"; see`},
		"check":          {"", []string{"run", "--size", "10"}, 2, "", "airbound-test run: --size is above 9\n"},
		"its own code":   {"", []string{"run", "--size", "2"}, 7, "xx", ""},
		"error":          {"", []string{"run", "--fail"}, 1, "", "airbound-test run: it failed\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := program(test.defaultCommand).Dispatch(t.Context(), test.arguments, &stdout, &stderr)
			if code != test.code {
				t.Errorf("code is %d, want %d", code, test.code)
			}
			for _, stream := range []struct{ name, got, want string }{
				{"stdout", stdout.String(), test.stdout}, {"stderr", stderr.String(), test.stderr},
			} {
				if !strings.Contains(stream.got, stream.want) || stream.want == "" && stream.got != "" {
					t.Errorf("%s is %q, want %q in it", stream.name, stream.got, stream.want)
				}
			}
		})
	}
}

// Not parallel: standard error is that of the whole process.
func TestTheFlagPackagePrintsNothing(t *testing.T) { //nolint:paralleltest // see above
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = file
	code := program("").Dispatch(t.Context(), []string{"run", "--frob"}, io.Discard, io.Discard)
	os.Stderr = before
	printed, err := os.ReadFile(file.Name())
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if code != command.ExitUsage || len(printed) > 0 {
		t.Errorf("code %d, printed %q", code, printed)
	}
}

func TestLogging(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"":                                   "level=INFO msg=hello",
		"--log-format json":                  `"level":"INFO","msg":"hello"`,
		"--log-level warn":                   "",
		"--log-level debug --log-format=xml": "--log-format \"xml\" is neither text nor json",
	} {
		var logging command.Logging
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		logging.Flags(flags)
		if err := flags.Parse(strings.Fields(arguments)); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		if err := logging.Check(); err != nil {
			log.WriteString(err.Error())
		} else {
			logger, end := logging.Open(&log)
			logger.Info("hello")
			end()
		}
		if !strings.Contains(log.String(), want) || want == "" && log.Len() > 0 {
			t.Errorf("%q: log is %q, want %q in it", arguments, log.String(), want)
		}
	}
}

func TestController(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":  `--controller "192.0.2.1" is not ADDR:PORT`,
		"192.0.2.1:": `--controller "192.0.2.1:" is not ADDR:PORT`, "[2001:db8::1]:50051": "", "host:1": "",
		"": `--controller "" is not ADDR:PORT`, ":1": `--controller ":1" is not ADDR:PORT`,
	} {
		controller := command.Controller{Addresses: []string{"192.0.2.7:1", address}}
		if err := controller.Check(); (err == nil) != (want == "") || (err != nil && err.Error() != want) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestControllersAreCollected(t *testing.T) {
	t.Parallel()
	var controller command.Controller
	if err := controller.Check(); err == nil || err.Error() != "--controller is missing" {
		t.Errorf("none: %v", err)
	}
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	controller.Flags(flags)
	err := flags.Parse([]string{"--controller", "c1.example:50051", "--controller=[2001:db8::1]:50051"})
	if got := controller.String(); err != nil || got != "c1.example:50051 [2001:db8::1]:50051" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		arguments string
		want      command.Security
		err       string
	}{
		"nothing": {"", command.Security{
			Directory: "/var/lib/x", Enrolment: []string{"192.0.2.1:50053", "[2001:db8::1]:50053"},
		}, ""},
		"everything": {"--token-file /t --enroll e:1 --enroll f:2 --credentials-dir /c", command.Security{
			Directory: "/c", TokenFile: "/t", Enrolment: []string{"e:1", "f:2"},
		}, ""},
		"plain text": {"--plain-text", command.Security{
			PlainText: true, Directory: "/var/lib/x", Enrolment: []string{"192.0.2.1:50053", "[2001:db8::1]:50053"},
		}, ""},
		"plain text and token":   {"--plain-text --token x", command.Security{}, "--plain-text excludes --token"},
		"plain text and file":    {"--plain-text --token-file x", command.Security{}, "--plain-text excludes --token"},
		"plain text and enroll":  {"--plain-text --enroll x:1", command.Security{}, "--plain-text excludes --token"},
		"two tokens":             {"--token x --token-file y", command.Security{}, "exclude each other"},
		"no port":                {"--enroll x", command.Security{}, `--enroll "x" is not ADDR:PORT`},
		"no place for the files": {"--credentials-dir=", command.Security{}, "--credentials-dir is empty"},
	}
	for name, test := range tests {
		var security command.Security
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		security.Flags(flags, "/var/lib/x")
		if err := flags.Parse(strings.Fields(test.arguments)); err != nil {
			t.Fatal(err)
		}
		err := security.Check([]string{"192.0.2.1:50051", "[2001:db8::1]:50051"})
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !reflect.DeepEqual(security, test.want):
			t.Errorf("%s: %+v, %v", name, security, err)
		}
	}
}

func TestCheckWithin(t *testing.T) {
	t.Parallel()
	for value, ok := range map[time.Duration]bool{
		time.Second - 1: false, time.Second: true, time.Minute: true, time.Minute + 1: false,
	} {
		if err := command.CheckWithin("interval", value, time.Second, time.Minute); (err == nil) != ok {
			t.Errorf("%v: %v", value, err)
		}
	}
}
