#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
#   install.sh DIR    puts the package's files into DIR, as they are on the access point, all with mode 0644
set -euo pipefail

application=$(cd "$(dirname "$0")" && pwd)
to=${1:?install.sh DIR}

copy() { # FROM PLACE: every file below a folder of the application
	local file
	(cd "$application/$1" && find . -type f -printf '%P\0' | sort -z) | while IFS= read -r -d '' file; do
		install -D -m 0644 "$application/$1/$file" "$to/$2$file"
	done
}

copy htdocs www/
copy root ""
