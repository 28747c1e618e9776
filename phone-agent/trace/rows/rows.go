// SPDX-License-Identifier: Apache-2.0

// Package rows writes records, and the gaps between them, as text, JSON or CSV. It is pure.
package rows

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Row is a record that can be written.
type Row interface {
	// Gap returns what the row stands for if records are missing here, and how many.
	Gap() (kind string, times uint64, is bool)
	// Text is a line for people, without its newline.
	Text() string
	// AppendCells appends the values of CSV, in the order of its columns. Of a gap they are not asked for.
	AppendCells(to []string) []string
}

// Writer takes records in the order of their time, and does not keep them. JSON is that of the Row's own type.
type Writer interface {
	Write(row Row) error
}

// NewText writes lines for people.
func NewText(to io.Writer) Writer { return textWriter{to} }

// NewJSON writes one JSON object a line.
func NewJSON(to io.Writer) Writer { return jsonWriter{json.NewEncoder(to)} }

// NewCSV writes a header and one record a line (RFC 4180, newlines without carriage return). The second column and the
// third are the kind of a gap and how many records are missing. The caller flushes the buffer.
func NewCSV(to *bufio.Writer, columns []string) (Writer, error) {
	writer := &csvWriter{csv.NewWriter(to), make([]string, len(columns))} // It uses the buffer as its own.
	return writer, writer.to.Write(columns)
}

type textWriter struct{ to io.Writer }

func (w textWriter) Write(row Row) error {
	text := row.Text
	if kind, times, is := row.Gap(); is {
		text = func() string { return fmt.Sprintf("--- missing here: %d %s", times, kind) }
	}
	_, err := io.WriteString(w.to, text()+"\n")
	return err
}

type jsonWriter struct{ to *json.Encoder }

// gap is the JSON of a gap.
type gap struct {
	Event string `json:"event"`
	Times uint64 `json:"times"`
}

func (w jsonWriter) Write(row Row) error {
	if kind, times, is := row.Gap(); is {
		return w.to.Encode(gap{kind, times})
	}
	return w.to.Encode(row)
}

type csvWriter struct {
	to    *csv.Writer
	cells []string
}

func (w *csvWriter) Write(row Row) error {
	if kind, times, is := row.Gap(); is {
		clear(w.cells)
		w.cells[1], w.cells[2] = kind, strconv.FormatUint(times, 10)
		return w.to.Write(w.cells)
	}
	w.cells = row.AppendCells(w.cells[:0])
	return w.to.Write(w.cells)
}
