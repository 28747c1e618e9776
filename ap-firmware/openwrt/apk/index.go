// SPDX-License-Identifier: Apache-2.0

package apk

import (
	"bytes"
	"compress/flate"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrMalformed is returned for what is no package of this format.
var ErrMalformed = errors.New("malformed package")

const (
	indexSchema    = "indx"
	blockSignature = 1
	// Fields of a package's information, from 0; apk counts them from 1.
	fieldName, fieldHashes, fieldFileSize = 0, 2, 12
	informationFields                     = 21
	packageBytesMax                       = 1 << 28
	signatureVersion, hashSHA512          = 0, 4
	keyIDBytes                            = 16
	valueMask, typeMask                   = value(0x0fffffff), value(0xf0000000)
	// A package of ours has a hundred values; objects may contain one another in a ring.
	valuesMax = 10_000
)

// Index returns a repository's index of packages, as `apk mkndx` writes it, but for the compression, signed by the key
// as `apk adbsign` does. The same packages and key give the same bytes: the signature's secret number follows from both
// (RFC 6979). The index has the hash of each package's metadata, and those have the hashes of its files, so this
// signature is enough.
func Index(packages [][]byte, key *ecdsa.PrivateKey) ([]byte, error) {
	database, err := indexDatabase(packages)
	if err != nil {
		return nil, err
	}
	signature, err := sign(database, key)
	if err != nil {
		return nil, err
	}
	plain := appendBlock([]byte(magic+indexSchema), blockDatabase, database)
	return compress(appendBlock(plain, blockSignature, signature))
}

func indexDatabase(packages [][]byte) ([]byte, error) {
	type entry struct {
		name  string
		value value
	}
	d := newDatabase()
	entries := make([]entry, 0, len(packages))
	for _, encoded := range packages {
		metadata, err := metadataOf(encoded)
		if err != nil {
			return nil, err
		}
		from := reader{bytes: metadata, left: valuesMax}
		information, err := from.information()
		if err != nil {
			return nil, err
		}
		name, err := from.blob(information[fieldName])
		if err != nil {
			return nil, err
		}
		copied := make([]value, informationFields)
		for field, found := range information {
			if copied[field], err = from.copyTo(d, found); err != nil {
				return nil, err
			}
		}
		copied[fieldFileSize] = d.integer(uint64(len(encoded)))
		sum := sha256.Sum256(metadata)
		copied[fieldHashes] = d.blob(sum[:])
		entries = append(entries, entry{string(name), d.object(copied...)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	values := make([]value, 0, len(entries))
	for at, one := range entries {
		if at > 0 && entries[at-1].name == one.name {
			return nil, fmt.Errorf("%w: %s is there twice", ErrInvalid, one.name)
		}
		values = append(values, one.value)
	}
	return d.finish(d.object(null, d.object(values...)))
}

// sign returns the content of a signature block: what it is, which key, and the signature of the schema, of that, and
// of the database's hash (adb_trust_write_signatures of apk-tools).
func sign(database []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode the public key: %w", err)
	}
	id := sha512.Sum512(public)
	header := append([]byte{signatureVersion, hashSHA512}, id[:keyIDBytes]...)
	sum := sha512.Sum512(database)
	digest := sha512.Sum512(slices.Concat([]byte(indexSchema), header, sum[:]))
	signature, err := key.Sign(nil, digest[:], crypto.SHA512)
	if err != nil {
		return nil, fmt.Errorf("sign the index: %w", err)
	}
	return append(header, signature...), nil
}

// metadataOf returns a package's database: the first block.
func metadataOf(encoded []byte) ([]byte, error) {
	rest, found := bytes.CutPrefix(encoded, []byte(compressed))
	if !found {
		return nil, fmt.Errorf("%w: does not begin with %s", ErrMalformed, compressed)
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(rest)), packageBytesMax))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	block, found := bytes.CutPrefix(plain, []byte(magic+schema))
	if !found || len(block) < wordBytes {
		return nil, fmt.Errorf("%w: no package", ErrMalformed)
	}
	word := binary.LittleEndian.Uint32(block)
	length := word & (1<<blockTypeShift - 1)
	if word>>blockTypeShift != blockDatabase || length < wordBytes+headerBytes || uint64(length) > uint64(len(block)) {
		return nil, fmt.Errorf("%w: no database in the first block", ErrMalformed)
	}
	return block[wordBytes:length], nil
}

// reader reads values of a database that somebody else may have written.
type reader struct {
	bytes []byte
	left  int // values that copyTo may still write
}

// information returns the fields of the package's information.
func (r *reader) information() ([]value, error) {
	root, err := r.fields(value(binary.LittleEndian.Uint32(r.bytes[wordBytes:])))
	if err != nil {
		return nil, err
	}
	if len(root) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	information, err := r.fields(root[0])
	if err == nil && (len(information) == 0 || len(information) > informationFields) {
		err = fmt.Errorf("%w: %d fields of information", ErrMalformed, len(information))
	}
	return information, err
}

func (r *reader) fields(of value) ([]value, error) {
	if of&typeMask != typeObject {
		return nil, fmt.Errorf("%w: %#x is no object", ErrMalformed, of)
	}
	head, err := r.at(of, 0, wordBytes)
	if err != nil {
		return nil, err
	}
	count := binary.LittleEndian.Uint32(head)
	if count == 0 || count > uint32(len(r.bytes)/wordBytes) { //nolint:gosec // a length is not negative
		return nil, fmt.Errorf("%w: an object of %d words", ErrMalformed, count)
	}
	words, err := r.at(of, wordBytes, int(count-1)*wordBytes)
	if err != nil {
		return nil, err
	}
	found := make([]value, 0, count-1)
	for word := range slices.Chunk(words, wordBytes) {
		found = append(found, value(binary.LittleEndian.Uint32(word)))
	}
	return found, nil
}

func (r *reader) blob(of value) ([]byte, error) {
	prefix := map[value]int{typeBlob8: 1, typeBlob16: 2, typeBlob32: wordBytes}[of&typeMask]
	if prefix == 0 {
		return nil, fmt.Errorf("%w: %#x is no text", ErrMalformed, of)
	}
	head, err := r.at(of, 0, prefix)
	if err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(append(slices.Clone(head), 0, 0, 0)[:wordBytes])
	return r.at(of, prefix, int(length))
}

// at returns bytes at an offset behind that of a value.
func (r *reader) at(of value, behind, length int) ([]byte, error) {
	begin := int(of&valueMask) + behind
	if length < 0 || length > len(r.bytes) || begin > len(r.bytes)-length {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", ErrMalformed, length, begin, len(r.bytes))
	}
	return r.bytes[begin : begin+length], nil
}

// copyTo writes a value and what it leads to, in the order of apk's adb_w_copy.
func (r *reader) copyTo(d *database, from value) (value, error) {
	if r.left--; r.left < 0 {
		return null, fmt.Errorf("%w: more than %d values", ErrMalformed, valuesMax)
	}
	switch from & typeMask {
	case typeInt, null:
		return from, nil
	case typeInt32:
		number, err := r.at(from, 0, wordBytes)
		return typeInt32 | d.add(number, wordBytes), err
	case typeInt64:
		number, err := r.at(from, 0, 2*wordBytes)
		return typeInt64 | d.add(number, wordBytes), err
	case typeObject:
		fields, err := r.fields(from)
		if err != nil {
			return null, err
		}
		for at, field := range fields {
			if fields[at], err = r.copyTo(d, field); err != nil {
				return null, err
			}
		}
		return d.object(fields...), nil
	default:
		content, err := r.blob(from)
		return d.blob(content), err
	}
}
