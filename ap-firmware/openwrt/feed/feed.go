// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/airbound/airbound/ap-firmware/openwrt/apk"
)

// The names that opkg and apk ask a feed for.
const (
	OpkgIndex          = "Packages"
	OpkgIndexSignature = "Packages.sig"
	opkgIndexPacked    = "Packages.gz"
	ApkIndex           = "packages.adb"
)

// ErrMalformed is returned for what is no package of opkg's.
var ErrMalformed = errors.New("malformed package")

const controlBytesMax = 1 << 20

var inControl = regexp.MustCompile(`(?m)^(Package|Version|Architecture): \S`)

// Keys sign a feed: one for opkg, one for apk, which take no other kind.
type Keys struct {
	Usign UsignKey
	Apk   *ecdsa.PrivateKey
}

// Files returns the indices and signatures of a folder of packages, which are by their file names: all that a web
// server needs to serve beside them. Packages of other kinds are an error.
func Files(packages map[string][]byte, keys Keys) (map[string][]byte, error) {
	var list bytes.Buffer
	var apks [][]byte
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		switch path.Ext(name) {
		case ".ipk":
			entry, err := listEntry(name, packages[name])
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", name, err)
			}
			list.WriteString(entry)
		case ".apk":
			apks = append(apks, packages[name])
		default:
			return nil, fmt.Errorf("%w: %s is neither .ipk nor .apk", ErrMalformed, name)
		}
	}
	index, err := apk.Index(apks, keys.Apk)
	if err != nil {
		return nil, fmt.Errorf("make the index: %w", err)
	}
	packed, err := pack(list.Bytes())
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		OpkgIndex: list.Bytes(), opkgIndexPacked: packed, OpkgIndexSignature: keys.Usign.Sign(list.Bytes()),
		ApkIndex: index,
	}, nil
}

// listEntry returns a package's paragraph of Packages: its control file, and what opkg verifies the file by.
func listEntry(name string, content []byte) (string, error) {
	control, err := controlOf(content)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(control))
	if len(inControl.FindAllString(text, -1)) != 3 || strings.Contains(text, "\n\n") {
		return "", fmt.Errorf("%w: its control file has not one package, version and architecture", ErrMalformed)
	}
	return fmt.Sprintf("%s\nFilename: %s\nSize: %d\nSHA256sum: %x\n\n", text, name, len(content),
		sha256.Sum256(content)), nil
}

// controlOf returns the file control of the control.tar.gz of an .ipk, which is a .tar.gz itself.
func controlOf(content []byte) ([]byte, error) {
	inner, err := member(content, "control.tar.gz")
	if err != nil {
		return nil, err
	}
	return member(inner, "control")
}

func member(packed []byte, name string) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	archive := tar.NewReader(unpacked)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: has no %s", ErrMalformed, name)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if path.Clean(header.Name) != name {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(archive, controlBytesMax))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return content, nil
	}
}

// pack compresses without a time and a name.
func pack(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = packer.Write(plain)
	}
	if err == nil {
		err = packer.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}
