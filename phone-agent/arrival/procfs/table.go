// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// ends are the addresses and ports of a connection, as the kernel writes them.
type ends struct{ local, remote string }

// timer is the retransmission timer of a connection that waits for it.
type timer struct {
	// How often it has expired since the last acknowledgment.
	retransmits uint64
	// What is left, and what it was set to, in the kernel's hundredths of a second.
	remaining, rto uint64
}

// The columns of /proc/net/tcp that are read (Documentation/networking/proc_net_tcp.rst).
const (
	localColumn, remoteColumn, stateColumn = 1, 2, 3
	timerColumn, retransmitsColumn         = 5, 6
	rtoColumn                              = 12
	columnsMin                             = rtoColumn + 1
)

// Whether connections in a state (include/net/tcp_states.h) can wait for a retransmission. The lines of others, such as
// TIME_WAIT, have fewer columns.
var canWait = map[string]bool{
	"01": true, // established
	"02": true, // SYN_SENT
	"04": true, // FIN_WAIT1
	"08": true, // CLOSE_WAIT
	"09": true, // LAST_ACK
	"0B": true, // CLOSING
}

// retransmitTimer is the kind of timer that is running.
const retransmitTimer = "01"

// parse adds the connections of a table that wait for their retransmission timers to found.
func parse(table []byte, found map[ends]timer) error {
	return eachConnection(table, func(columns []string) error {
		if !canWait[columns[stateColumn]] {
			return nil
		}
		if len(columns) < columnsMin {
			return fmt.Errorf("it has %d columns, not %d", len(columns), columnsMin)
		}
		kind, remaining, _ := strings.Cut(columns[timerColumn], ":")
		if kind != retransmitTimer {
			return nil
		}
		var is timer
		var err error
		for _, number := range []struct {
			to   *uint64
			text string
			base int
		}{
			{&is.retransmits, columns[retransmitsColumn], 16},
			{&is.remaining, remaining, 16},
			{&is.rto, columns[rtoColumn], 10},
		} {
			if *number.to, err = strconv.ParseUint(number.text, number.base, 64); err != nil {
				return fmt.Errorf("%q is not a number", number.text)
			}
		}
		if is.retransmits > 0 {
			found[ends{columns[localColumn], columns[remoteColumn]}] = is
		}
		return nil
	})
}

// eachConnection calls take with the columns of each line, the header's apart. Its error is about that line.
func eachConnection(table []byte, take func(columns []string) error) error {
	header := true
	for line := range bytes.Lines(table) {
		if header {
			header = false
			continue
		}
		columns := strings.Fields(string(line))
		if len(columns) <= stateColumn {
			return fmt.Errorf("%.64q is not a line of the kernel's connections", line)
		}
		if err := take(columns); err != nil {
			return fmt.Errorf("%.64q: %w", line, err)
		}
	}
	return nil
}
