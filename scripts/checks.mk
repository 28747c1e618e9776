# SPDX-License-Identifier: Apache-2.0
#
# The steps of the checks and what each needs. scripts/test.sh runs them: make is the pool, with a slot for each
# processor and one more. A step is one process that computes, so it takes one slot; kernels are compiled in the free
# ones. Steps that wait in real time (faults, leases, certificates) are goals of a second make with slots of its own.
#
# Tests need no list here: a new file, package or folder is found.

PYTEST := pytest -o console_output_style=classic --hypothesis-seed=$(SEED)
GOTESTSUM := gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg
LINES := 6.1 6.12

# $(call step,NAME,PREREQUISITES,COMMAND): `+`, so that a make in the command may take free slots.
define define_step
steps += $(1)
$(1): $(filter-out $(BUILT),$(2))
	+@scripts/check-step.sh $(1) $(3)
endef
step = $(eval $(call define_step,$(1),$(2),$(3)))

# $(call pytest,NAME,PREREQUISITES,ARGUMENTS); tests of packages: with where the packages are.
environment = $(if $(filter packages,$(2)),env AIRBOUND_PACKAGES=$(CURDIR)/build/packages)
pytest = $(call step,$(1),$(2),$(environment) $(PYTEST) --junitxml=build/checks/$(1)/junit.xml -o junit_family=xunit1 $(3))

# $(call go_test,NAME,PREREQUISITES,ARGUMENTS)
# Four packages at a time: many tests of agents wait, for a lease or for another process.
go_test = $(call step,$(1),$(2),$(GOTESTSUM) --junitfile build/checks/$(1)/junit.xml -- -p 4 $(3))

with_mark = $(shell grep -lE "pytest\.mark\.$(1)\b" -r $(2) --include="test_*.py" | sort)
test_folders = $(sort $(dir $(shell find $(1) -name 'test_*.py')))
# A path as the end of a step's name: without the folders that say nothing.
short = $(subst /tests,,$(subst .py,,$(1)))

# --- style, types, contracts, generated code ---
lint_scripts := files licences proto-lint proto-breaking proto-current bpf-current configuration-current \
	dashboards-current error-table-current shellcheck ruff mypy import-rules python-names golangci-lint go-modules eslint java c
$(foreach part,$(lint_scripts),$(call step,lint/$(part),,scripts/lint.sh $(part)))
lint := $(filter lint/%,$(steps))

# --- what tests run on ---
# make begins a goal whose prerequisites are not there yet only after all others, the longest as well. So scripts/test.sh
# makes what goals need before them, and has BUILT name it: it is no step, and no prerequisite, any more.
$(call step,programs,,scripts/build.sh)
$(call step,packages,programs,scripts/packages.sh)
$(foreach line,$(LINES),$(call step,kernel/lab-$(line),,lab/kernel/build.sh --line $(line)))

# --- unit: no kernel ---
go_parts := internal ap-firmware phone-agent lab
$(foreach part,$(go_parts),$(call go_test,go/$(part),,-race -trimpath ./$(part)/...))
fuzzed := $(shell grep -lE '^func Fuzz' -r internal ap-firmware phone-agent lab --include='*_test.go' | xargs -n 1 dirname | sort -u)
$(foreach package,$(fuzzed),$(call step,fuzz/$(package),,scripts/fuzz.sh ./$(package)))

long := $(call with_mark,long,controller/tests)
$(foreach folder,$(call test_folders,controller/tests),$(call pytest,$(call short,$(folder:/=)),programs,\
	-m 'not long' $(wildcard $(folder)test_*.py)))
$(foreach file,$(long),$(call pytest,waiting/$(call short,$(file)),programs,-m long $(file)))
$(foreach folder,$(call test_folders,lab/tests),$(call pytest,$(call short,$(folder:/=)),programs,\
	-m 'not uml' $(filter-out $(call with_mark,uml,lab/tests),$(wildcard $(folder)test_*.py))))
