// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/command"
)

func TestParseFile(t *testing.T) {
	t.Parallel()
	text := "# controllers\ncontroller = c1.example:50051\n\n\tcontroller=c2.example:50051  # the other one\n" +
		"token-file = /sdcard/My token#1\n  # end\ncity = Zürich = ZH"
	want := []command.Setting{
		{Line: 2, Key: "controller", Value: "c1.example:50051"},
		{Line: 4, Key: "controller", Value: "c2.example:50051"},
		{Line: 5, Key: "token-file", Value: "/sdcard/My token#1"},
		{Line: 7, Key: "city", Value: "Zürich = ZH"},
	}
	if got, err := command.ParseFile([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, empty := range []string{"", "\n", " \t\n#", "# x"} {
		if got, err := command.ParseFile([]byte(empty)); err != nil || len(got) > 0 {
			t.Errorf("%q: %v, %v", empty, got, err)
		}
	}
	longest := "key = " + strings.Repeat("x", 4096-6)
	if got, err := command.ParseFile([]byte(longest)); err != nil || len(got) != 1 {
		t.Errorf("the longest line: %v", err)
	}
}

func TestParseFileRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = 1\ncontroller c:1":       `line 2: "controller c:1" is not KEY = VALUE: the = is missing`,
		"= 1":                         "line 1: the key before = is missing",
		"--controller = c:1":          `line 1: the key "--controller" is written without dashes: controller`,
		"interface =  # none":         "line 1: the value of interface is missing; to leave it at its default, remove",
		"interface =#wlan0":           "line 1: the value of interface is missing",
		"interface = \"wlan0\"":       "line 1: the value of interface is written without quotation marks",
		"interface = 'wlan0'":         "line 1: the value of interface is written without quotation marks",
		"a = 1\r\n":                   "line 1: the line ends in CR LF",
		"a = 1\n\r\n":                 "line 2: the line ends in CR LF",
		"a = 1\n\xff = 1":             "line 2: the line is not UTF-8",
		"a = 1\x00":                   "line 1: the line has the character U+0000",
		"# \x1b[2J":                   "line 1: the line has the character U+001B",
		"\ufeffa = 1":                 "line 1: the line has the character U+FEFF",
		"a = \u00a01":                 "line 1: the line has the character U+00A0",
		"a = " + "x\ry":               "line 1: the line has the character U+000D",
		strings.Repeat("#", 4097):     "line 1: the line has 4097 bytes, more than 4096",
		strings.Repeat("\n", 65537):   "the file has 65537 bytes, more than 65536",
		"a = 1\n" + "b" + "\n" + "c=": `line 2: "b" is not KEY = VALUE`,
	} {
		got, err := command.ParseFile([]byte(text))
		var line *command.LineError
		if got != nil || !errors.As(err, &line) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want %s", text, got, err, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, text := range []string{"a = 1 # x\n\nb=2", "a = 1\r\n", "a\x00", "= #", "\xff", "--a = '1'"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		settings, err := command.ParseFile(text)
		if err != nil {
			var line *command.LineError
			if settings != nil || !errors.As(err, &line) || line.Line > 1+strings.Count(string(text), "\n") {
				t.Fatalf("%v, %v", settings, err)
			}
			return
		}
		// What was read is what is written: in lines of its own it is read again. No line is left out but empty ones.
		var again strings.Builder
		number := 1
		for i := range settings {
			for ; number < settings[i].Line; number++ {
				again.WriteString("#\n")
			}
			fmt.Fprintf(&again, "%s = %s\n", settings[i].Key, settings[i].Value)
			number++
		}
		if got, err := command.ParseFile([]byte(again.String())); err != nil || !reflect.DeepEqual(got, settings) {
			t.Fatalf("%q was read as %v, and that as %v, %v", text, settings, got, err)
		}
		meant := 0
		for line := range strings.SplitSeq(string(text), "\n") {
			if line = strings.TrimLeft(line, " \t"); line != "" && line[0] != '#' {
				meant++
			}
		}
		if meant != len(settings) {
			t.Fatalf("%q has %d lines that are no comments, %d were read", text, meant, len(settings))
		}
	})
}

