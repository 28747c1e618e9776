// SPDX-License-Identifier: Apache-2.0

// Package credentials is a device's certificate: it enrols the device with a token, verifies controllers, and renews
// the certificate before it ends. The key is made on the device and never leaves it.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/airbound/airbound/internal/identity"
)

// Config is where the certificate is and how to get one.
type Config struct {
	// Directory is private to the agent's user. Several agents of a device, each with the same role, may share it.
	Directory string
	// Role is that of identity.ID.
	Role string
	// LookOnly is for who finds out whether an agent could use the directory: nothing in it is changed, and root may
	// look at that of another user.
	LookOnly bool
	// Token and TokenFile are where the token for enrolment is; at most one of them is set. The file is read when the
	// token is needed.
	Token, TokenFile string
	// Controllers are the addresses where certificates are renewed, Enrolment those where a device enrols; HOST:PORT.
	Controllers, Enrolment []string
	// Dialed, unless nil, is called with the remote address of each connection, from any goroutine.
	Dialed func(netip.AddrPort)
	// SaveStatus, unless nil, is called when the status has changed, from any goroutine, once at a time.
	SaveStatus func(identity.Status) error
	// Logger takes a line per change; nil takes slog.Default().
	Logger *slog.Logger

	// Others in some tests: the clock, the back-offs of enrolment, and the longest time until the clock is read again.
	wall                           func() time.Time
	enrolWaitMin, enrolWaitMax     time.Duration
	refusedWaitMin, refusedWaitMax time.Duration
	pollInterval                   time.Duration
}

const (
	enrolWaitMinDefault = time.Second
	enrolWaitMaxDefault = time.Minute
	// After a refusal.
	refusedWaitMinDefault = time.Minute
	refusedWaitMaxDefault = time.Hour
	// Timers stop while a device sleeps, and clocks are corrected.
	pollIntervalDefault = time.Minute
)

// Device is the device's certificate and what replaces it in time.
type Device struct {
	cfg       Config
	directory directory
	clock     clock

	mutex sync.Mutex
	// replaced has the channels of the streams, see subscribe.
	replaced map[chan struct{}]struct{}
	set      *set // nil before enrolment
	unsaved  bool // whether the disk does not have the set
	// Renewal is due when the clock is at renewAt, but not before notBefore on the monotonic clock.
	renewAt, notBefore time.Time
	status             identity.Status
	damaged            error  // why the certificate on the disk cannot be used
	failed             string // the operation that LastError is of
}

// ErrNotEnrolled means that there is neither a certificate nor a token.
var ErrNotEnrolled = errors.New("this device has no certificate")

// Open reads the directory. Without a certificate that can be used, and without a token, it returns an error that
// explains how to enrol. Errors are saved as a status as well.
func Open(cfg Config) (*Device, error) {
	d := &Device{
		cfg: cfg.withDefaults(), directory: directory{cfg.Directory, cfg.LookOnly},
		replaced: map[chan struct{}]struct{}{},
	}
	d.clock.wall = d.cfg.wall
	if err := d.open(); err != nil {
		d.record(starting, err)
		return nil, err
	}
	return d, nil
}

func (d *Device) open() error {
	if err := d.directory.check(); err != nil {
		return err
	}
	loaded, err := d.load()
	if !mustStay(err) && !d.cfg.LookOnly {
		// Of an agent that ended while it wrote.
		if err := d.directory.cleanUp(loaded); err != nil {
			d.cfg.Logger.Debug("cannot remove files of an earlier agent", "error", err)
		}
	}
	if loaded != nil {
		d.take(loaded)
		if d.hasToken() && !d.ended() {
			d.cfg.Logger.Info("enrolled already, the token is not used", "id", loaded.id,
				"directory", d.cfg.Directory)
		}
		return nil
	}
	if mustStay(err) {
		return err
	}
	if !d.hasToken() {
		if err == nil {
			err = &failedError{identity.NotEnrolled, ErrNotEnrolled}
		}
		return fmt.Errorf("%w; %s", err, d.howToEnrol())
	}
	if err != nil {
		d.damaged = err
		d.cfg.Logger.Warn("the certificate cannot be used, enrolling again", "error", err)
	}
	if _, err := d.token(); err != nil {
		return d.asWellAsDamaged(err)
	}
	if err := d.directory.create(); err != nil {
		return err
	}
	return d.directory.check()
}

// asWellAsDamaged adds to an error why the device enrols again.
func (d *Device) asWellAsDamaged(err error) error {
	if err == nil || d.damaged == nil {
		return err
	}
	return fmt.Errorf("%w; the device enrols again because the certificate that it has cannot be used: %s", err,
		d.damaged.Error())
}

