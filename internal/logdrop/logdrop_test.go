// SPDX-License-Identifier: Apache-2.0

package logdrop_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/logdrop"
)

const timeout = 30 * time.Second

func TestLinesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	writer := logdrop.New(&text, 100)
	var want strings.Builder
	buffer := make([]byte, 0, 16)
	for i := range 50 {
		buffer = fmt.Appendf(buffer[:0], "line %d\n", i) // loggers reuse theirs
		if n, err := writer.Write(buffer); n != len(buffer) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		want.Write(buffer)
	}
	writer.Close(timeout)
	if text.String() != want.String() {
		t.Errorf("%q", text.String())
	}
	if n, err := writer.Write([]byte("late\n")); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	writer.Close(timeout)
}

func TestAReaderThatIsStuckBlocksNobodyAndLearnsHowManyLinesWereDropped(t *testing.T) {
	t.Parallel()
	reader, to := io.Pipe()
	writer := logdrop.New(to, 3)
	const lines = 100
	for range lines {
		if _, err := writer.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	writer.Close(time.Millisecond) // does not wait for ever either
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader)
		read <- string(text)
	}()
	writer.Close(timeout)
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	text := <-read
	kept := strings.Count(text, "line\n")
	if kept < 3 || kept > 4 ||
		!strings.Contains(text, fmt.Sprintf("dropped, because nobody read them: %d\n", lines-kept)) {
		t.Errorf("%q", text)
	}
}
