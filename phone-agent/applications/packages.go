// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/airbound/airbound/phone-agent/proctext"
)

// Packages are the app ids of installed packages, from Android's /data/system/packages.list. The zero value has none.
type Packages struct{ appIDs map[string]uint32 }

// packagesMax is how many lines of the list are read.
const packagesMax = 1 << 16

// Count is how many packages there are.
func (p *Packages) Count() int { return len(p.appIDs) }

// ParsePackages reads the list: a line for each package, its name and its app id first (Settings.writePackageList of
// Android's package manager), of which the rest is not read. A line without them is left out: the others count.
func ParsePackages(text string) (packages Packages, refused Refused) {
	packages.appIDs = map[string]uint32{}
	for number, line := range lines(text) {
		if line == "" {
			continue
		}
		name, rest, found := strings.Cut(line, " ")
		idText, _, _ := strings.Cut(rest, " ")
		id, err := parseUID(idText)
		_, twice := packages.appIDs[name]
		switch {
		case !found:
			err = errors.New("no user id")
		case !isPackageName(name):
			err = fmt.Errorf("%s is not the name of a package", proctext.Quoted(name))
		case twice:
			err = fmt.Errorf("%s is there already", name)
		case err == nil && len(packages.appIDs) == packagesMax:
			err = fmt.Errorf("more than %d packages", packagesMax)
		}
		if err != nil {
			refused.add(number, err)
			continue
		}
		packages.appIDs[name] = id
	}
	return packages, refused
}

// Refused are the lines of a text that were left out.
type Refused struct {
	Count uint64
	// First are at most proctext.RefusalsKept of them, each with its line.
	First []error
}

func (r *Refused) add(line int, err error) {
	r.Count++
	if len(r.First) < proctext.RefusalsKept {
		r.First = append(r.First, fmt.Errorf("line %d: %w", line, err))
	}
}

// lines are those of a text with their numbers from 1, without what ends them.
func lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.SplitSeq(text, "\n") {
			number++
			if !yield(number, strings.TrimSuffix(line, "\r")) {
				return
			}
		}
	}
}
