// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/airbound/airbound/ap-firmware/edca"
)

// Settings is what hostapd's configuration says about the EDCA parameters of one BSS.
type Settings struct {
	// Own are those of the access point's own queues.
	Own edca.Values
	// Stations are those that the stations use.
	Stations edca.Values
	// WMM is whether the BSS announces Stations.
	WMM bool
}

// defaultOwn are hostapd's tx_queue_data3 to tx_queue_data0 (hostapd_config_defaults of src/ap/ap_config.c). They are
// not quite those of 802.11.
var defaultOwn = edca.Values{
	edca.Background: {AIFSN: 7, CWMin: 15, CWMax: 1023},
	edca.BestEffort: {AIFSN: 3, CWMin: 15, CWMax: 63},
	edca.Video:      {AIFSN: 1, CWMin: 7, CWMax: 15, TXOPLimit: 94},
	edca.Voice:      {AIFSN: 1, CWMin: 3, CWMax: 7, TXOPLimit: 47},
}

// defaultAnnounced are hostapd's wmm_ac_bk to wmm_ac_vo, from the same place. They are also mac80211's parameters of an
// interface that hostapd sets none of (ieee80211_set_wmm_default of net/mac80211/util.c).
var defaultAnnounced = edca.Values{
	edca.Background: {AIFSN: 7, CWMin: 15, CWMax: 1023},
	edca.BestEffort: {AIFSN: 3, CWMin: 15, CWMax: 1023},
	edca.Video:      {AIFSN: 2, CWMin: 7, CWMax: 15, TXOPLimit: 94},
	edca.Voice:      {AIFSN: 2, CWMin: 3, CWMax: 7, TXOPLimit: 47},
}

// dcf is what stations use without WMM.
var dcf = edca.Parameters{AIFSN: 2, CWMin: 15, CWMax: 1023}

// DefaultSettings are those of a hostapd whose configuration says nothing.
func DefaultSettings(wmm bool) Settings { return settings(defaultOwn, defaultAnnounced, wmm) }

func settings(own, announced edca.Values, wmm bool) Settings {
	if !wmm {
		announced = edca.Values{dcf, dcf, dcf, dcf}
	}
	return Settings{Own: own, Stations: announced, WMM: wmm}
}

// config is what one file says of one radio and its BSSs.
type config struct {
	own, announced edca.Values
	// Whether 802.11n or a later one is in use, which is hostapd's default of wmm_enabled.
	isHT bool
	bsss []bss
}

type bss struct {
	interfaceName string
	wmm           *bool
}

// ParseConfig parses hostapd's configuration file as hostapd does: tx_queue_* and wmm_ac_* belong to the radio,
// wmm_enabled to the BSS. hostapd applies tx_queue_* to the first BSS alone; the others have mac80211's defaults. What
// is refused leaves its default; every error names its line. Lines about other things are not looked at.
func ParseConfig(text []byte, interfaceName string) (Settings, []error) {
	c := config{own: defaultOwn, announced: defaultAnnounced, bsss: make([]bss, 1)}
	var refused []error
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if err := c.parseLine(strings.TrimRight(line, "\r\n")); err != nil {
			refused = append(refused, fmt.Errorf("line %d: %w: %w", number, ErrMalformed, err))
		}
	}
	refused = append(refused, checkWindows("tx_queue", &c.own, defaultOwn)...)
	refused = append(refused, checkWindows("wmm_ac", &c.announced, defaultAnnounced)...)
	for i, each := range c.bsss {
		if each.interfaceName != interfaceName {
			continue
		}
		wmm := c.isHT
		if each.wmm != nil {
			wmm = *each.wmm
		}
		own := c.own
		if i > 0 {
			own = defaultAnnounced
		}
		return settings(own, c.announced, wmm), refused
	}
	err := fmt.Errorf("%w: no interface=%s or bss=%s", ErrMalformed, excerpt(interfaceName), excerpt(interfaceName))
	return settings(c.own, c.announced, c.isHT), append(refused, err)
}

// names reports whether a configuration is one with a BSS of the interface.
func names(text []byte, interfaceName string) bool {
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if (key == "interface" || key == "bss") && value == interfaceName {
			return true
		}
	}
	return false
}

// checkWindows replaces windows that the kernel would refuse.
func checkWindows(name string, values *edca.Values, defaults edca.Values) []error {
	var refused []error
	for i := range values {
		if value := &values[i]; value.CWMin > value.CWMax {
			refused = append(refused, fmt.Errorf("%w: %s: cwmin %d of %s is above cwmax %d", ErrMalformed, name,
				value.CWMin, edca.Category(i), value.CWMax))
			value.CWMin, value.CWMax = defaults[i].CWMin, defaults[i].CWMax
		}
	}
	return refused
}

func (c *config) parseLine(line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	key, value, found := strings.Cut(line, "=")
	if !found {
		return fmt.Errorf("%q has no '='", excerpt(line))
	}
	current := &c.bsss[len(c.bsss)-1]
	switch key {
	case "interface":
		c.bsss[0].interfaceName = value
	case "bss":
		c.bsss = append(c.bsss, bss{interfaceName: value})
	case "wmm_enabled", "wme_enabled":
		enabled, err := parseNumber(key, value, 0, 1)
		if err != nil {
			return err
		}
		current.wmm = new(enabled == 1)
	case "ieee80211n", "ieee80211ax", "ieee80211be":
		enabled, err := parseNumber(key, value, 0, 1)
		if err != nil {
			return err
		}
		c.isHT = c.isHT || enabled == 1
	default:
		return c.parseParameter(key, value)
	}
	return nil
}

