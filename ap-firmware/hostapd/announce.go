// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/airbound/airbound/ap-firmware/edca"
)

// What a BSS announces to its stations is wmm_ac_* of hostapd's configuration. `SET wmm_ac_be_aifs 5` on the control
// socket changes it while hostapd runs (hostapd_ctrl_iface_set of hostapd/ctrl_iface.c; 2.10): the value belongs to the
// radio, hostapd raises the parameter set count of the BSS whose socket it is, and renews the beacons of all BSSs of the
// radio. No reload, no UPDATE_BEACON: nobody is disassociated. A station takes over what a beacon announces if the count
// is another one than it saw last (ieee80211_sta_wmm_params of net/mac80211/mlme.c), so it must be another one for every
// BSS of the radio, and the count has four bits:
//
//   - Each SET raises the count of its own BSS by one. If the values have changed by it, making the first beacon raises
//     that of its BSS by another one (wmm_calc_regulatory_limit of src/ap/wmm.c).
//   - So n SETs that change at most m values raise a count by n to n + m. Neither 16 nor 32 may be among these, or the
//     count may be what it was: announcements are padded with repetitions of the last SET.
//   - The other BSSs of the radio are sent as many SETs that change nothing.
//
// hostapd refuses a value out of its range, and does not check that CWmin is at most CWmax; stations do, and ignore
// such an announcement. CWmax is opened first and set last, so that no beacon has one.

const (
	// announceTimeout is for all of an announcement: milliseconds, of a hostapd that does not hang.
	announceTimeout = time.Second
	// countsTotal is how many parameter set counts there are.
	countsTotal = 16
	// setsOfQueue is how many SETs one queue takes.
	setsOfQueue = 5
)

// ErrRefused means that hostapd does not take a value, or knows no SET.
var ErrRefused = errors.New("hostapd refuses it")

// IsGone reports whether an error only means that no hostapd is there.
func IsGone(err error) bool { return isGone(err) || errors.Is(err, fs.ErrNotExist) }

var announcedNames = map[edca.Category]string{
	edca.Background: "bk", edca.BestEffort: "be", edca.Video: "vi", edca.Voice: "vo",
}

// Announce sets what the access point announces to its stations, of some queues, by the control socket at path, which
// must serve the network interface. With an error, isChanged is whether hostapd may have taken a part.
func Announce(
	ctx context.Context, path, networkInterface string, queues []edca.Queue, malformed func(error),
) (isChanged bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	var clients []*Client
	defer func() {
		for _, client := range clients {
			err = errors.Join(err, client.Close())
		}
	}()
	defer func() {
		if err != nil {
			err = fmt.Errorf("announce EDCA parameters of %s: %w", networkInterface, err)
		}
	}()
	client, err := Dial(path, malformed)
	if err != nil {
		return false, err
	}
	clients = append(clients, client)
	status, err := client.Status(ctx)
	if err != nil {
		return false, err
	}
	if !slices.Contains(status.Interfaces, networkInterface) {
		return false, fmt.Errorf("socket serves %q, not %s", status.Interfaces, networkInterface)
	}
	// All of them are found before anything is set.
	for _, other := range status.Interfaces {
		if other == networkInterface {
			continue
		}
		if client, err = Dial(filepath.Join(filepath.Dir(path), other), malformed); err != nil {
			return false, fmt.Errorf("%s of the same radio: %w", other, err)
		}
		clients = append(clients, client)
	}
	return announce(ctx, clients, announcement(queues))
}

// announce sends an announcement on the first connection, and what raises the parameter set count on the others.
func announce(ctx context.Context, clients []*Client, commands []string) (isChanged bool, err error) {
	for i, client := range clients {
		for _, command := range commands {
			if i > 0 {
				command = commands[len(commands)-1]
			}
			if err := client.set(ctx, command); err != nil {
				return isChanged || !errors.Is(err, ErrRefused), err
			}
			isChanged = true
		}
	}
	return isChanged, nil
}

// announcement is the SETs of some queues, at least one, padded.
func announcement(queues []edca.Queue) []string {
	var commands []string
	for _, queue := range queues {
		set := func(field string, value int) {
			commands = append(commands, fmt.Sprintf("SET wmm_ac_%s_%s %d", announcedNames[queue.Category], field, value))
		}
		set("cwmax", cwExponentMost)
		set("aifs", int(queue.AIFSN))
		set("txop_limit", int(queue.TXOPLimit))
		set("cwmin", bits.Len16(queue.CWMin)) // The window's exponent: 15 slots are 4.
		set("cwmax", bits.Len16(queue.CWMax))
	}
	// Only best effort and background are ever set; of more queues no number is safe.
	changes := min(len(queues)*setsOfQueue, countsTotal-2) //nolint:mnd // a window of 15 counts without a multiple
	for n := len(commands); n/countsTotal != (n+changes)/countsTotal || n%countsTotal == 0; n++ {
		commands = append(commands, commands[len(commands)-1])
	}
	return commands
}

func (c *Client) set(ctx context.Context, command string) error {
	reply, err := c.command(ctx, command)
	if err != nil {
		return err
	}
	switch got := strings.TrimRight(string(reply), "\n"); got {
	case "OK":
		return nil
	case "FAIL", "UNKNOWN COMMAND":
		return fmt.Errorf("%s: %w", command, ErrRefused)
	default:
		return fmt.Errorf("hostapd answered %s with %q: %w", command, excerpt(got), ErrMalformed)
	}
}
