// SPDX-License-Identifier: Apache-2.0

package flows

// Kernel changes how packets leave. It is not safe for use by several goroutines.
type Kernel interface {
	// Set makes the flows the only ones in force, at the interface and until the deadline, on CLOCK_BOOTTIME; none
	// leaves packets as they are. It is called again with the same ones and a later deadline. After an error nothing is
	// in force.
	Set(interfaceName string, flows []Flow, deadlineUS int64) error
	// Counters returns what was done so far.
	Counters() (Counters, error)
	// Close leaves packets as they are for good.
	Close() error
}

// Admission has the driver admit time of the air to the access category for video, where the access point demands
// admission. It is not safe for use by several goroutines.
type Admission interface {
	// Admit makes usPerS the admitted time in microseconds of each second, 0 for none. The kernel forgets it with each
	// association, so it is called again. It returns false if there is nothing to admit: the access point does not
	// demand admission now, or there is none.
	Admit(interfaceName string, usPerS uint32) (bool, error)
}
