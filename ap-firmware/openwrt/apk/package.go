// SPDX-License-Identifier: Apache-2.0

// Package apk writes packages of apk-tools 3 ("v3", ADB), the format of OpenWrt 25.12 and later. It takes bytes and
// returns bytes, the same ones that `apk mkpkg` writes for the same content, but for the compression. Regular files and
// their directories are all it knows, everything belongs to root, and packages have no signatures: the index of their
// repository has one, and their hashes.
//
// Format: apk-v3(5) of apk-tools. A file is "ADBd" and a deflate stream. In it are the magic number, the schema, and
// blocks: the database (metadata of package and files), then one block for each file that is not empty.
package apk

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Info is what `apk info` shows. Name, Version and Arch are required.
type Info struct {
	Name, Version, Description, Arch, License, Origin, Maintainer, URL string
	// Depends are dependencies, [!]NAME[OPERATOR VERSION]; the operators are =, <, <=, >, >= and ~.
	Depends []string
}

// Script is when a script runs.
type Script int

// The scripts, as apk-package(5) has them.
const (
	Trigger Script = iota
	PreInstall
	PostInstall
	PreDeinstall
	PostDeinstall
	PreUpgrade
	PostUpgrade
	scripts
)

// File is a regular file of a package.
type File struct {
	// Path has no slash at its begin.
	Path string
	// Mode has the permissions, 12 bits.
	Mode    uint32
	Content []byte
}

// Package is what becomes an .apk.
type Package struct {
	Info    Info
	Scripts map[Script]string
	Files   []File
	// TimeS is the modification time of all files, in seconds since 1970.
	TimeS uint64
}

// ErrInvalid is what Encode returns for a package that apk would refuse.
var ErrInvalid = errors.New("not a valid package")

const (
	magic         = "ADB."
	schema        = "pckg"
	compressed    = "ADBd"
	blockDatabase = 0
	blockData     = 2
	// A block's first word has 2 bits of type and 30 of length.
	blockTypeShift = 30
	blockAlignment = 8
	directoryMode  = 0o755
	// Of the SHA-256 of the metadata, apk keeps as many bytes as SHA-1 has.
	idBytes = 20
)

