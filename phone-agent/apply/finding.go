// SPDX-License-Identifier: Apache-2.0

package apply

// Finding is what a back end's probe found out about one thing that it needs of the kernel or of its configuration.
type Finding struct {
	// What was looked for, such as "cgroup v2".
	Feature string `json:"feature"`
	Found   bool   `json:"found"`
	// Whether the back end cannot work at all without it. Without another it can do less.
	Needed bool `json:"needed"`
	// Where it was found; or why not, and what the back end cannot do without it.
	Detail string `json:"detail,omitempty"`
	// What a person can do about it; empty if only another kernel helps.
	Do string `json:"do,omitempty"`
}
