#!/system/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The button of the manager's app: joins a controller by the string in the phone's Download folder, if there is one, and
# shows the status and what is missing.

MODDIR=$(cd "$(dirname "$0")" && pwd) || exit
# shellcheck source=SCRIPTDIR/common.sh
. "$MODDIR/common.sh"

# For root, the folder is here whatever the app's process has mounted. Other apps may read the file, so it goes.
JOINING=/data/media/0/Download/airbound-join.txt
if [ -f "$JOINING" ]; then
	if "$AGENT" join - <"$JOINING"; then
		rm -f "$JOINING"
		stop_service
		sh "$MODDIR/service.sh"
	else
		echo "! $JOINING must have the string that 'airbound enroll' prints, and nothing else"
	fi
	echo
elif [ ! -e "$CREDENTIALS/certificate.pem" ]; then
	echo "Not enrolled. Save the string that 'airbound enroll terminal NAME' prints where the controller runs as"
	echo "Download/airbound-join.txt on this phone, and press this button again."
	echo
fi

"$AGENT" status
echo
"$AGENT" doctor
exit 0
