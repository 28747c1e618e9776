// SPDX-License-Identifier: Apache-2.0

// airbound-mkfeed makes a feed for OpenWrt of packages, and the keys that sign it:
//
//	airbound-mkfeed --key DIR --make-key                      DIR/usign.key, DIR/apk.key
//	airbound-mkfeed --key DIR --packages DIR --output DIR     a folder for each architecture, and the public keys
//	airbound-mkfeed --key DIR --sign FILE                     FILE.sig, for usign
package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/airbound/airbound/ap-firmware/openwrt/feed"
)

const (
	usignKeyFile, apkKeyFile = "usign.key", "apk.key"
	keysFolder, anyFolder    = "keys", "all"
	fingerprintAndSeedBytes  = 8 + ed25519.SeedSize
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "airbound-mkfeed:", err)
		os.Exit(1)
	}
}

type options struct {
	key, packages, output, sign string
	makeKey                     bool
}

func run(arguments []string) error {
	options, err := parse(arguments)
	if err != nil {
		return err
	}
	if options.makeKey {
		return makeKeys(options.key)
	}
	keys, err := readKeys(options.key)
	if err != nil {
		return err
	}
	if options.sign != "" {
		content, err := os.ReadFile(options.sign)
		if err != nil {
			return fmt.Errorf("read the file to sign: %w", err)
		}
		return publish(map[string][]byte{options.sign + ".sig": keys.Usign.Sign(content)})
	}
	return makeFeed(options.packages, options.output, keys)
}

func parse(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("airbound-mkfeed", flag.ContinueOnError)
	flags.StringVar(&o.key, "key", "", "`DIR` of the secret keys")
	flags.BoolVar(&o.makeKey, "make-key", false, "make new keys there")
	flags.StringVar(&o.packages, "packages", "",
		"`DIR` with a folder of packages for each architecture, and "+anyFolder)
	flags.StringVar(&o.output, "output", "", "`DIR` of the feed")
	flags.StringVar(&o.sign, "sign", "", "`FILE` to sign")
	if err := flags.Parse(arguments); err != nil {
		return o, fmt.Errorf("read the flags: %w", err)
	}
	tasks := 0
	for _, asked := range []bool{o.makeKey, o.packages != "" || o.output != "", o.sign != ""} {
		if asked {
			tasks++
		}
	}
	switch {
	case flags.NArg() != 0:
		return o, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	case o.key == "":
		return o, errors.New("--key DIR is missing: the directory of the secret keys")
	case tasks != 1:
		return o, errors.New("give one of --make-key, --packages DIR with --output DIR, and --sign FILE")
	case o.packages == "" && o.output != "":
		return o, errors.New("--packages DIR is missing: the packages of the feed")
	case o.packages != "" && o.output == "":
		return o, errors.New("--output DIR is missing: the directory of the feed")
	}
	return o, nil
}

// makeKeys replaces no key: devices refuse what is signed by another one. After an error there is neither key.
func makeKeys(directory string) error {
	var random [fingerprintAndSeedBytes]byte
	_, _ = rand.Read(random[:]) // returns no error (its documentation)
	signing, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(signing)
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("make the keys' directory: %w", err)
	}
	usign := filepath.Join(directory, usignKeyFile)
	if err := writeKey(usign, feed.NewUsignKey(random).Secret()); err != nil {
		return err
	}
	err = writeKey(filepath.Join(directory, apkKeyFile),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	if err != nil {
		return errors.Join(err, os.Remove(usign))
	}
	return nil
}

func writeKey(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make a key's file: %w", err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write a key: %w", err), os.Remove(path))
	}
	return nil
}

func readKeys(directory string) (feed.Keys, error) {
	text, err := os.ReadFile(filepath.Join(directory, usignKeyFile))
	if err != nil {
		return feed.Keys{}, fmt.Errorf("read a key: %w", err)
	}
	usign, err := feed.ParseUsignKey(text)
	if err != nil {
		return feed.Keys{}, fmt.Errorf("%s: %w", usignKeyFile, err)
	}
	if text, err = os.ReadFile(filepath.Join(directory, apkKeyFile)); err != nil {
		return feed.Keys{}, fmt.Errorf("read a key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return feed.Keys{}, fmt.Errorf("%s: %w: no PEM", apkKeyFile, feed.ErrKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return feed.Keys{}, fmt.Errorf("%s: %w: %w", apkKeyFile, feed.ErrKey, err)
	}
	signing, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return feed.Keys{}, fmt.Errorf("%s: %w of an elliptic curve", apkKeyFile, feed.ErrKey)
	}
	return feed.Keys{Usign: usign, Apk: signing}, nil
}

func makeFeed(from, to string, keys feed.Keys) error {
	common, err := readFolder(filepath.Join(from, anyFolder))
	if err != nil {
		return err
	}
	folders, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("list the packages: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(keys.Apk.Public())
	if err != nil {
		return fmt.Errorf("encode the public key: %w", err)
	}
	all := map[string][]byte{
		filepath.Join(to, keysFolder, keys.Usign.Fingerprint()): keys.Usign.Public(),
		filepath.Join(to, keysFolder, "airbound.pem"): pem.EncodeToMemory(
			&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	}
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() == anyFolder {
			continue
		}
		files, err := readFolder(filepath.Join(from, folder.Name()))
		if err != nil {
			return err
		}
		maps.Copy(files, common)
		indices, err := feed.Files(files, keys)
		if err != nil {
			return fmt.Errorf("%s: %w", folder.Name(), err)
		}
		maps.Copy(files, indices)
		for name, content := range files {
			all[filepath.Join(to, folder.Name(), name)] = content
		}
	}
	return publish(all)
}

func readFolder(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read a package: %w", err)
		}
		files[entry.Name()] = content
	}
	return files, nil
}

// publish writes all files beside their places, and moves them there when all are written.
func publish(files map[string][]byte) error {
	const ending = ".new"
	written := make([]string, 0, len(files))
	defer func() {
		for _, path := range written {
			_ = os.Remove(path + ending) // Those that were moved are gone.
		}
	}()
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a feed is public
			return fmt.Errorf("make a folder of the feed: %w", err)
		}
		written = append(written, path)
		if err := os.WriteFile(path+ending, content, 0o644); err != nil { //nolint:gosec // a feed is public
			return fmt.Errorf("write a file of the feed: %w", err)
		}
	}
	for path := range files {
		if err := os.Rename(path+ending, path); err != nil {
			return fmt.Errorf("put a file of the feed into its place: %w", err)
		}
	}
	return nil
}
