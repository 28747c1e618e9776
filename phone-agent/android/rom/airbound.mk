# SPDX-License-Identifier: Apache-2.0
#
# For a device's makefile: $(call inherit-product, .../airbound.mk). Beside it are bin/airbound-phone (a static program,
# CGO_ENABLED=0 GOOS=linux GOARCH=arm64), airbound.conf, airbound.rc and sepolicy/.

airbound_path := $(call my-dir)

PRODUCT_COPY_FILES += \
    $(airbound_path)/bin/airbound-phone:$(TARGET_COPY_OUT_VENDOR)/bin/airbound-phone \
    $(airbound_path)/airbound.conf:$(TARGET_COPY_OUT_VENDOR)/etc/airbound.conf \
    $(airbound_path)/airbound.rc:$(TARGET_COPY_OUT_VENDOR)/etc/init/airbound.rc

BOARD_VENDOR_SEPOLICY_DIRS += $(airbound_path)/sepolicy
