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

func run(arguments []string) error {
	flags := flag.NewFlagSet("airbound-mkfeed", flag.ContinueOnError)
	key := flags.String("key", "", "`DIR` of the secret keys")
	makeKey := flags.Bool("make-key", false, "make new keys there")
	packages := flags.String("packages", "", "`DIR` with a folder of packages for each architecture, and "+anyFolder)
	output := flags.String("output", "", "`DIR` of the feed")
	sign := flags.String("sign", "", "`FILE` to sign")
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	if *key == "" || flags.NArg() != 0 || (*packages == "") != (*output == "") {
		return errors.New("--key is required, --packages and --output need each other, and there are only flags")
	}
	if *makeKey {
		return makeKeys(*key)
	}
	keys, err := readKeys(*key)
	if err != nil {
		return err
	}
	if *packages != "" {
		if err := makeFeed(*packages, *output, keys); err != nil {
			return err
		}
	}
	if *sign != "" {
		content, err := os.ReadFile(*sign)
		if err != nil {
			return fmt.Errorf("read what is to be signed: %w", err)
		}
		return publish(*sign+".sig", keys.Usign.Sign(content))
	}
	return nil
}

// makeKeys refuses to replace a key: what it has signed could not be updated any more.
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
	for name, content := range map[string][]byte{
		usignKeyFile: feed.NewUsignKey(random).Secret(),
		apkKeyFile:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	} {
		file, err := os.OpenFile(filepath.Join(directory, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("make a key's file: %w", err)
		}
		_, err = file.Write(content)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("write a key: %w", err)
		}
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
		if err := publishAll(filepath.Join(to, folder.Name()), files); err != nil {
			return err
		}
	}
	public, err := x509.MarshalPKIXPublicKey(keys.Apk.Public())
	if err != nil {
		return fmt.Errorf("encode the public key: %w", err)
	}
	return publishAll(filepath.Join(to, keysFolder), map[string][]byte{
		keys.Usign.Fingerprint(): keys.Usign.Public(),
		"airbound.pem":           pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	})
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

func publishAll(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // a feed is public
		return fmt.Errorf("make a folder of the feed: %w", err)
	}
	for name, content := range files {
		if err := publish(filepath.Join(folder, name), content); err != nil {
			return err
		}
	}
	return nil
}

func publish(file string, content []byte) error {
	if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // a feed is public
		return fmt.Errorf("write a file of the feed: %w", err)
	}
	return nil
}
