// SPDX-License-Identifier: Apache-2.0

// Package tracefstest has a fake kernel that keeps instances of tracing in a directory of regular files, with a FIFO
// for trace_pipe: it goes by what is written into them.
package tracefstest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/airbound/airbound/phone-agent/trace"
	"github.com/airbound/airbound/phone-agent/trace/ring/ringtest"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// Kernel is a fake tracefs below Path.
type Kernel struct {
	Path string
	// Processes that live, beside none.
	Living []int
	// If set, making an instance fails with it.
	MkdirError error
	// If set, an instance has no such file.
	Without string
	// If set, writes to this file of an instance fail.
	Full string
	// Whether an instance's trace_pipe can be opened, but not read.
	Unreadable bool
	// What another tracer has set for the kernel's own buffer: a new instance takes it over.
	Options map[string]string
	// How many records an instance's stats report as dropped.
	Dropped uint64
	// Events beside the monitor's, as SYSTEM/NAME; New has made none. AddEvent adds one.
	others []string

	// Things happen while a recording ends elsewhere.
	mutex   sync.Mutex
	writers map[string]int
}

// New makes a tracefs with the monitor's events and no instance.
func New(path string) (*Kernel, error) {
	var err error
	for _, event := range trace.EventNames {
		err = errors.Join(err, os.MkdirAll(filepath.Join(path, "events", trace.EventSystem, event), 0o700))
	}
	err = errors.Join(err, os.Mkdir(filepath.Join(path, "instances"), 0o700))
	return &Kernel{Path: path, writers: map[string]int{}}, err
}

// Processors is how many an instance has.
const Processors = 2

// AddEvent adds an event with its format.
func (k *Kernel) AddEvent(system, name, format string) error {
	directory := filepath.Join(k.Path, "events", system, name)
	k.others = append(k.others, filepath.Join(system, name))
	return errors.Join(os.MkdirAll(directory, 0o700),
		os.WriteFile(filepath.Join(k.Path, "events", "header_page"), []byte(ringtest.HeaderPage), 0o600),
		os.WriteFile(filepath.Join(directory, "format"), []byte(format), 0o600))
}

// WritePage puts a page into the buffer of an instance's processor.
func (k *Kernel) WritePage(instance string, processor int, page []byte) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.writeTo(filepath.Join(k.Path, "instances", instance), rawPipe(processor), page)
}

func rawPipe(processor int) string { return fmt.Sprintf("per_cpu/cpu%d/trace_pipe_raw", processor) }

// Real gives the calls that a recording makes.
func (k *Kernel) Real() tracefs.Kernel {
	return tracefs.Kernel{Mkdir: k.mkdir, Rmdir: k.rmdir, Alive: func(pid int) bool {
		return slices.Contains(k.Living, pid)
	}}
}

// mkdir fills an instance as the kernel does: it records already, but no event is enabled.
func (k *Kernel) mkdir(path string) error {
	if k.MkdirError != nil {
		return k.MkdirError
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	files := map[string]string{
		"tracing_on":     "1\n",
		"trace_clock":    "[local] global counter uptime perf mono\n",
		"buffer_size_kb": "1408\n",
	}
	for _, event := range append(slices.Clip(k.others), monitorEvents()...) {
		directory := filepath.Join("events", event)
		if err := os.MkdirAll(filepath.Join(path, directory), 0o700); err != nil {
			return err
		}
		files[filepath.Join(directory, "enable")] = "0\n"
		files[filepath.Join(directory, "filter")] = "none\n"
	}
	maps.Copy(files, k.optionFiles())
	files["per_cpu/cpu0/stats"] = fmt.Sprintf(
		"entries: 0\noverrun: 7\ncommit overrun: 0\nbytes: 0\ndropped events: %d\nread events: 0\n", k.Dropped)
	delete(files, k.Without)
	delete(files, k.Full)
	for _, directory := range []string{"options", "per_cpu/cpu0", "per_cpu/cpu1"} {
		if err := os.MkdirAll(filepath.Join(path, directory), 0o700); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if k.Full != "" {
		if err := os.Symlink("/dev/full", filepath.Join(path, k.Full)); err != nil {
			return err
		}
	}
	for processor := range Processors {
		if k.Without != "trace_pipe_raw" {
			if err := syscall.Mkfifo(filepath.Join(path, rawPipe(processor)), 0o600); err != nil {
				return err
			}
		}
	}
	pipe := filepath.Join(path, "trace_pipe")
	switch {
	case k.Without == "trace_pipe":
		return nil
	case k.Unreadable:
		return os.Mkdir(pipe, 0o700)
	default:
		return syscall.Mkfifo(pipe, 0o600)
	}
}

// optionFiles are those of Linux 6.1, which has no "fields".
func (k *Kernel) optionFiles() map[string]string {
	files := map[string]string{}
	for _, name := range []string{
		"raw", "hex", "bin", "verbose", "latency-format", "block", "stacktrace", "userstacktrace",
	} {
		files["options/"+name] = "0\n"
	}
	files["options/overwrite"], files["options/context-info"] = "1\n", "1\n"
	for name, value := range k.Options {
		files["options/"+name] = value + "\n"
	}
	return files
}

// rmdir refuses an instance of which a pipe is open.
func (k *Kernel) rmdir(path string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, name := range []string{"trace_pipe", rawPipe(0), rawPipe(1)} {
		pipe := filepath.Join(path, name)
		if writer, open := k.writers[pipe]; open {
			delete(k.writers, pipe)
			if err := syscall.Close(writer); err != nil {
				return err
			}
		}
		switch writer, err := openForWriting(pipe); {
		case err == nil:
			k.writers[pipe] = writer
			return &os.PathError{Op: "rmdir", Path: path, Err: syscall.EBUSY}
		case !errors.Is(err, syscall.ENXIO) && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.EISDIR):
			return err
		}
	}
	return os.RemoveAll(path)
}

func monitorEvents() []string {
	names := make([]string, 0, len(trace.EventNames))
	for _, event := range trace.EventNames {
		names = append(names, filepath.Join(trace.EventSystem, event))
	}
	return names
}

// Instances are the names of those that exist.
func (k *Kernel) Instances() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(k.Path, "instances"))
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// Happen lets an event of tcp_monitor happen: every instance that records, has it enabled and lets it through its
// filter gets the line. The payload is what follows "tcp_monitor_window: ".
func (k *Kernel) Happen(event, payload string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	names, err := k.Instances()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(k.Path, "instances", name)
		directory := filepath.Join(path, "events", trace.EventSystem, event)
		passes, err := matches(read(filepath.Join(directory, "filter")), payload)
		if err != nil {
			return err
		}
		if read(filepath.Join(path, "tracing_on")) != "1" || read(filepath.Join(directory, "enable")) != "1" ||
			!passes {
			continue
		}
		if read(filepath.Join(path, "trace_clock")) != "mono" {
			return fmt.Errorf("%s has another clock than mono", name)
		}
		prefix := "          <idle>-0       [000] ..s1.    12.345678: "
		if read(filepath.Join(path, "options/context-info")) != "1" {
			prefix = ""
		}
		if err := k.print(name, fmt.Sprintf("%s%s: %s\n", prefix, event, payload)); err != nil {
			return err
		}
	}
	return nil
}

