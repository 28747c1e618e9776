// SPDX-License-Identifier: Apache-2.0

package applications

// Flow is what a connection is classified by.
type Flow struct {
	// UID is the owner of the socket.
	UID uint32
	// DSCP is what the application has its packets marked with (RFC 2474); 0: not at all, or not known.
	DSCP uint8
	// RemotePort is the server's.
	RemotePort uint16
}

// Classes finds classes. It is made once for a table and a list of packages, and changes no more. With the zero value
// everything is in Default.
type Classes struct {
	table Table
	// By app id, of the packages that the table names.
	apps map[uint32]Class
	// App ids that packages share which the table has in different classes.
	conflicts map[uint32]bool
	absent    uint64
}

// appIDsOfUser are the ids of one user of the phone: a uid is user * appIDsOfUser + app id (PER_USER_RANGE of
// android.os.UserHandle).
const appIDsOfUser = 100_000

// New resolves a table by the packages that are installed.
func New(table Table, packages Packages) Classes {
	made := Classes{table: table, apps: map[uint32]Class{}, conflicts: map[uint32]bool{}}
	for name, class := range table.packages {
		id, installed := packages.appIDs[name]
		if !installed {
			made.absent++
			continue
		}
		if before, named := made.apps[id]; named && before != class {
			made.conflicts[id] = true
		}
		made.apps[id] = class
	}
	for id := range made.conflicts {
		delete(made.apps, id)
	}
	return made
}

// NamesPackages reports whether the table does, so that the list of packages matters.
func (c Classes) NamesPackages() bool { return c.table.NamesPackages() }

// NamesDSCPs reports whether the table does, so that a connection's DSCP matters.
func (c Classes) NamesDSCPs() bool { return len(c.table.dscps) > 0 }

// Conflicts is how many shared user ids have packages of different classes. They are classified as if the table named
// none of these packages.
func (c Classes) Conflicts() uint64 { return uint64(len(c.conflicts)) }

// NotInstalled is how many packages of the table are not installed.
func (c Classes) NotInstalled() uint64 { return c.absent }

// Find returns the class of a flow: by its user id or that of the app, whichever user of the phone runs it; else by its
// DSCP; else by the server's port. An isolated process and an SDK's sandbox have user ids of their own, which are those
// of no package: what runs there is not the app that the operator trusts.
func (c Classes) Find(flow Flow) Class {
	if class, named := c.table.uids[flow.UID]; named {
		return class
	}
	if class, named := c.apps[flow.UID%appIDsOfUser]; named {
		return class
	}
	if class, named := c.table.dscps[flow.DSCP]; named {
		return class
	}
	return c.table.ports[flow.RemotePort]
}