func (cfg Config) withDefaults() Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.SaveStatus == nil {
		cfg.SaveStatus = func(identity.Status) error { return nil }
	}
	if cfg.wall == nil {
		cfg.wall = time.Now
	}
	if cfg.enrolWaitMin == 0 {
		cfg.enrolWaitMin, cfg.enrolWaitMax = enrolWaitMinDefault, enrolWaitMaxDefault
		cfg.refusedWaitMin, cfg.refusedWaitMax = refusedWaitMinDefault, refusedWaitMaxDefault
	}
	if cfg.pollInterval == 0 {
		cfg.pollInterval = pollIntervalDefault
	}
	return cfg
}

// load reads a certificate of the device's role; nil if there is none.
func (d *Device) load() (*set, error) {
	loaded, err := d.directory.load()
	if err == nil && loaded != nil && loaded.id.Role != d.cfg.Role {
		err := fmt.Errorf("%s is the certificate of %s, not of role %s", d.directory.file(certificateName), loaded.id,
			d.cfg.Role)
		return nil, &failedError{identity.CertificateOfOtherRole, err}
	}
	if cannotRead(err) {
		return loaded, withCode(identity.FilesUnreadable, err)
	}
	return loaded, withCode(identity.FilesDamaged, err)
}

// mustStay reports whether an error of load is about files that must not be replaced: those of another agent, or some
// that may be good.
func mustStay(err error) bool {
	return err != nil && codeOf(err) != identity.FilesDamaged
}

func (d *Device) howToEnrol() string {
	return fmt.Sprintf("enrol it: run `airbound enroll %s NAME` where the controller runs, and start the agent once "+
		"with --token-file FILE, a file that has the token; or connect with --plain-text, in a lab", d.cfg.Role)
}

func (d *Device) hasToken() bool { return d.cfg.Token != "" || d.cfg.TokenFile != "" }

func (d *Device) token() (identity.Token, error) {
	text := d.cfg.Token
	if d.cfg.TokenFile != "" {
		line, err := ReadTokenFile(d.cfg.TokenFile)
		if err != nil {
			return identity.Token{}, err
		}
		text = line
	}
	token, err := identity.ParseToken(text)
	return token, withCode(identity.TokenMalformed, err)
}

// Run enrols the device if it is not, then runs stream, and renews the certificate beside it. It returns when stream
// does.
func (d *Device) Run(ctx context.Context, stream func(context.Context) error) error {
	d.report()
	if d.current() == nil {
		if err := d.enrol(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { d.renewals(ctx) })
	defer group.Wait()
	defer cancel()
	return stream(ctx)
}

func (d *Device) current() *set {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.set
}

// ended reports whether the certificate has ended, by the device's clock.
func (d *Device) ended() bool { return d.clock.now().After(d.current().certificate.NotAfter) }

// Renewal is due between half and two thirds of a certificate's life, at random, so that devices which were enrolled
// together do not renew together. Whatever the clock says, it is not due again in the first quarter.
const (
	renewFrom  = 1.0 / 2
	renewTo    = 2.0 / 3
	renewApart = 4
)

// take makes a set the current one.
func (d *Device) take(s *set) {
	d.clock.prove(s.certificate.NotBefore)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	part := renewFrom + (renewTo-renewFrom)*rand.Float64() //nolint:gosec // jitter needs no secrecy
	d.renewAt = s.certificate.NotBefore.Add(time.Duration(part * float64(s.life())))
	if d.set != nil {
		d.notBefore = time.Now().Add(s.life() / renewApart)
		for replaced := range d.replaced {
			select {
			case replaced <- struct{}{}:
			default:
			}
		}
	}
	d.set = s
	d.status.ID, d.status.NotAfter, d.status.NextRenewal = s.id.String(), s.certificate.NotAfter, d.renewAt
}

// Operations that fail and succeed, as they begin the text of an error.
const (
	starting   = "start"
	enrolling  = "enrol"
	renewing   = "renew the certificate"
	verifying  = "verify the controller"
	connecting = "connect"
)

// record puts the result of an operation into the status. It returns whether it is news.
func (d *Device) record(operation string, err error) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	text := ""
	switch {
	case err != nil:
		text = operation + ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	case d.failed != operation:
		return false
	}
	if text == d.status.LastError {
		return false
	}
	d.failed, d.status.LastError, d.status.LastErrorSince = operation, text, d.clock.now()
	d.status.LastErrorCode = codeOf(err)
	if err == nil {
		d.failed, d.status.LastErrorSince = "", time.Time{}
	}
	d.save()
	return true
}

// report saves the status.
func (d *Device) report() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.save()
}

// save is called with the mutex locked.
func (d *Device) save() {
	if err := d.cfg.SaveStatus(d.status); err != nil {
		d.cfg.Logger.Debug("cannot write the status of the certificate", "error", err)
	}
}