// print puts text into an instance's trace_pipe.
func (k *Kernel) print(instance, text string) error {
	return k.writeTo(filepath.Join(k.Path, "instances", instance), "trace_pipe", []byte(text))
}

// writeTo writes to a pipe of an instance that somebody reads.
func (k *Kernel) writeTo(path, name string, content []byte) error {
	pipe := filepath.Join(path, name)
	writer, open := k.writers[pipe]
	if !open {
		var err error
		writer, err = openForWriting(pipe)
		if err != nil {
			return err
		}
		k.writers[pipe] = writer
	}
	n, err := syscall.Write(writer, content)
	if err == nil && n != len(content) {
		err = errors.New("the FIFO is full")
	}
	return err
}

// openForWriting opens a FIFO that somebody has open for reading.
func openForWriting(path string) (int, error) {
	return syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}

// HangUp closes the writing end of an instance's trace_pipe.
func (k *Kernel) HangUp(instance string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	pipe := filepath.Join(k.Path, "instances", instance, "trace_pipe")
	writer, open := k.writers[pipe]
	if !open {
		return fmt.Errorf("nothing was ever printed to %s", instance)
	}
	delete(k.writers, pipe)
	return syscall.Close(writer)
}

func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(text), "\n")
}

// matches evaluates the part of the kernel's filters that are in use: comparisons of fields of 32 bits, &&, || and
// parentheses, for which Go has the same syntax.
func matches(filter, payload string) (bool, error) {
	if filter == "none" {
		return true, nil
	}
	expression, err := parser.ParseExpr(filter)
	if err != nil {
		return false, fmt.Errorf("filter %q: %w", filter, err)
	}
	values := map[string]uint64{}
	for field := range strings.FieldsSeq(payload) {
		name, text, _ := strings.Cut(field, "=")
		if value, err := strconv.ParseUint(text, 10, 32); err == nil {
			values[name] = value
		}
	}
	passes, err := evaluate(expression, values)
	if err != nil {
		err = fmt.Errorf("filter %q: %w", filter, err)
	}
	return passes, err
}

func evaluate(expression ast.Expr, values map[string]uint64) (bool, error) {
	if inner, is := expression.(*ast.ParenExpr); is {
		return evaluate(inner.X, values)
	}
	binary, is := expression.(*ast.BinaryExpr)
	if !is {
		return false, syscall.EINVAL
	}
	if binary.Op == token.LAND || binary.Op == token.LOR {
		left, leftErr := evaluate(binary.X, values)
		right, rightErr := evaluate(binary.Y, values)
		if err := errors.Join(leftErr, rightErr); err != nil {
			return false, err
		}
		return (left && right) || (binary.Op == token.LOR && (left || right)), nil
	}
	field, isField := binary.X.(*ast.Ident)
	number, isNumber := binary.Y.(*ast.BasicLit)
	if !isField || !isNumber || !slices.Contains(filterFields, field.Name) {
		return false, syscall.EINVAL
	}
	limit, err := strconv.ParseUint(number.Value, 10, 32)
	if err != nil {
		return false, err
	}
	value, known := values[field.Name]
	switch binary.Op {
	case token.EQL:
		return known && value == limit, nil
	case token.LEQ:
		return known && value <= limit, nil
	default:
		return false, syscall.EINVAL
	}
}

var filterFields = []string{"netns", "uid", "cwnd_segs", "ssthresh_segs", "unacked_bytes"}
