// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"time"
)

// Controller is the flag --controller, which may be given several times.
type Controller struct{ Addresses []string }

// Flags registers the flag.
func (c *Controller) Flags(flags *flag.FlagSet) {
	Repeated(flags, &c.Addresses, "controller", "`ADDR:PORT` of the controller (required); may be given several "+
		"times, and a name may have several addresses: each attempt takes one of all of them at random")
}

// Check returns what is wrong with the flag's values.
func (c *Controller) Check() error {
	if len(c.Addresses) == 0 {
		return errors.New("--controller is missing")
	}
	return checkAddresses("controller", c.Addresses)
}

// String is the addresses for a person.
func (c *Controller) String() string { return strings.Join(c.Addresses, " ") }

func checkAddresses(flagName string, addresses []string) error {
	for _, address := range addresses {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			return fmt.Errorf("--%s %q is not ADDR:PORT", flagName, address)
		}
	}
	return nil
}

// CheckWithin returns an error if the value of a flag is outside of its limits.
func CheckWithin(name string, value, lowest, highest time.Duration) error {
	if value < lowest || value > highest {
		return fmt.Errorf("--%s %v is not within %v to %v", name, value, lowest, highest)
	}
	return nil
}
