// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/airbound/airbound/internal/diagnosis"
)

const permissionsPart = "permissions"

// Permissions looks at what this process may do. selinuxRoot is where selinuxfs is, usually /sys/fs/selinux.
func Permissions(procRoot, selinuxRoot string, euid int) []diagnosis.Finding {
	findings := []diagnosis.Finding{userOf(euid)}
	mask, known := diagnosis.Capabilities(procRoot)
	switch {
	case !known:
		findings = append(findings, diagnosis.Warn(permissionsPart,
			"mount the proc file system, or name it with --proc-root", "capabilities are unknown"))
	case !diagnosis.HasNetAdmin(mask):
		findings = append(findings, diagnosis.Fail(permissionsPart, "run it as root, or give it CAP_NET_ADMIN",
			"CAP_NET_ADMIN is missing (effective capabilities %#x)", mask))
	default:
		findings = append(findings, diagnosis.Good(permissionsPart, "CAP_NET_ADMIN (effective capabilities %#x)", mask))
	}
	return append(findings, selinux(procRoot, selinuxRoot))
}

func userOf(euid int) diagnosis.Finding {
	if euid != 0 {
		return diagnosis.Warn(permissionsPart, "run it as root: on a phone, `su -c '...'`", "user %d", euid)
	}
	return diagnosis.Good(permissionsPart, "root")
}

// selinux is never a failure by itself: whether a file may be used is seen where it is opened.
func selinux(procRoot, selinuxRoot string) diagnosis.Finding {
	enforce, err := os.ReadFile(filepath.Join(selinuxRoot, "enforce"))
	if os.IsNotExist(err) {
		return diagnosis.Good(permissionsPart, "no SELinux")
	}
	context, contextErr := os.ReadFile(filepath.Join(procRoot, "self", "attr", "current"))
	domain := strings.TrimRight(string(context), "\x00\n")
	if contextErr != nil || domain == "" {
		domain = "unknown"
	}
	mode := "mode unknown"
	switch {
	case err != nil:
	case strings.TrimSpace(string(enforce)) == "1":
		mode = "enforcing"
	default:
		mode = "permissive"
	}
	const rooted = "if a file below is refused, look for `avc: denied` in dmesg; ROMs: see phone-agent/android/rom"
	switch name := typeOf(domain); {
	case mode == "permissive", name == "magisk", name == "su", name == "ksu", name == "airbound":
		return diagnosis.Good(permissionsPart, "SELinux %s, context %s", mode, domain)
	default:
		return diagnosis.Warn(permissionsPart, rooted, "SELinux %s, context %s", mode, domain)
	}
}

// typeOf is the third part of a context USER:ROLE:TYPE:LEVEL.
func typeOf(context string) string {
	const place, parts = 2, 4
	if split := strings.SplitN(context, ":", parts); len(split) > place {
		return split[place]
	}
	return ""
}
