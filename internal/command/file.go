// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ConfigFlag is the flag that names a configuration file.
const ConfigFlag = "config"

// ConfigFile is a configuration file whose keys are the names of flags.
type ConfigFile struct {
	// Path is the file of --config, or else the default; empty reads none. A default that does not exist is no error.
	Path string
	// Keys registers the flags whose names are keys of the file. Those that are flags of the command, too, are set by
	// the file unless the command line sets them; of the others, the value is checked and not used.
	Keys func(flags *flag.FlagSet)

	// In which line of the file a flag was set.
	lines map[string]int
}

// Flags registers --config.
func (c *ConfigFile) Flags(flags *flag.FlagSet) {
	flags.StringVar(&c.Path, ConfigFlag, c.Path, "`FILE` with lines KEY = VALUE; keys are the names of run's flags "+
		"without dashes, # begins a comment; flags of the command line win")
}

// Apply reads the file and sets flags, which have been parsed. Errors name the file and the line.
func (c *ConfigFile) Apply(flags *flag.FlagSet) error {
	if c.Path == "" {
		return nil
	}
	onCommandLine := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { onCommandLine[f.Name] = true })
	text, err := readFile(c.Path)
	if errors.Is(err, fs.ErrNotExist) && !onCommandLine[ConfigFlag] {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	settings, err := ParseFile(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	known := flag.NewFlagSet("", flag.ContinueOnError)
	c.Keys(known)
	c.lines = map[string]int{}
	for _, setting := range settings {
		if err := c.set(setting, known, flags, onCommandLine); err != nil {
			return fmt.Errorf("%s: %w", c.Path, &LineError{setting.Line, err.Error()})
		}
	}
	return nil
}

func (c *ConfigFile) set(
	setting Setting, known, flags *flag.FlagSet, onCommandLine map[string]bool,
) error {
	found := known.Lookup(setting.Key)
	if found == nil {
		return fmt.Errorf("no such key %q%s", setting.Key, didYouMean(setting.Key, known))
	}
	if first, before := c.lines[setting.Key]; before && !isRepeated(found) {
		return fmt.Errorf("%s is set a second time, after line %d", setting.Key, first)
	} else if !before {
		c.lines[setting.Key] = setting.Line
	}
	// The value of a flag that the command line sets is checked as well.
	err := found.Value.Set(setting.Value)
	if own := flags.Lookup(setting.Key); err == nil && own != nil && !onCommandLine[setting.Key] {
		err = own.Value.Set(setting.Value)
	}
	if err != nil {
		return fmt.Errorf("%s = %s: %w", setting.Key, setting.Value, err)
	}
	return nil
}

// readFile reads no more than a configuration file may have: --config may name anything.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, fileBytesMax+1))
	return text, errors.Join(err, file.Close())
}

// Explain adds the line of the file to an error of a command's check that begins with a flag of that line.
func (c *ConfigFile) Explain(err error, flags *flag.FlagSet) error {
	name, isFlag := strings.CutPrefix(err.Error(), "--")
	name, _, _ = strings.Cut(name, " ")
	line, inFile := c.lines[name]
	if !isFlag || !inFile {
		return err
	}
	onCommandLine := false
	flags.Visit(func(f *flag.Flag) { onCommandLine = onCommandLine || f.Name == name })
	if onCommandLine {
		return err
	}
	return fmt.Errorf("%s: line %d: %w", c.Path, line, err)
}

// didYouMean finds a key that differs in a letter, in case, or in _ and -.
func didYouMean(key string, known *flag.FlagSet) string {
	const differMax = 2
	best, least := "", differMax+1
	plain := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", "-") }
	known.VisitAll(func(f *flag.Flag) {
		if d := distance(plain(key), f.Name); d < least {
			best, least = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of letters to be inserted, removed or replaced (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// list is a flag that may be given several times.
type list struct{ values *[]string }

// Repeated registers a flag that may be given several times, and be a key of several lines of a configuration file.
func Repeated(flags *flag.FlagSet, values *[]string, name, usage string) {
	flags.Var(list{values}, name, usage)
}

// Set implements flag.Value.
func (l list) Set(value string) error {
	*l.values = append(*l.values, value)
	return nil
}

// String implements flag.Value; the zero value is called as well.
func (l list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, " ")
}

func isRepeated(f *flag.Flag) bool {
	_, is := f.Value.(list)
	return is
}
