// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/identity"
)

// Files of the directory. The next key is that of a certificate which was asked for. It becomes the key when the
// certificate has been written; should the agent end between the two, load finds it.
const (
	keyName         = "key.pem"
	nextKeyName     = "next-key.pem"
	certificateName = "certificate.pem"
	authoritiesName = "authorities.pem"
	lockName        = "lock"

	// Of a file that is being written.
	newSuffix = ".new"
	// Of a file that could not be used when the device enrolled again.
	damagedSuffix = ".damaged"
)

const (
	directoryMode = 0o700
	parentMode    = 0o755
	privateMode   = 0o600
	publicMode    = 0o644
	othersMode    = 0o077
)

// Types of PEM blocks.
const (
	keyType         = "PRIVATE KEY"
	certificateType = "CERTIFICATE"
)

// directory is where a device keeps its key and certificates. Several agents of one device may share it.
type directory struct {
	path string
	// ofAnyone: root may look at what belongs to another user, the agent's.
	ofAnyone bool
}

func (d directory) file(name string) string { return filepath.Join(d.path, name) }

// create makes the directory, and those above it, if there is none. It returns when the disk has it: a key in a
// directory that a power cut removes is lost, and with it the token that was used for the key.
func (d directory) create() error {
	if err := makeDirectory(d.path, directoryMode); err != nil {
		return fmt.Errorf("create the directory of the certificate: %w", err)
	}
	return nil
}

func makeDirectory(path string, mode fs.FileMode) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDirectory(parent, parentMode); err != nil {
		return err
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(parent)
}

// syncDirectory returns when the disk has the names of a directory.
func syncDirectory(path string) error {
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// check refuses a directory in which others could read or replace the key. That there is none is no error.
func (d directory) check() error {
	info, err := os.Lstat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the directory of the certificate: %w", err)
	}
	if !info.IsDir() {
		return withCode(identity.FilesUnreadable, fmt.Errorf("%s is not a directory", d.path))
	}
	return withCode(identity.DirectoryNotPrivate, d.private(d.path, info))
}

func (d directory) private(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&othersMode != 0 {
		return fmt.Errorf("%s is not private to its owner: its mode is %#o; chmod go= %s", path, mode, path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int64(stat.Uid) != d.user() {
		return fmt.Errorf("%s belongs to user %d, the agent runs as user %d", path, stat.Uid, d.user())
	}
	return nil
}

// user is whose agent reads the directory: this program's, or where root looks the directory's.
func (d directory) user() int64 {
	if d.ofAnyone && os.Geteuid() == 0 {
		if info, err := os.Lstat(d.path); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				return int64(stat.Uid)
			}
		}
	}
	return int64(os.Geteuid())
}

// errBusy means that another agent of the device enrols or renews at the moment.
var errBusy = errors.New("another agent of this device is renewing the certificate")

// lock prevents two agents of a device from renewing at once.
func (d directory) lock() (unlock func() error, err error) {
	file, err := os.OpenFile(d.file(lockName), os.O_RDWR|os.O_CREATE, privateMode)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = errBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d.file(lockName), err), file.Close())
	}
	return file.Close, nil
}

// load reads key and certificates; nil if there is no certificate.
func (d directory) load() (*set, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	certificates, err := d.loadCertificates(certificateName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no certificate is an answer, not an error
	}
	if err != nil {
		return nil, err
	}
	authorities, err := d.loadCertificates(authoritiesName)
	if err != nil {
		return nil, err
	}
	key, keyErr := d.loadKey(keyName)
	if keyErr == nil && fits(key, certificates[0]) {
		return newSet(key, certificates[0], authorities)
	}
	if next, err := d.loadKey(nextKeyName); err == nil && fits(next, certificates[0]) {
		// Where the directory is read-only it is found here again.
		_ = d.rename(nextKeyName, keyName)
		return newSet(next, certificates[0], authorities)
	}
	if keyErr == nil {
		keyErr = fmt.Errorf("%s has another key than %s", d.file(certificateName), d.file(keyName))
	}
	return nil, keyErr
}

// cannotRead reports whether an error is that of the disk, or of its permissions. The file may be good.
func cannotRead(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist)
}

func fits(key crypto.Signer, certificate *x509.Certificate) bool {
	public, ok := key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	return ok && public.Equal(certificate.PublicKey)
}

