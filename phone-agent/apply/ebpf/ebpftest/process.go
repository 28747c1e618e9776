// SPDX-License-Identifier: Apache-2.0

package ebpftest

import "syscall"

// attributes start a process in a cgroup, as another user unless uid is 0.
func attributes(cgroup int, uid uint32) *syscall.SysProcAttr {
	made := &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: cgroup}
	if uid != 0 {
		made.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	return made
}
