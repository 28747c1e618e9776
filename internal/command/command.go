// SPDX-License-Identifier: Apache-2.0

// Package command is the command line that both agents have: PROGRAM COMMAND [FLAGS], --help with examples for the
// program and for each command, --version, and exit codes.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// Exit codes. A program may have more.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
)

// Program is a program with its commands.
type Program struct {
	Name    string
	Version string
	// Summary is what the program does, one or more lines for its help.
	Summary string
	// Commands are in the order of the help.
	Commands []Command
	// Default is the command that a line beginning with a flag is for; empty if a command must be named.
	Default string
	// ExitCodes is the last line of the help.
	ExitCodes string
}

// Command is one command. Parsing fills variables that Flags, Check and Run share.
type Command struct {
	Name    string
	Summary string
	// Hidden leaves the command out of the program's help: the program itself runs it, nobody else.
	Hidden bool
	// Notes follow the flags in the help of the command; may be empty.
	Notes string
	// Examples are whole command lines.
	Examples []string
	// Flags registers the flags.
	Flags func(flags *flag.FlagSet)
	// Argument, unless nil, is where the one argument goes that the command has after its flags, and ArgumentName what
	// its help calls it.
	Argument     *string
	ArgumentName string
	// Config, unless nil, gives the command the flag --config.
	Config *ConfigFile
	// Check returns what is wrong with the flags' values; nil checks nothing.
	Check func() error
	// Run returns an exit code, and an error to print.
	Run func(ctx context.Context, stdout, stderr io.Writer) (int, error)
}

// Main runs the program with the process's arguments until it ends or is stopped by SIGTERM, SIGINT or SIGHUP, and
// exits.
func (p *Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	code := p.Dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Dispatch runs the command that the arguments name and returns the exit code.
func (p *Program) Dispatch(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	if len(arguments) == 0 {
		fmt.Fprint(stderr, p.help())
		return ExitUsage
	}
	name, rest := arguments[0], arguments[1:]
	switch name {
	case "--help", "-h", "-help", "help":
		fmt.Fprint(stdout, p.help())
		return ExitOK
	case "--version", "-version", "version":
		fmt.Fprintln(stdout, p.Name, p.Version)
		return ExitOK
	}
	if p.Default != "" && strings.HasPrefix(name, "-") {
		name, rest = p.Default, arguments
	}
	index := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == name })
	if index < 0 {
		fmt.Fprintf(stderr, "%s: no command %q; see %s --help\n", p.Name, name, p.Name)
		return ExitUsage
	}
	code, err := p.run(ctx, &p.Commands[index], rest, stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return ExitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s %s: %v\n", p.Name, name, err)
	}
	return code
}

func (p *Program) run(ctx context.Context, c *Command, arguments []string, stdout, stderr io.Writer) (int, error) {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // The flag package would print the usage after every error.
	c.Flags(flags)
	if c.Config != nil {
		c.Config.Flags(flags)
	}
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		p.commandHelp(c, flags, stdout)
		return ExitOK, err
	}
	if err == nil {
		err = c.takeArgument(flags)
	}
	if err != nil {
		return ExitUsage, fmt.Errorf("%w; see %s %s --help", err, p.Name, c.Name)
	}
	if c.Config != nil {
		if err := c.Config.Apply(flags); err != nil {
			return ExitUsage, err
		}
	}
	if c.Check != nil {
		if err := c.Check(); err != nil {
			if c.Config != nil {
				err = c.Config.Explain(err, flags)
			}
			return ExitUsage, err
		}
	}
	return c.Run(ctx, stdout, stderr)
}

func (c *Command) takeArgument(flags *flag.FlagSet) error {
	arguments := flags.Args()
	if c.Argument != nil {
		if len(arguments) == 0 {
			return fmt.Errorf("%s is missing", c.ArgumentName)
		}
		*c.Argument, arguments = arguments[0], arguments[1:]
	}
	if len(arguments) > 0 {
		return fmt.Errorf("unexpected argument %q", arguments[0])
	}
	return nil
}

func (p *Program) help() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nCommands:\n", p.Summary)
	width := 0
	shown := slices.DeleteFunc(slices.Clone(p.Commands), func(c Command) bool { return c.Hidden })
	for i := range shown {
		width = max(width, len(shown[i].Name))
	}
	for i := range shown {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, shown[i].Name, shown[i].Summary)
	}
	fmt.Fprint(&text, "\nExamples:\n")
	for i := range shown {
		for _, example := range shown[i].Examples {
			fmt.Fprintf(&text, "  %s\n", example)
		}
	}
	fmt.Fprintf(&text, "\nFlags of a command: %s COMMAND --help\n%s\n", p.Name, p.ExitCodes)
	return text.String()
}

func (p *Program) commandHelp(c *Command, flags *flag.FlagSet, stdout io.Writer) {
	usage := p.Name + " " + c.Name + " [FLAGS]"
	if c.Argument != nil {
		usage += " " + c.ArgumentName
	}
	fmt.Fprintf(stdout, "Usage: %s\n\n%s\n\nFlags:\n", usage, c.Summary)
	flags.SetOutput(stdout)
	flags.PrintDefaults()
	if c.Notes != "" {
		fmt.Fprintf(stdout, "\n%s\n", c.Notes)
	}
	fmt.Fprint(stdout, "\nExamples:\n")
	for _, example := range c.Examples {
		fmt.Fprintf(stdout, "  %s\n", example)
	}
}
