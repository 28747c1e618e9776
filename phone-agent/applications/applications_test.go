// SPDX-License-Identifier: Apache-2.0

package applications_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/applications"
)

const installed = `com.example.camera 10073 0 /data/user/0/com.example.camera default:targetSdkVersion=33 3003 0 1
com.example.backup 10080 0 /data/user/0/com.example.backup default none 0 1
com.shared.one 10090 0 /data/user/0/com.shared.one default none
com.shared.two 10090 0 /data/user/0/com.shared.two default none
com.both.one 10091 0
com.both.two 10091
android 1000 0 /data/system platform none 0
`

const table = `# what the staff's phones run
live package com.example.camera
background	package com.example.backup # at night
burst package com.shared.one
live package com.both.one
bulk package com.both.two
live package com.not.installed
bulk uid 1010080
bulk dscp CS1
live dscp 34
bulk port 8443
`

func parsed(t *testing.T, tableText, packagesText string) applications.Classes {
	t.Helper()
	chosen, refused := applications.ParseTable(tableText)
	packages, refusedPackages := applications.ParsePackages(packagesText)
	if refused.Count+refusedPackages.Count != 0 {
		t.Fatalf("%v, %v", refused, refusedPackages)
	}
	return applications.New(chosen, packages)
}

func TestTheClassOfAFlow(t *testing.T) {
	t.Parallel()
	classes := parsed(t, table, installed)
	for name, each := range map[string]struct {
		flow applications.Flow
		want applications.Class
	}{
		"a package":                        {applications.Flow{UID: 10073}, applications.Live},
		"of the phone's second user":       {applications.Flow{UID: 1010073}, applications.Live},
		"a user id before the app's":       {applications.Flow{UID: 1010080}, applications.Bulk},
		"the same app of the first user":   {applications.Flow{UID: 10080}, applications.Background},
		"a shared user id":                 {applications.Flow{UID: 10090}, applications.Burst},
		"a shared user id of two classes":  {applications.Flow{UID: 10091}, applications.Default},
		"the same by its port":             {applications.Flow{UID: 10091, RemotePort: 8443}, applications.Bulk},
		"a DSCP":                           {applications.Flow{UID: 10500, DSCP: 34}, applications.Live},
		"a DSCP by its name":               {applications.Flow{UID: 10500, DSCP: 8}, applications.Bulk},
		"a DSCP that is not named":         {applications.Flow{UID: 10500, DSCP: 46}, applications.Default},
		"a DSCP before a port":             {applications.Flow{DSCP: 34, RemotePort: 8443}, applications.Live},
		"a package before a DSCP":          {applications.Flow{UID: 10080, DSCP: 34}, applications.Background},
		"a port":                           {applications.Flow{UID: 10500, RemotePort: 8443}, applications.Bulk},
		"an SDK's sandbox of the camera":   {applications.Flow{UID: 20073}, applications.Default},
		"an isolated process":              {applications.Flow{UID: 99073}, applications.Default},
		"the system":                       {applications.Flow{UID: 1000}, applications.Default},
		"nobody that the list knows":       {applications.Flow{UID: 4294967294}, applications.Default},
		"a connection that nobody owns":    {applications.Flow{UID: 0}, applications.Default},
		"another app at another port, too": {applications.Flow{UID: 10501, RemotePort: 443}, applications.Default},
	} {
		if got := classes.Find(each.flow); got != each.want {
			t.Errorf("%s: %v, not %v", name, got, each.want)
		}
	}
	if classes.Conflicts() != 1 || classes.NotInstalled() != 1 {
		t.Errorf("%d conflicts, %d not installed", classes.Conflicts(), classes.NotInstalled())
	}
}

