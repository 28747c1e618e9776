// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/airbound/airbound/phone-agent/proctext"
)

// Table is an operator's choice of classes. The zero value has everything in Default.
type Table struct {
	packages map[string]Class
	uids     map[uint32]Class
	dscps    map[uint8]Class
	ports    map[uint16]Class
}

// entriesMax is how many entries a table has at most.
const entriesMax = 4096

const (
	// wordsOfLine are class, kind and value.
	wordsOfLine = 3
	// packageNameMax is Android's own limit (PackageParser, FrameworkParsingPackageUtils: 223).
	packageNameMax = 223
)

// Len is how many entries there are.
func (t *Table) Len() int { return len(t.packages) + len(t.uids) + len(t.dscps) + len(t.ports) }

// NamesPackages reports whether it needs a list of packages.
func (t *Table) NamesPackages() bool { return len(t.packages) > 0 }

// ParseTable reads lines `CLASS package NAME`, `CLASS uid NUMBER`, `CLASS dscp MARK` and `CLASS port NUMBER`; a # at
// the beginning of a line or after a space begins a comment. A line that is none of these, or that gives something
// named before another class, is left out: the others count. Each is an error with the number of its line, of which the
// first proctext.RefusalsKept are kept.
func ParseTable(text string) (table Table, refused Refused) {
	table = Table{map[string]Class{}, map[uint32]Class{}, map[uint8]Class{}, map[uint16]Class{}}
	entries := 0
	for number, line := range lines(text) {
		words := strings.Fields(withoutComment(line))
		if len(words) == 0 {
			continue
		}
		if entries == entriesMax {
			refused.add(number, fmt.Errorf("more than %d entries", entriesMax))
			continue
		}
		entries++
		if err := table.add(words); err != nil {
			refused.add(number, err)
		}
	}
	return table, refused
}

func withoutComment(line string) string {
	if strings.HasPrefix(line, "#") {
		return ""
	}
	for _, before := range []string{" #", "\t#"} {
		line, _, _ = strings.Cut(line, before)
	}
	return line
}

func (t *Table) add(words []string) error {
	if len(words) != wordsOfLine {
		return fmt.Errorf("%d words, not CLASS KIND VALUE", len(words))
	}
	class, known := ParseClass(words[0])
	if !known {
		return fmt.Errorf("%s is none of the classes %s", proctext.Quoted(words[0]), strings.Join(classNames[:], ", "))
	}
	value := words[2]
	switch words[1] {
	case "package":
		if !isPackageName(value) {
			return fmt.Errorf("%s is not the name of a package", proctext.Quoted(value))
		}
		return put(t.packages, value, class, value)
	case "uid":
		uid, err := parseUID(value)
		if err != nil {
			return err
		}
		return put(t.uids, uid, class, "uid "+value)
	case "dscp":
		dscp, known := parseDSCP(value)
		if !known {
			return fmt.Errorf("%s is not a DSCP, 1 to %d or a name such as AF41", proctext.Quoted(value), dscpMax)
		}
		return put(t.dscps, dscp, class, "dscp "+value)
	case "port":
		port, err := strconv.ParseUint(value, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("%s is not a port, 1 to 65535", proctext.Quoted(value))
		}
		return put(t.ports, uint16(port), class, "port "+value)
	}
	return fmt.Errorf("%s is none of package, uid, dscp, port", proctext.Quoted(words[1]))
}

func put[Key comparable](to map[Key]Class, key Key, class Class, name string) error {
	if before, named := to[key]; named && before != class {
		return fmt.Errorf("%s is of the class %s already", name, before)
	}
	to[key] = class
	return nil
}

// uidNobody is what the kernel has for no user, ((uid_t)-1).
const uidNobody = 1<<32 - 1

func parseUID(text string) (uint32, error) {
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil || uid == uidNobody {
		return 0, fmt.Errorf("%s is not a user id, 0 to %d", proctext.Quoted(text), uint32(uidNobody-1))
	}
	return uint32(uid), nil
}

// isPackageName has what Android takes as a package's name, and what it has itself, such as "android".
func isPackageName(text string) bool {
	if text == "" || len(text) > packageNameMax || !utf8.ValidString(text) {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if part == "" {
			return false
		}
		for i, char := range part {
			letter := char == '_' || char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z'
			if !letter && (i == 0 || char < '0' || char > '9') {
				return false
			}
		}
	}
	return true
}
