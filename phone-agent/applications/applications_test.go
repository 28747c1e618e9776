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
	f.Add(table, installed, uint32(10073), uint16(8443))
	f.Add("live uid 1\nx", "a 1\n\x00", uint32(1), uint16(0))
	f.Fuzz(func(t *testing.T, tableText, packagesText string, uid uint32, port uint16) {
		chosen, refused := applications.ParseTable(tableText)
		packages, refusedPackages := applications.ParsePackages(packagesText)
		for _, each := range []applications.Refused{refused, refusedPackages} {
			if (each.Count == 0) != (len(each.First) == 0) || uint64(len(each.First)) > each.Count {
				t.Errorf("%v", each)
			}
		}
		flow := applications.Flow{UID: uid, RemotePort: port}
		class := applications.New(chosen, packages).Find(flow)
		if class > applications.Background {
			t.Errorf("%v", class)
		}
		// Which line comes first does not matter where no line was refused.
		if refused.Count == 0 && applications.New(chosen, packages).Find(flow) != class {
			t.Error("the same table gives two classes")
		}
	})
}
