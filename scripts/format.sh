#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Formats Go, Python, Java and proto in place, and applies ruff's safe fixes.

. "$(dirname "$0")/lib.sh"
use_tools
ruff check --fix-only
ruff format
golangci-lint fmt ./...
buf format --write
git ls-files -z --cached --others --exclude-standard 'phone-agent/benchmark/*.java' |
	xargs -0 bash -c '. scripts/lib.sh; java_format --replace "$@"' java_format
