#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the initramfs of cost.sh from the host's programs: Python with the modules that guest_work.py imports, ip, tc,
# ethtool, a shell, and their libraries.
#
#   initramfs.sh FILE
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -eq 1 ] || {
	sed -n '4,7s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

add() { # FILE...
	local file
	for file in "$@"; do
		mkdir -p "$root$(dirname "$file")"
		[ -e "$root$file" ] || cp -L "$file" "$root$file"
	done
}

add_with_libraries() { # PROGRAM
	local libraries
	mapfile -t libraries < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*')
	add "$1" "${libraries[@]}"
}

# The modules that guest_work.py imports, and the encodings that Python loads at its start.
mapfile -t modules < <(/usr/bin/python3 -I -S -B -c '
import encodings.ascii, encodings.idna, encodings.utf_8, importlib.util, os, runpy, sys
sys.path.insert(0, sys.argv[1])
import guest_work
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None) or ""
    if file.startswith("/usr/lib"):
        print(file)
        cached = importlib.util.cache_from_source(file) if file.endswith(".py") else file
        if cached != file and os.path.exists(cached):
            print(cached)
' "$here")

mkdir -p "$root"/{proc,sys,dev,run,tmp,bin,etc}
for program in /usr/bin/{python3,dash,mount,sleep} "$(command -v ip)" "$(command -v tc)" "$(command -v ethtool)" \
	"$(command -v sysctl)"; do
	add_with_libraries "$program"
done
for module in "${modules[@]}"; do
	case $module in
	*.so) add_with_libraries "$module" ;;
	*) add "$module" ;;
	esac
done
ln -s /usr/bin/dash "$root/bin/sh"
cp "$here/guest_work.py" "$root/guest_work.py"
cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tracefs tracefs /sys/kernel/tracing
# The kernel passes unknown parameters of its command line to init as environment.
python3 -I -S /guest_work.py "$CASES" "$REPEATS" "$MEGABYTES"
echo "guest ends"
exec python3 -I -S -c 'import ctypes; ctypes.CDLL(None).reboot(0x1234567)'
INIT
chmod +x "$root/init"
(cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0 --reproducible) >"$1"
