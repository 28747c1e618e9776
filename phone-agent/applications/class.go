// SPDX-License-Identifier: Apache-2.0

// Package applications finds the class of a connection: what the application that owns it needs. It is pure: the text
// of an operator's table and of Android's list of packages comes in, classes go out.
//
// A package's name stays on the phone. What is reported is a class and a user id.
package applications

import "fmt"

// Class is what an application needs of the air.
type Class uint8

// The classes. The numbers are those of airbound.v1.ApplicationClass.
const (
	// Default is whatever the table does not name.
	Default Class = iota
	// Live needs a rate at every moment: a live video.
	Live
	// Burst needs the end of each transfer soon, and pauses between them: photos.
	Burst
	// Bulk needs an average rate: a file.
	Bulk
	// Background takes what is left.
	Background
	// ClassCount is how many classes there are.
	ClassCount
)

var classNames = [...]string{"default", "live", "burst", "bulk", "background"}

// String returns the word of the table.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// ParseClass is the inverse of String.
func ParseClass(word string) (Class, bool) {
	for class, name := range classNames {
		if name == word {
			return Class(class), true
		}
	}
	return Default, false
}
