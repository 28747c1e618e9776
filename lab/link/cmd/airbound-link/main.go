// SPDX-License-Identifier: Apache-2.0

// Command airbound-link connects the lab's guest to servers outside of it, by files in a directory that both see.
//
//	airbound-link far --directory DIR NAME=HOST:PORT ...     outside: makes connections to these
//	airbound-link near --directory DIR NAME=ADDRESS:PORT ... inside: listens there, and sends what it accepts to NAME
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/airbound/airbound/lab/link"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `usage: airbound-link far --directory DIR NAME=HOST:PORT ...
       airbound-link near --directory DIR NAME=ADDRESS:PORT ...
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, arguments []string, stderr io.Writer) int {
	end, err := parse(arguments, stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stderr, "airbound-link: %v\n%s", err, usage)
		}
		return exitUsage
	}
	if err := end(ctx, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintf(stderr, "airbound-link: %v\n", err)
		return exitFailed
	}
	return exitDone
}

type end func(ctx context.Context, log *slog.Logger) error

func parse(arguments []string, stderr io.Writer) (end, error) {
	if len(arguments) == 0 {
		return nil, errors.New("which end: far or near?")
	}
	flags := flag.NewFlagSet("airbound-link "+arguments[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	directory := flags.String("directory", "", "`DIR` that both ends see, empty at first")
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, err //nolint:wrapcheck // the flag package's own message
	}
	pairs, err := parsePairs(flags.Args())
	if err != nil {
		return nil, err
	}
	if *directory == "" {
		return nil, errors.New("--directory is needed")
	}
	switch arguments[0] {
	case "far":
		return func(ctx context.Context, log *slog.Logger) error { return far(ctx, *directory, pairs, log) }, nil
	case "near":
		return func(ctx context.Context, log *slog.Logger) error { return near(ctx, *directory, pairs, log) }, nil
	default:
		return nil, fmt.Errorf("%q is neither far nor near", arguments[0])
	}
}

// parsePairs reads NAME=ADDRESS:PORT.
func parsePairs(words []string) (map[string]string, error) {
	pairs := make(map[string]string, len(words))
	for _, word := range words {
		name, address, found := strings.Cut(word, "=")
		if _, _, err := net.SplitHostPort(address); !found || name == "" || err != nil {
			return nil, fmt.Errorf("%q is not NAME=ADDRESS:PORT", word)
		}
		if _, twice := pairs[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		pairs[name] = address
	}
	if len(pairs) == 0 {
		return nil, errors.New("no NAME=ADDRESS:PORT is given")
	}
	return pairs, nil
}

func far(ctx context.Context, directory string, targets link.Targets, log *slog.Logger) error {
	stream, err := link.OpenDirectory(ctx, directory, link.Far)
	if err != nil {
		return err //nolint:wrapcheck // it has all that is known
	}
	return link.Serve(ctx, stream, targets, log) //nolint:wrapcheck // as above
}

func near(ctx context.Context, directory string, addresses map[string]string, log *slog.Logger) error {
	listeners := make([]link.Listener, 0, len(addresses))
	for name, address := range addresses {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("listen for %s: %w", name, err)
		}
		listeners = append(listeners, link.Listener{Listener: listener, Target: name})
	}
	stream, err := link.OpenDirectory(ctx, directory, link.Near)
	if err != nil {
		return err //nolint:wrapcheck // it has all that is known
	}
	return link.Forward(ctx, stream, listeners, log) //nolint:wrapcheck // as above
}
