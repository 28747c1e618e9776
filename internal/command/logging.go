// SPDX-License-Identifier: Apache-2.0

package command

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/airbound/airbound/internal/logdrop"
)

const (
	// logLinesMax is how many lines wait for a slow reader of the log.
	logLinesMax = 256
	// logCloseTimeout is how long the end of a program waits for that reader.
	logCloseTimeout = time.Second
)

// Logging is the log of a command that runs for long: its flags, and the log on standard error.
type Logging struct {
	level  slog.Level
	format string
}

// Flags registers --log-level and --log-format.
func (l *Logging) Flags(flags *flag.FlagSet) {
	flags.TextVar(&l.level, "log-level", slog.LevelInfo, "lowest `LEVEL` that is logged: debug, info, warn or error")
	flags.StringVar(&l.format, "log-format", "text", "`FORMAT` of the log on standard error: text or json")
}

// Check returns what is wrong with the flags' values.
func (l *Logging) Check() error {
	if l.format != "text" && l.format != "json" {
		return fmt.Errorf("--log-format %q is neither text nor json", l.format)
	}
	return nil
}

// Open returns a log that never blocks and that survives its reader, and a function that ends it. SIGPIPE is ignored
// from now on: without that, a write to a standard error that nobody reads any more would end the process.
func (l *Logging) Open(stderr io.Writer) (logger *slog.Logger, end func()) {
	signal.Ignore(syscall.SIGPIPE)
	writer := logdrop.New(stderr, logLinesMax)
	return l.logger(writer), func() { writer.Close(logCloseTimeout) }
}

func (l *Logging) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.level}
	if l.format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
