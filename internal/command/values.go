// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"time"
)

// Controller is the flag --controller.
type Controller struct{ Address string }

// Flags registers the flag.
func (c *Controller) Flags(flags *flag.FlagSet) {
	flags.StringVar(&c.Address, "controller", "", "`ADDR:PORT` of the controller (required)")
}

// Check returns what is wrong with the flag's value.
func (c *Controller) Check() error {
	if c.Address == "" {
		return errors.New("--controller is missing")
	}
	if _, port, err := net.SplitHostPort(c.Address); err != nil || port == "" {
		return fmt.Errorf("--controller %q is not ADDR:PORT", c.Address)
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