// ownPrefixes are hostapd's names of the queues.
var ownPrefixes = map[string]edca.Category{
	"tx_queue_data0_": edca.Voice, "tx_queue_data1_": edca.Video, "tx_queue_data2_": edca.BestEffort,
	"tx_queue_data3_": edca.Background,
}

var announcedPrefixes = map[string]edca.Category{
	"wmm_ac_vo_": edca.Voice, "wmm_ac_vi_": edca.Video, "wmm_ac_be_": edca.BestEffort, "wmm_ac_bk_": edca.Background,
	"wme_ac_vo_": edca.Voice, "wme_ac_vi_": edca.Video, "wme_ac_be_": edca.BestEffort, "wme_ac_bk_": edca.Background,
}

func (c *config) parseParameter(key, value string) error {
	end := strings.LastIndexByte(key, '_') + 1
	prefix, field := key[:end], key[end:]
	if before, isTXOP := strings.CutSuffix(prefix, "txop_"); isTXOP { // wmm_ac_be_txop_limit
		prefix, field = before, "txop_"+field
	}
	if category, ok := ownPrefixes[prefix]; ok {
		return parseOwn(&c.own[category], key, field, value)
	}
	if category, ok := announcedPrefixes[prefix]; ok {
		return parseAnnounced(&c.announced[category], key, field, value)
	}
	return nil
}

const (
	maxUint8  = 1<<8 - 1
	maxUint16 = 1<<16 - 1
	// cwMost is hostapd's largest contention window, 2^15 - 1.
	cwMost         = 1<<15 - 1
	cwExponentMost = 15
)

// parseOwn parses tx_queue_data2_cwmin=15: windows are in slots, the burst is in milliseconds with one decimal.
func parseOwn(into *edca.Parameters, key, field, value string) error {
	switch field {
	case "aifs":
		n, err := parseNumber(key, value, 0, maxUint8)
		if err == nil {
			into.AIFSN = uint8(n) //nolint:gosec // within its limits
		}
		return err
	case "cwmin", "cwmax":
		n, err := parseNumber(key, value, 1, cwMost)
		if err != nil {
			return err
		}
		if !edca.IsCW(n) {
			return fmt.Errorf("%s=%d is not 2^k - 1", key, n)
		}
		setCW(into, field, n)
		return nil
	case "burst":
		// hostapd's own rounding: i802_set_tx_queue_params of src/drivers/driver_nl80211.c.
		const usPerTenth, unitUS = 100, 32
		tenths, err := parseTenths(key, value, (maxUint16*unitUS)/usPerTenth)
		if err == nil {
			into.TXOPLimit = uint16((tenths*usPerTenth + unitUS/2) / unitUS) //nolint:gosec // within its limits
		}
		return err
	default:
		return fmt.Errorf("%s is no parameter of a queue", excerpt(key))
	}
}

// parseAnnounced parses wmm_ac_be_cwmin=4: windows are exponents, the limit of a TXOP is in units of 32 us.
func parseAnnounced(into *edca.Parameters, key, field, value string) error {
	switch field {
	case "aifs":
		n, err := parseNumber(key, value, 1, maxUint8)
		if err == nil {
			into.AIFSN = uint8(n) //nolint:gosec // within its limits
		}
		return err
	case "cwmin", "cwmax":
		exponent, err := parseNumber(key, value, 0, cwExponentMost)
		if err == nil {
			setCW(into, field, 1<<exponent-1)
		}
		return err
	case "txop_limit":
		n, err := parseNumber(key, value, 0, maxUint16)
		if err == nil {
			into.TXOPLimit = uint16(n) //nolint:gosec // within its limits
		}
		return err
	case "acm":
		n, err := parseNumber(key, value, 0, 1)
		if err == nil {
			into.Admission = n == 1
		}
		return err
	default:
		return fmt.Errorf("%s is no parameter of a queue", excerpt(key))
	}
}

func setCW(into *edca.Parameters, field string, slots int) {
	if field == "cwmin" {
		into.CWMin = uint16(slots) //nolint:gosec // checked by the caller
	} else {
		into.CWMax = uint16(slots) //nolint:gosec // checked by the caller
	}
}

// parseNumber reads a number as hostapd does, with atoi(3): what follows the digits is not looked at. A value without
// digits, which atoi takes for 0, is refused.
func parseNumber(key, value string, lowest, highest int) (int, error) {
	number, _, err := leadingNumber(value)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", key, excerpt(value), err)
	}
	if number < lowest || number > highest {
		return 0, fmt.Errorf("%s=%s is not within %d to %d", key, excerpt(value), lowest, highest)
	}
	return number, nil
}

// parseTenths reads "1.5" as 15; further decimals are not looked at.
func parseTenths(key, value string, most int) (int, error) {
	number, rest, err := leadingNumber(value)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", key, excerpt(value), err)
	}
	const ten = 10
	tenths := number * ten
	if len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9' {
		tenths += int(rest[1] - '0')
	}
	if number < 0 || tenths > most {
		return 0, fmt.Errorf("%s=%s is not within 0 to %d.%d", key, excerpt(value), most/ten, most%ten)
	}
	return tenths, nil
}

// leadingNumber returns the number at the beginning of a value, and what follows it. It stops at a size that no
// parameter has.
func leadingNumber(value string) (number int, rest string, err error) {
	const most, ten = 1 << 24, 10
	rest = strings.TrimLeft(value, " \t")
	sign := 1
	if strings.HasPrefix(rest, "-") {
		sign, rest = -1, rest[1:]
	}
	digits := 0
	for ; rest != "" && rest[0] >= '0' && rest[0] <= '9'; rest = rest[1:] {
		number = min(number*ten+int(rest[0]-'0'), most)
		digits++
	}
	if digits == 0 {
		return 0, "", errors.New("not a number")
	}
	return sign * number, rest, nil
}