func TestWithoutATableEverythingIsDefault(t *testing.T) {
	t.Parallel()
	empty, _ := applications.ParseTable("\n# nothing\n")
	if empty.Len() != 0 || empty.NamesPackages() {
		t.Error("an empty table has entries")
	}
	for _, classes := range []applications.Classes{
		{}, applications.New(applications.Table{}, applications.Packages{}), parsed(t, "", installed),
	} {
		for _, flow := range []applications.Flow{{UID: 10073}, {RemotePort: 443}} {
			if got := classes.Find(flow); got != applications.Default {
				t.Errorf("%v: %v", flow, got)
			}
		}
	}
}

func TestWrongLinesOfATableAreLeftOut(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"live com.example.camera":                  "2 words, not CLASS KIND VALUE",
		"live package com.example.camera twice":    "4 words, not CLASS KIND VALUE",
		"lively package com.example.camera":        `"lively" is none of the classes default, live, `,
		"live package com..camera":                 `"com..camera" is not the name of a package`,
		"live package 1com.camera":                 `"1com.camera" is not the name of a package`,
		"live package com.exa\xff":                 `is not the name of a package`,
		"live package " + strings.Repeat("a", 224): "is not the name of a package",
		"live uid 4294967295":                      `"4294967295" is not a user id, 0 to 4294967294`,
		"live uid -1":                              `"-1" is not a user id`,
		"live dscp 0":                              `"0" is not a DSCP, 1 to 63 or a name such as AF41`,
		"live dscp 64":                             `"64" is not a DSCP`,
		"live dscp 0x22":                           `"0x22" is not a DSCP`,
		"live dscp CS0":                            `"CS0" is not a DSCP`,
		"live dscp CS8":                            `"CS8" is not a DSCP`,
		"live dscp AF44":                           `"AF44" is not a DSCP`,
		"live dscp AF51":                           `"AF51" is not a DSCP`,
		"live dscp af":                             `"af" is not a DSCP`,
		"live host 10001":                          `"host" is none of package, uid, dscp, port`,
		"live port 0":                              `"0" is not a port, 1 to 65535`,
		"live port 65536":                          `"65536" is not a port, 1 to 65535`,
		"bulk package com.example.backup":          "com.example.backup is of the class live already",
	} {
		chosen, refused := applications.ParseTable("live package com.example.backup\r\n" + line + "\nlive uid 10001")
		if refused.Count != 1 || !strings.Contains(refused.First[0].Error(), want) ||
			!strings.HasPrefix(refused.First[0].Error(), "line 2: ") {
			t.Errorf("%q: %v", line, refused)
		}
		packages, _ := applications.ParsePackages("com.example.backup 10080 0")
		classes := applications.New(chosen, packages)
		for _, uid := range []uint32{10080, 10001} {
			if got := classes.Find(applications.Flow{UID: uid}); got != applications.Live {
				t.Errorf("%q: the other lines: %v", line, got)
			}
		}
	}
}

func TestWrongLinesOfTheListOfPackagesAreLeftOut(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"com.example.camera":             "no user id",
		"com.example.camera x 0":         `"x" is not a user id`,
		"com.example.camera 4294967295":  `"4294967295" is not a user id`,
		"com/example 10073 0":            `"com/example" is not the name of a package`,
		" 10073":                         `"" is not the name of a package`,
		"com.example.backup 10099 0 /da": "com.example.backup is there already",
	} {
		packages, refused := applications.ParsePackages("com.example.backup 10080 0\n" + line + "\ncom.last 10001 0\n")
		if refused.Count != 1 || !strings.Contains(refused.First[0].Error(), "line 2: "+want) || packages.Count() != 2 {
			t.Errorf("%q: %v, %d packages", line, refused, packages.Count())
		}
	}
}