$(foreach folder,$(call test_folders,ap-firmware phone-agent),$(call pytest,packages/$(call short,$(folder:/=)),packages,\
	-m 'not uml' $(filter-out $(call with_mark,uml,ap-firmware phone-agent),$(wildcard $(folder)test_*.py))))
$(call pytest,packages/controller,,controller/debian)
$(call pytest,packages/release,packages,scripts/tests)
$(call go_test,packages/programs,packages,-tags packages -trimpath -count=1 ./ap-firmware/openwrt/packagestest)
$(foreach folder,$(wildcard docs/tests),$(call pytest,docs,programs,-m 'not hours' --ignore $(folder)/test_ways.py $(folder)))
$(call pytest,packages/ways,packages,docs/tests/test_ways.py)
$(call pytest,dashboards,programs,dashboards)
$(call pytest,tools,,tools)
$(call pytest,deploy,,deploy)
$(call step,java/benchmark,,scripts/test-java.sh --junit build/checks/java/benchmark/junit.xml)
waiting := $(filter waiting/%,$(steps))
unit := $(filter-out $(lint) $(waiting) kernel/% $(BUILT),$(steps))

# --- uml: the kernel series and the cell ---
# $(call kept,NAME,PREREQUISITES,COMMAND): a check of $(line), which runs again only if one of its inputs has changed.
kept = $(call step,$(1),$(2),kernel/tests/kept.sh $(line) $(3))
uml_files := $(call with_mark,uml,lab/tests ap-firmware phone-agent)
$(foreach file,$(uml_files),$(call pytest,cell/$(notdir $(call short,$(file))),programs packages $(LINES:%=kernel/lab-%),\
	-m uml $(file)))
$(foreach line,$(LINES),\
	$(call kept,kernel/series-$(line),,kernel/tests/check-series.sh --line $(line) ci)\
	$(call kept,kernel/android-$(line),kernel/series-$(line),kernel/android/tests/test.sh $(line))\
	$(call kept,kernel/boot-$(line),kernel/android-$(line),kernel/tests/boot-test.sh --line $(line))\
	$(call kept,kernel/stress-$(line),kernel/android-$(line),kernel/tests/boot-test.sh --line $(line) test_stress)\
	$(call kept,kernel/unpatched-$(line),kernel/android-$(line),kernel/tests/same-as-unpatched.sh $(line)))
$(call step,cell/module-on-a-phone,kernel/lab-6.1,phone-agent/android/tests/uml-test.sh)
uml := $(filter-out $(BUILT),$(filter kernel/% cell/%,$(steps)))
all := $(filter-out $(waiting) $(BUILT),$(steps))

# --- series: for changes of the series ---
$(foreach line,$(LINES),\
	$(call step,series/all-$(line),kernel/unpatched-$(line),kernel/tests/check-series.sh --line $(line) all)\
	$(call step,series/debug-$(line),series/all-$(line),kernel/tests/debug-test.sh $(line))\
	$(call step,series/arm64-$(line),series/debug-$(line),kernel/tests/arm64-test.sh $(line))\
	$(call step,series/phone-arm64-$(line),series/arm64-$(line),phone-agent/android/tests/arm64-test.sh $(line)))
series := $(filter series/% kernel/boot-% kernel/stress-%,$(steps))

# Style and types begin first: they take a minute, and fail by the smallest slip. Then the longest, by the seconds of an
# earlier run; what is not listed yet begins before them.
listed := $(shell sort -rn scripts/check-seconds.txt | awk '{ print $$2 }')
in_order = $(filter lint/%,$(1)) $(filter-out $(listed) lint/%,$(1)) \
	$(foreach name,$(listed),$(filter-out lint/%,$(filter $(name),$(1))))

.PHONY: $(steps) lint unit uml all waiting series names
$(foreach goal,lint unit uml all waiting series,$(eval $(goal): $(call in_order,$($(goal)))))
names:
	@printf '%s\n' $(sort $(steps))
