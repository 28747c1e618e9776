// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/applications"
	"github.com/airbound/airbound/phone-agent/filewatch"
	"github.com/airbound/airbound/phone-agent/status"
)

// applicationOptions are the flags of `run` about what applications need.
type applicationOptions struct {
	table        string
	packagesList string
}

// fileBytesMax is the most that is read of a table or of the list of packages.
const fileBytesMax = 8 << 20

func (o *applicationOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.table, "applications", "",
		"`FILE` with the classes of applications, lines CLASS package|uid|dscp|port VALUE; read again when it changes")
	flags.StringVar(&o.packagesList, "packages-list", "/data/system/packages.list",
		"`FILE` of Android's with the user ids of packages; read again when it changes")
}

// classified are the classes as of now, and what of the files could not be used.
func (o *applicationOptions) classified() (applications.Classes, status.Applications) {
	account := status.Applications{Table: o.table}
	table, refused, err := parsedFile(o.table, applications.ParseTable)
	if err == nil {
		err = errors.Join(refused.First...)
	}
	account.LinesRefused = refused.Count
	// Without a package in the table there is nothing to look for: a phone that is no Android has no such list.
	var packages applications.Packages
	if table.NamesPackages() {
		var listErr error
		packages, refused, listErr = parsedFile(o.packagesList, applications.ParsePackages)
		if listErr == nil {
			listErr = errors.Join(refused.First...)
		}
		if listErr != nil {
			err = errors.Join(err, fmt.Errorf("the list of packages: %w", listErr))
		}
		account.PackagesRefused = refused.Count
	}
	classes := applications.New(table, packages)
	account.Entries = uint64(table.Len()) //nolint:gosec // a length
	account.NotInstalled, account.Conflicts = classes.NotInstalled(), classes.Conflicts()
	if err != nil {
		account.Error = err.Error()
	}
	return classes, account
}

// parsedFile is as that of an empty file if it cannot be read.
func parsedFile[T any](
	path string, parse func(string) (T, applications.Refused),
) (parsed T, refused applications.Refused, err error) {
	text, err := filewatch.Read(path, fileBytesMax)
	if err == nil && text == nil {
		err = fmt.Errorf("there is no file %s", path)
	}
	parsed, refused = parse(string(text))
	return parsed, refused, err
}

// followApplications has the agent classify connections, and again whenever one of the files may have changed. The list
// of packages is followed once the table names one: a phone without Android has no folder of it, and a vendor's service
// may not read it.
func (c *connection) followApplications(options applicationOptions, phone *agent.Agent, logger *slog.Logger) {
	if options.table == "" {
		return
	}
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default: // One that waits is as good as several.
		}
	}
	follow := func(path string) {
		c.links.Go(func() {
			if err := filewatch.Follow(c.ctx, path, note); err != nil {
				logger.Warn("changes of a file are not noticed", "file", path, "error", err)
			}
		})
	}
	note()
	follow(options.table)
	c.links.Go(func() {
		followsList := false
		for {
			select {
			case <-c.ctx.Done():
				return
			case <-changed:
			}
			classes, account := options.classified()
			c.post(func(nowUS int64) { phone.Classify(nowUS, classes, account) })
			if classes.NamesPackages() && !followsList {
				followsList = true
				follow(options.packagesList)
			}
		}
	})
}
