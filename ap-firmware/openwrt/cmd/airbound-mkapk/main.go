// SPDX-License-Identifier: Apache-2.0

// airbound-mkapk makes an .apk of a directory, with the flags of `apk mkpkg` that scripts/packages.sh needs. Times are
// SOURCE_DATE_EPOCH's.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/airbound/airbound/ap-firmware/openwrt/apk"
)

var scriptNames = map[string]apk.Script{
	"trigger": apk.Trigger, "pre-install": apk.PreInstall, "post-install": apk.PostInstall,
	"pre-deinstall": apk.PreDeinstall, "post-deinstall": apk.PostDeinstall,
	"pre-upgrade": apk.PreUpgrade, "post-upgrade": apk.PostUpgrade,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "airbound-mkapk:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	made := apk.Package{Scripts: map[apk.Script]string{}}
	flags := flag.NewFlagSet("airbound-mkapk", flag.ContinueOnError)
	files := flags.String("files", "", "`DIR` whose content is installed")
	output := flags.String("output", "", "`FILE` to write")
	flags.Func("info", "`FIELD:VALUE` of the package; may be given several times", func(argument string) error {
		return setInfo(&made.Info, argument)
	})
	flags.Func("script", "`TYPE:FILE` to run; may be given several times", func(argument string) error {
		name, file, _ := strings.Cut(argument, ":")
		script, ok := scriptNames[name]
		if !ok {
			return fmt.Errorf("no script is called %q", name)
		}
		text, err := os.ReadFile(file)
		made.Scripts[script] = string(text)
		return err
	})
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	if *files == "" || *output == "" || flags.NArg() != 0 {
		return errors.New("--files and --output are required, and nothing else but flags")
	}
	var err error
	if made.TimeS, err = strconv.ParseUint(os.Getenv("SOURCE_DATE_EPOCH"), 10, 63); err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w", err)
	}
	if made.Files, err = read(*files); err != nil {
		return fmt.Errorf("read %s: %w", *files, err)
	}
	encoded, err := made.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(*output, encoded, 0o644); err != nil { //nolint:gosec // packages are public
		return fmt.Errorf("write the package: %w", err)
	}
	return nil
}

func setInfo(info *apk.Info, argument string) error {
	name, text, _ := strings.Cut(argument, ":")
	if name == "depends" {
		info.Depends = strings.Fields(text)
		return nil
	}
	fields := map[string]*string{
		"name": &info.Name, "version": &info.Version, "description": &info.Description, "arch": &info.Arch,
		"license": &info.License, "origin": &info.Origin, "maintainer": &info.Maintainer, "url": &info.URL,
	}
	field, ok := fields[name]
	if !ok {
		return fmt.Errorf("no field is called %q", name)
	}
	*field = text
	return nil
}

// read returns the regular files below a directory. Anything else but directories is an error.
func read(root string) ([]apk.File, error) {
	tree := os.DirFS(root)
	var files []apk.File
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		content, err := fs.ReadFile(tree, name)
		files = append(files, apk.File{Path: name, Mode: uint32(info.Mode().Perm()), Content: content})
		return err
	})
	return files, err
}