// configured is a program whose command `run` has keys, and whose command `status` uses one of them.
func configured(path string, got *[]string) *command.Program {
	type values struct {
		controllers []string
		directory   string
		interval    time.Duration
		quiet       bool
	}
	register := func(v *values, flags *flag.FlagSet) {
		command.Repeated(flags, &v.controllers, "controller", "a controller")
		flags.StringVar(&v.directory, "state-dir", "/run", "a directory")
		flags.DurationVar(&v.interval, "interval", time.Second, "an interval")
		flags.BoolVar(&v.quiet, "quiet", false, "say nothing")
	}
	config := func() *command.ConfigFile {
		return &command.ConfigFile{Path: path, Keys: func(flags *flag.FlagSet) { register(&values{}, flags) }}
	}
	var run, status values
	return &command.Program{Name: "p", Commands: []command.Command{
		{
			Name: "run", Flags: func(flags *flag.FlagSet) { register(&run, flags) }, Config: config(),
			Check: func() error { return command.CheckWithin("interval", run.interval, time.Second, time.Minute) },
			Run: func(context.Context, io.Writer, io.Writer) (int, error) {
				*got = slices.Concat(run.controllers,
					[]string{run.directory, run.interval.String(), strconv.FormatBool(run.quiet)})
				return command.ExitOK, nil
			},
		},
		{
			Name: "status", Config: config(),
			Flags: func(flags *flag.FlagSet) { flags.StringVar(&status.directory, "state-dir", "/run", "a directory") },
			Run: func(context.Context, io.Writer, io.Writer) (int, error) {
				*got = []string{status.directory}
				return command.ExitOK, nil
			},
		},
	}}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	const whole = "controller = c1:1\ncontroller = c2:1\nstate-dir = /data\ninterval = 2s\nquiet = true\n"
	tests := map[string]struct {
		content, arguments string
		want, err          string
	}{
		"everything": {whole, "run", "c1:1 c2:1 /data 2s true", ""},
		"flags win": {
			whole, "run --controller c3:1 --state-dir /x --interval 3s --quiet=false",
			"c3:1 /x 3s false", "",
		},
		"empty":             {"", "run", "/run 1s false", ""},
		"another command":   {whole, "status", "/data", ""},
		"and its flag":      {whole, "status --state-dir /x", "/x", ""},
		"unknown key":       {"a = 1\n", "run", "", `FILE: line 1: no such key "a"`},
		"a slip":            {"\ncontroler = 1\n", "run", "", `no such key "controler"; did you mean controller?`},
		"case and dashes":   {"State_Dir = 1\n", "run", "", `"State_Dir"; did you mean state-dir?`},
		"a key of its own":  {"config = x\n", "run", "", `no such key "config"`},
		"a bad value":       {"\n\ninterval = soon\n", "run", "", "FILE: line 3: interval = soon: parse error"},
		"not used, but bad": {"interval = soon\n", "status", "", "FILE: line 1: interval = soon: parse error"},
		"overridden, but bad": {
			"interval = soon\n", "run --interval 3s", "", "FILE: line 1: interval = soon: parse error",
		},
		"twice": {
			"interval = 2s\ninterval = 2s\n", "run", "", "FILE: line 2: interval is set a second time, after line 1",
		},
		"a syntax error":  {"interval\n", "run", "", `FILE: line 1: "interval" is not KEY = VALUE`},
		"outside":         {"#\ninterval = 1h\n", "run", "", "FILE: line 2: --interval 1h0m0s is not within 1s"},
		"outside by flag": {"interval = 2s\n", "run --interval 1h", "", "p run: --interval 1h0m0s is not within"},
		"no such file":    {"", "run --config /nowhere/x", "", "read the configuration: open /nowhere/x: no such file"},
		"a directory":     {"", "run --config /", "", "read the configuration: read /: is a directory"},
		"endless":         {"", "run --config /dev/zero", "", "/dev/zero: the file has 65537 bytes, more than 65536"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "airbound.conf")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var got []string
			var stderr strings.Builder
			code := configured(path, &got).Dispatch(t.Context(), strings.Fields(test.arguments), io.Discard, &stderr)
			if test.err != "" {
				want := strings.ReplaceAll(test.err, "FILE", path)
				if code != command.ExitUsage || got != nil || !strings.Contains(stderr.String(), want) {
					t.Errorf("code %d, %v, %q, want %q", code, got, stderr.String(), want)
				}
				return
			}
			if code != 0 || strings.Join(got, " ") != test.want {
				t.Errorf("code %d, %v, %s", code, got, &stderr)
			}
		})
	}
}

// A default that is not there is as an empty file; one that --config names must be there.
func TestADefaultThatDoesNotExist(t *testing.T) {
	t.Parallel()
	var got []string
	code := configured("/nowhere/airbound.conf", &got).Dispatch(t.Context(), []string{"run"}, io.Discard, io.Discard)
	if want := []string{"/run", "1s", "false"}; code != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d, %v", code, got)
	}
}