var (
	validName    = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._+-]*$`)
	validVersion = regexp.MustCompile(
		`^[0-9]+(\.[0-9]+)*[a-z]?(_(alpha|beta|pre|rc|cvs|svn|git|hg|p)[0-9]*)*(~[0-9a-f]+)?(-r[0-9]+)?$`)
)

type directory struct {
	name  string
	files []File
}

// Encode returns the .apk.
func (p Package) Encode() ([]byte, error) {
	plain, err := p.encodePlain()
	if err != nil {
		return nil, err
	}
	return compress(plain)
}

func compress(plain []byte) ([]byte, error) {
	out := bytes.NewBufferString(compressed)
	deflate, err := flate.NewWriter(out, flate.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := deflate.Write(plain); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := deflate.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}

// encodePlain returns the .apk without compression, which apk reads as well.
func (p Package) encodePlain() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	directories := p.directories()
	metadata, err := p.metadata(directories)
	if err != nil {
		return nil, err
	}
	out := appendBlock([]byte(magic+schema), blockDatabase, metadata)
	for i, directory := range directories {
		for j, file := range directory.files {
			if len(file.Content) == 0 {
				continue
			}
			place := binary.LittleEndian.AppendUint32(nil, uint32(i+1))
			place = binary.LittleEndian.AppendUint32(place, uint32(j+1))
			out = appendBlock(out, blockData, place, file.Content)
		}
	}
	return out, nil
}

func (p Package) check() error {
	if !validName.MatchString(p.Info.Name) {
		return fmt.Errorf("%w: name %q", ErrInvalid, p.Info.Name)
	}
	if !validVersion.MatchString(p.Info.Version) {
		return fmt.Errorf("%w: version %q", ErrInvalid, p.Info.Version)
	}
	if p.Info.Arch == "" {
		return fmt.Errorf("%w: no architecture", ErrInvalid)
	}
	seen := map[string]bool{}
	for _, file := range p.Files {
		if file.Path == "" || file.Path != path.Clean(file.Path) || path.IsAbs(file.Path) ||
			strings.HasPrefix(file.Path, "..") || seen[file.Path] {
			return fmt.Errorf("%w: path %q", ErrInvalid, file.Path)
		}
		if file.Mode > 0o7777 {
			return fmt.Errorf("%w: %s has mode %o", ErrInvalid, file.Path, file.Mode)
		}
		if len(file.Content) >= 1<<blockTypeShift-headerBytes-wordBytes {
			return fmt.Errorf("%w: %s has %d bytes", ErrInvalid, file.Path, len(file.Content))
		}
		seen[file.Path] = true
	}
	for script := range p.Scripts {
		if script < Trigger || script >= scripts {
			return fmt.Errorf("%w: script %d", ErrInvalid, script)
		}
	}
	return nil
}

// directories returns the root, whose name is empty, and every directory that a file is in, by name; the files of each
// by name.
func (p Package) directories() []directory {
	content := map[string][]File{"": nil}
	for _, file := range p.Files {
		parent := parentOf(file.Path)
		content[parent] = append(content[parent], file)
		for ; parent != ""; parent = parentOf(parent) {
			content[parentOf(parent)] = content[parentOf(parent)] // so that it is there
		}
	}
	sorted := make([]directory, 0, len(content))
	for _, name := range slices.Sorted(maps.Keys(content)) {
		files := content[name]
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
		sorted = append(sorted, directory{name: name, files: files})
	}
	return sorted
}

func parentOf(name string) string {
	if parent := path.Dir(name); parent != "." {
		return parent
	}
	return ""
}

// metadata writes in the order of `apk mkpkg`.
func (p Package) metadata(directories []directory) ([]byte, error) {
	depends, err := parseDependencies(p.Info.Depends)
	if err != nil {
		return nil, err
	}
	d := newDatabase()
	info := []value{
		d.text(p.Info.Name), d.text(p.Info.Version), null, d.text(p.Info.Description), d.text(p.Info.Arch),
		d.text(p.Info.License), d.text(p.Info.Origin), d.text(p.Info.Maintainer), d.text(p.Info.URL), null, null, null,
		null, null, dependencies(d, depends),
	}
	const id, installedSize = 3 - 1, 12 - 1 // apk counts fields from 1
	var installedBytes uint64
	paths := make([]value, 0, len(directories))
	for _, directory := range directories {
		var files []value
		for _, file := range directory.files {
			installedBytes += uint64(len(file.Content))
			files = append(files, p.file(d, file))
		}
		name := d.text(directory.name)
		paths = append(paths, d.object(name, acl(d, directoryMode), d.object(files...)))
	}
	info[installedSize] = d.integer(max(installedBytes, 1)) // 0 means that it is a virtual package
	_, place, _ := encodeBlob(make([]byte, idBytes))
	idOffset := d.addAnew(place, 1)
	info[id] = typeBlob8 | idOffset
	root := []value{d.object(info...), d.object(paths...), p.scripts(d)}
	encoded, err := d.finish(d.object(root...))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(encoded)
	copy(encoded[idOffset+1:], sum[:idBytes])
	return encoded, nil
}

func (p Package) file(d *database, file File) value {
	name := d.text(path.Base(file.Path))
	sum := sha256.Sum256(file.Content)
	hash := d.blob(sum[:])
	modified := d.integer(p.TimeS)
	size := d.integer(uint64(len(file.Content)))
	return d.object(name, acl(d, file.Mode), size, modified, hash)
}

func acl(d *database, mode uint32) value {
	return d.object(d.integer(uint64(mode)), d.text("root"), d.text("root"))
}

func (p Package) scripts(d *database) value {
	fields := make([]value, scripts)
	for script := range scripts {
		fields[script] = d.text(p.Scripts[script])
	}
	return d.object(fields...)
}

// appendBlock adds a block, filled up to a multiple of 8 bytes.
func appendBlock(to []byte, kind uint32, parts ...[]byte) []byte {
	length := wordBytes
	for _, part := range parts {
		length += len(part)
	}
	to = binary.LittleEndian.AppendUint32(to, kind<<blockTypeShift|uint32(length))
	for _, part := range parts {
		to = append(to, part...)
	}
	return append(to, make([]byte, (blockAlignment-length%blockAlignment)%blockAlignment)...)
}
