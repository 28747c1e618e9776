// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"net"
)

// EnrolmentPort is where a controller enrols devices unless --enroll names another place.
const EnrolmentPort = "50053"

// Security is how an agent identifies itself to controllers, and them: the flags for mutual TLS, or for none.
type Security struct {
	PlainText        bool
	Directory        string
	Token, TokenFile string
	Enrolment        []string
}

// Flags registers the flags. The directory is that of the certificate unless another is given.
func (s *Security) Flags(flags *flag.FlagSet, directory string) {
	flags.StringVar(&s.Directory, "credentials-dir", directory,
		"`DIR` of the key and the certificate; it must survive a reboot and be private to the agent's user")
	flags.StringVar(&s.TokenFile, "token-file", "",
		"`FILE` with the token that enrols this device at its first start; not read if it is enrolled")
	flags.StringVar(&s.Token, "token", "",
		"the `TOKEN` itself; other users of the device can see it, --token-file is better")
	Repeated(flags, &s.Enrolment, "enroll", "`ADDR:PORT` where the controller enrols devices (default: port "+
		EnrolmentPort+" of --controller); may be given several times")
	flags.BoolVar(&s.PlainText, "plain-text", false,
		"connect without TLS and without a certificate: anybody on the way can read and change everything; for labs")
}

// Check returns what is wrong with the flags' values, and completes them.
func (s *Security) Check(controllers []string) error {
	if s.PlainText && (s.Token != "" || s.TokenFile != "" || len(s.Enrolment) > 0) {
		return errors.New("--plain-text excludes --token, --token-file and --enroll")
	}
	if s.Token != "" && s.TokenFile != "" {
		return errors.New("--token and --token-file exclude each other")
	}
	if s.Directory == "" {
		return errors.New("--credentials-dir is empty")
	}
	if err := checkAddresses("enroll", s.Enrolment); err != nil || len(s.Enrolment) > 0 {
		return err
	}
	for _, controller := range controllers {
		host, _, err := net.SplitHostPort(controller)
		if err != nil {
			return err
		}
		s.Enrolment = append(s.Enrolment, net.JoinHostPort(host, EnrolmentPort))
	}
	return nil
}