// install replaces the files by those of a set. The order makes every moment between two of the steps one that load can
// read: new authorities include what is still needed of the old ones, and until the key is written the next key is it.
func (d directory) install(s *set) error {
	authorities := make([][]byte, len(s.authorities))
	for i, authority := range s.authorities {
		authorities[i] = authority.Raw
	}
	if err := d.write(authoritiesName, publicMode, certificateType, authorities...); err != nil {
		return err
	}
	if err := d.write(certificateName, publicMode, certificateType, s.certificate.Raw); err != nil {
		return err
	}
	if err := d.writeKey(keyName, s.tls.PrivateKey); err != nil {
		return err
	}
	if err := os.Remove(d.file(nextKeyName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the next key: %w", err)
	}
	return nil
}

// nextKey returns the key of the certificate to be asked for, another one than that of the current. It is on the disk
// before anybody sees its public part, so that an answer that was lost can be asked for again.
func (d directory) nextKey(current *set) (crypto.Signer, error) {
	key, err := d.loadKey(nextKeyName)
	if err == nil && (current == nil || !fits(key, current.certificate)) {
		return key, nil
	}
	if cannotRead(err) {
		return nil, withCode(identity.FilesUnreadable, err)
	}
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if err := d.writeKey(nextKeyName, made); err != nil {
		return nil, err
	}
	return made, nil
}

func (d directory) writeKey(name string, key crypto.PrivateKey) error {
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	return d.write(name, privateMode, keyType, encoded)
}

func (d directory) loadKey(name string) (crypto.Signer, error) {
	path := d.file(name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	if err := d.private(path, info); err != nil {
		return nil, err
	}
	blocks, err := d.read(name, keyType)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(blocks[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: this kind of key cannot sign", path)
	}
	return signer, nil
}

func (d directory) loadCertificates(name string) ([]*x509.Certificate, error) {
	blocks, err := d.read(name, certificateType)
	if err != nil {
		return nil, err
	}
	certificates := make([]*x509.Certificate, len(blocks))
	for i, block := range blocks {
		if certificates[i], err = x509.ParseCertificate(block); err != nil {
			return nil, fmt.Errorf("%s: %w", d.file(name), err)
		}
	}
	return certificates, nil
}

// read returns the PEM blocks of a file: at least one, and none of another type.
func (d directory) read(name, blockType string) ([][]byte, error) {
	rest, err := os.ReadFile(d.file(name))
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	rest = bytes.TrimSpace(rest)
	var blocks [][]byte
	for len(rest) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != blockType {
			return nil, fmt.Errorf("%s is truncated, or something else than PEM of type %s", d.file(name), blockType)
		}
		blocks = append(blocks, block.Bytes)
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("%s is empty", d.file(name))
	}
	return blocks, nil
}

// write replaces a file as a whole, and returns when the disk has it.
func (d directory) write(name string, mode fs.FileMode, blockType string, blocks ...[]byte) error {
	var text bytes.Buffer
	for _, block := range blocks {
		if err := pem.Encode(&text, &pem.Block{Type: blockType, Bytes: block}); err != nil {
			return fmt.Errorf("encode %s: %w", d.file(name), err)
		}
	}
	next := name + newSuffix
	// Of an agent that ended while it wrote.
	if err := os.Remove(d.file(next)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", d.file(name), err)
	}
	file, err := os.OpenFile(d.file(next), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", d.file(name), err)
	}
	_, err = file.Write(text.Bytes())
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = d.rename(next, name)
	}
	if err != nil {
		_ = os.Remove(d.file(next))
		return fmt.Errorf("write %s: %w", d.file(name), err)
	}
	return nil
}

// rename returns when the disk has the new name.
func (d directory) rename(from, to string) error {
	if err := os.Rename(d.file(from), d.file(to)); err != nil {
		return err
	}
	return syncDirectory(d.path)
}

// cleanUp removes what an agent left that ended while it wrote. Another agent may be writing at the moment, and the
// directory may be read-only: what cannot be removed does no harm.
func (d directory) cleanUp(current *set) error {
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	for _, name := range []string{keyName, nextKeyName, certificateName, authoritiesName} {
		if removeErr := os.Remove(d.file(name + newSuffix)); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if current != nil {
		// The key was written, but the agent ended before the next key was removed.
		if next, loadErr := d.loadKey(nextKeyName); loadErr == nil && fits(next, current.certificate) {
			err = errors.Join(err, os.Remove(d.file(nextKeyName)))
		}
	}
	return errors.Join(err, unlock())
}

// keepDamaged gives files that cannot be used other names, so that installing a set does not lose them.
func (d directory) keepDamaged() error {
	for _, name := range []string{keyName, certificateName, authoritiesName} {
		err := os.Rename(d.file(name), d.file(name+damagedSuffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep %s: %w", d.file(name), err)
		}
	}
	return syncDirectory(d.path)
}
