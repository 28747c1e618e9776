// SPDX-License-Identifier: Apache-2.0

package apk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A dependency's match is a sum of these, as apk_version.h of apk-tools has them. Without one the version must be the
// same; without a version any will do.
const (
	matchEqual    = 1
	matchLess     = 2
	matchGreater  = 4
	matchFuzzy    = 8
	matchConflict = 16
	matchAny      = matchEqual | matchLess | matchGreater
)

var (
	matches = map[string]uint64{
		"=": matchEqual, "<": matchLess, "<=": matchLess | matchEqual, ">": matchGreater,
		">=": matchGreater | matchEqual, "~": matchFuzzy | matchEqual,
	}
	validDependency = regexp.MustCompile(`^(!?)([a-z0-9][a-zA-Z0-9._+-]*)(?:(<=|>=|[=<>~])(.+))?$`)
)

type dependency struct {
	name, version string
	match         uint64
}

// parseDependency reads [!]NAME[OPERATOR VERSION], as apk-package(5) has it, without spaces.
func parseDependency(text string) (dependency, error) {
	parts := validDependency.FindStringSubmatch(text)
	if parts == nil || parts[4] != "" && !validVersion.MatchString(parts[4]) {
		return dependency{}, fmt.Errorf("%w: dependency %q", ErrInvalid, text)
	}
	found := dependency{name: parts[2], version: parts[4], match: matchAny}
	if found.version != "" {
		found.match = matches[parts[3]]
	}
	if parts[1] != "" {
		found.match |= matchConflict
	}
	return found, nil
}

// parseDependencies returns them by name. One name has one dependency only: apk would order several by version.
func parseDependencies(texts []string) ([]dependency, error) {
	parsed := make([]dependency, 0, len(texts))
	for _, text := range texts {
		found, err := parseDependency(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(parsed, func(other dependency) bool { return other.name == found.name }) {
			return nil, fmt.Errorf("%w: two dependencies on %s", ErrInvalid, found.name)
		}
		parsed = append(parsed, found)
	}
	return parsed, nil
}

// dependencies writes them in the order in which they were given; their array is by name.
func dependencies(d *database, parsed []dependency) value {
	type written struct {
		name  string
		value value
	}
	all := make([]written, 0, len(parsed))
	for _, one := range parsed {
		fields := []value{d.text(one.name), d.text(one.version), null}
		if one.match != matchEqual && one.match != matchAny {
			fields[2] = d.integer(one.match)
		}
		all = append(all, written{one.name, d.object(fields...)})
	}
	slices.SortFunc(all, func(a, b written) int { return strings.Compare(a.name, b.name) })
	values := make([]value, 0, len(all))
	for _, one := range all {
		values = append(values, one.value)
	}
	return d.object(values...)
}
