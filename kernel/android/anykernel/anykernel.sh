### AnyKernel setup of a kernel with Airbound's series. pack.sh puts it beside AnyKernel3's own files.
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC1091,SC2034,SC2289
# The variables are read by the core, which is not part of this repository.

properties() { '
kernel.string=Airbound: bounds on the congestion window of TCP
do.devicecheck=1
do.modules=0
do.systemless=1
do.cleanup=1
do.cleanuponabort=1
@DEVICES@
supported.versions=
supported.patchlevels=
supported.vendorpatchlevels=
'; }

BLOCK=boot
IS_SLOT_DEVICE=auto
RAMDISK_COMPRESSION=auto
PATCH_VBMETA_FLAG=auto

. tools/ak3-core.sh

# The kernel alone is replaced; the ramdisk of a GKI phone is in init_boot.
split_boot
flash_boot
