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
// radio, hostapd raises the parameter set count of the BSS whose socket it is, and renews the beacons of all BSSs of
// the radio. No reload, no UPDATE_BEACON: nobody is disassociated. A station takes over what a beacon announces if the
// count is another one than it saw last (ieee80211_sta_wmm_params of net/mac80211/mlme.c), so it must be another one
// for every BSS of the radio, and the count has four bits:
//
//   - Each SET raises the count of its own BSS by one. If the values have changed by it, making the beacons raises that
//     of the radio's first BSS by another one (wmm_calc_regulatory_limit of src/ap/wmm.c).
//   - So that several announcements between two beacons do not raise it by 16 either, each raises it by the same odd
//     number, but for multiples of 16: it is padded with repetitions of its last SET. Regulatory limits, or a hostapd
//     that had other values than expected, make that a few more or less, which is never 16 of an announcement of best
//     effort alone; of more queues, the next repetition heals it.
//   - The other BSSs of the radio are sent as many SETs that change nothing.
//
// hostapd refuses a value out of its range, and everything while a CWmin is above its CWmax; stations ignore such an
// announcement. Which of the two is set first depends on what is announced before.
//
// Of video and voice it is also announced whether a station must be admitted (wmm_ac_vi_acm): before all else if it
// must, and after all else if not, so that no beacon has more for stations that are not admitted than those before and
// after it. hostapd does not use it for what it sends itself, nor does mac80211 at an access point.

const (
	// announceTimeout is for all of an announcement: milliseconds, of a hostapd that does not hang.
	announceTimeout = time.Second
	// raisedBy is how much an announcement raises the count, or a multiple of 16 more, so that it is more than its SETs
	// and the changes by them; it is as far from 0 and 16 as can be.
	raisedBy  = 9
	countSize = 16
)

// ErrRefused means that hostapd does not take a value, or knows no SET.
var ErrRefused = errors.New("hostapd refuses it")

// IsGone reports whether an error only means that no hostapd is there.
func IsGone(err error) bool { return isGone(err) || errors.Is(err, fs.ErrNotExist) }

var announcedNames = map[edca.Category]string{
	edca.Background: "bk", edca.BestEffort: "be", edca.Video: "vi", edca.Voice: "vo",
}

// Announce sets what the access point announces to its stations, of some queues, by the control socket at path, which
// must serve the network interface; before is what it announces so far. With an error, isChanged is whether hostapd may
// have taken a part. It has a time-out of its own and no context: own values are announced when all else has ended.
func Announce(
	path, networkInterface string, before edca.Values, queues []edca.Queue, malformed func(error),
) (isChanged bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
	defer cancel()
	clients := map[string]*Client{}
	defer func() {
		for _, client := range clients {
			err = errors.Join(err, client.Close())
		}
		if err != nil {
			err = fmt.Errorf("announce EDCA parameters of %s: %w", networkInterface, err)
		}
	}()
	client, err := Dial(path, malformed)
	if err != nil {
		return false, err
	}
	clients[networkInterface] = client
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
		if clients[other], err = Dial(filepath.Join(filepath.Dir(path), other), malformed); err != nil {
			delete(clients, other)
			return false, fmt.Errorf("%s of the same radio: %w", other, err)
		}
	}
	sets, changes := announcement(before, queues)
	send := func(name string, commands []string) error {
		raise := raisedBy
		for raise < 2*len(sets) {
			raise += countSize
		}
		if name == status.Interfaces[0] {
			raise -= changes
		}
		for n := range max(raise, len(commands)) {
			command := sets[len(sets)-1]
			if n < len(commands) {
				command = commands[n]
			}
			if err := clients[name].set(ctx, command); err != nil {
				isChanged = isChanged || !errors.Is(err, ErrRefused)
				return err
			}
			isChanged = true
		}
		return nil
	}
	if err := send(networkInterface, sets); err != nil {
		return isChanged, err
	}
	for _, other := range status.Interfaces {
		if other == networkInterface {
			continue
		}
		if err := send(other, nil); err != nil {
			return true, err
		}
	}
	return true, nil
}

// announcement is the SETs of some queues, at least one, and how many of them change something.
func announcement(before edca.Values, queues []edca.Queue) (commands []string, changes int) {
	for _, queue := range queues {
		was := before[queue.Category]
		set := func(field string, value, was int) {
			name := announcedNames[queue.Category]
			commands = append(commands, fmt.Sprintf("SET wmm_ac_%s_%s %d", name, field, value))
			if value != was {
				changes++
			}
		}
		// A window's exponent: 15 slots are 4.
		setCWMin := func() { set("cwmin", bits.Len16(queue.CWMin), bits.Len16(was.CWMin)) }
		setCWMax := func() { set("cwmax", bits.Len16(queue.CWMax), bits.Len16(was.CWMax)) }
		setAdmission := func() { set("acm", numberOf(queue.Admission), numberOf(was.Admission)) }
		hasAdmission := queue.Category == edca.Video || queue.Category == edca.Voice
		if hasAdmission && queue.Admission {
			setAdmission()
		}
		set("aifs", int(queue.AIFSN), int(was.AIFSN))
		set("txop_limit", int(queue.TXOPLimit), int(was.TXOPLimit))
		if queue.CWMax >= was.CWMin {
			setCWMax()
			setCWMin()
		} else {
			setCWMin()
			setCWMax()
		}
		if hasAdmission && !queue.Admission {
			setAdmission()
		}
	}
	return commands, changes
}

func numberOf(flag bool) int {
	if flag {
		return 1
	}
	return 0
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
