# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
#
# Stand-in for OpenWrt's: what an init script says about its service becomes a file in /var/run/procd, a line for each
# value: its kind, a tab, the value. Who plays procd reads that file. Without an instance there is no file.

SERVICES=/var/run/procd

procd_open_service() {
	mkdir -p "$SERVICES"
	_service=$1
	: >"$SERVICES/.new"
}
procd_close_service() {
	local opened
	opened=$(cat "$SERVICES/.new")
	service_triggers
	if [ -n "$opened" ]; then
		mv "$SERVICES/.new" "$SERVICES/$_service"
	else
		rm -f "$SERVICES/.new" "$SERVICES/$_service"
	fi
}
procd_kill() { rm -f "$SERVICES/$1"; }
procd_open_instance() { printf 'instance\t%s\n' "${1:-instance1}" >>"$SERVICES/.new"; }
procd_close_instance() { :; }
procd_append_param() {
	local kind="$1" value
	shift
	for value; do
		printf '%s\t%s\n' "$kind" "$value" >>"$SERVICES/.new"
	done
}
procd_set_param() { procd_append_param "$@"; }
procd_add_jail() { procd_append_param jail "$@"; }
procd_add_reload_trigger() { procd_append_param reload_trigger "$@"; }
procd_add_validation() { "$1"; }

# uci_load_validate PACKAGE TYPE SECTION FUNCTION OPTION:TYPE[:DEFAULT]...: without a section, what is valid is listed.
uci_load_validate() {
	local _package="$1" _section="$3" _function="$4" _option _result
	shift 4
	if [ -z "$_section" ]; then
		procd_append_param validation "$@"
		return
	fi
	for _option; do
		eval "local ${_option%%:*}"
	done
	_option=$(/sbin/validate_data "/etc/config/$_package" "$_section" "$@")
	_result=$?
	eval "$_option"
	"$_function" "$_section" "$_result"
}
