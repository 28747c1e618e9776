#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Formats Go, Python and proto in place, and applies ruff's safe fixes.

. "$(dirname "$0")/lib.sh"
use_tools
ruff check --fix-only
ruff format
golangci-lint fmt ./...
buf format --write