func TestALongListIsCutAndCounted(t *testing.T) {
	t.Parallel()
	var tableText, packagesText strings.Builder
	for i := range 1<<16 + 10 {
		fmt.Fprintf(&packagesText, "com.p%d %d 0\n", i, 10_000+i)
		if i < 4096+7 {
			fmt.Fprintf(&tableText, "bulk uid %d\n", i)
		}
	}
	packages, refused := applications.ParsePackages(packagesText.String())
	if packages.Count() != 1<<16 || refused.Count != 10 || len(refused.First) != 4 {
		t.Errorf("%d packages, %d refused, %v", packages.Count(), refused.Count, refused.First)
	}
	if _, refused = applications.ParseTable(tableText.String()); refused.Count != 7 {
		t.Errorf("%d entries refused", refused.Count)
	}
}

// The code points are those of the RFCs that name them.
func TestTheNamesOfDSCPs(t *testing.T) {
	t.Parallel()
	for name, dscp := range map[string]uint8{
		"CS1": 8, "CS2": 16, "CS3": 24, "CS4": 32, "CS5": 40, "CS6": 48, "CS7": 56,
		"AF11": 10, "AF12": 12, "AF13": 14, "AF21": 18, "AF22": 20, "AF23": 22,
		"AF31": 26, "AF32": 28, "AF33": 30, "AF41": 34, "AF42": 36, "AF43": 38,
		"EF": 46, "VA": 44, "LE": 1, "af41": 34, "1": 1, "63": 63,
	} {
		chosen, refused := applications.ParseTable("live dscp " + name)
		if refused.Count > 0 {
			t.Errorf("%s: %v", name, refused)
		}
		classes := applications.New(chosen, applications.Packages{})
		for other := range uint8(64) {
			if got := classes.Find(applications.Flow{DSCP: other}); (got == applications.Live) != (other == dscp) {
				t.Errorf("%s: %d is of class %v", name, other, got)
			}
		}
		if !classes.NamesDSCPs() {
			t.Errorf("%s: no DSCP matters", name)
		}
	}
	if parsed(t, "live uid 1\nlive port 1", "").NamesDSCPs() {
		t.Error("a DSCP matters that no line names")
	}
}

func TestTheWordsOfClasses(t *testing.T) {
	t.Parallel()
	for class := applications.Default; class <= applications.Background; class++ {
		if back, known := applications.ParseClass(class.String()); !known || back != class {
			t.Errorf("%v: %v", class, back)
		}
	}
	if _, known := applications.ParseClass("Live"); known || applications.Class(5).String() != "class 5" {
		t.Error("a class that there is not")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(table, installed, uint32(10073), uint8(34), uint16(8443))
	f.Add("live uid 1\nx", "a 1\n\x00", uint32(1), uint8(0), uint16(0))
	f.Fuzz(func(t *testing.T, tableText, packagesText string, uid uint32, dscp uint8, port uint16) {
		chosen, refused := applications.ParseTable(tableText)
		packages, refusedPackages := applications.ParsePackages(packagesText)
		for _, each := range []applications.Refused{refused, refusedPackages} {
			if (each.Count == 0) != (len(each.First) == 0) || uint64(len(each.First)) > each.Count {
				t.Errorf("%v", each)
			}
		}
		flow := applications.Flow{UID: uid, DSCP: dscp, RemotePort: port}
		class := applications.New(chosen, packages).Find(flow)
		again := applications.New(chosen, packages)
		if class > applications.Background {
			t.Errorf("%v", class)
		}
		// Nothing in a file makes another line of it count less.
		before := applications.Flow{UID: 4294899999}
		chosen, _ = applications.ParseTable("live uid 4294899999\n" + tableText)
		if got := applications.New(chosen, packages).Find(before); got != applications.Live {
			t.Errorf("a line before them has the class %v", got)
		}
		chosen, _ = applications.ParseTable("bulk package com.first")
		packages, _ = applications.ParsePackages("com.first 99999\n" + packagesText)
		if got := applications.New(chosen, packages).Find(before); got != applications.Bulk {
			t.Errorf("a package before them has the class %v", got)
		}
		// Which line comes first does not matter where no line was refused.
		if refused.Count == 0 && again.Find(flow) != class {
			t.Error("the same table gives two classes")
		}
	})
}
