// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"github.com/airbound/airbound/internal/controllerclient"
)

func TestACauseIsNewsOnce(t *testing.T) {
	var causes controllerclient.Causes
	level := func(format string, values ...any) slog.Level {
		return causes.Level(fmt.Errorf("receive from stream: %w", fmt.Errorf(format, values...)))
	}
	for port := range 5 {
		want := slog.LevelDebug
		if port == 0 {
			want = slog.LevelWarn
		}
		// The local port is another one each time, and two errors alternate.
		if got := level("write tcp 127.0.0.1:%d->192.0.2.1:50051: broken pipe", 40000+port); got != want {
			t.Errorf("attempt %d: %v", port, got)
		}
		if got := level("EOF"); got != want {
			t.Errorf("attempt %d, the other one: %v", port, got)
		}
	}
	causes.Forget()
	if level("EOF") != slog.LevelWarn {
		t.Error("not news after a stream that lasted")
	}
	for i := range 1000 {
		if causes.Level(errors.New(strconv.Itoa(i))) != slog.LevelWarn {
			t.Errorf("%d is no news", i)
		}
	}
}
