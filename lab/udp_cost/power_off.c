// SPDX-License-Identifier: Apache-2.0
/* Ends the machine. */
#include <sys/reboot.h>
#include <unistd.h>

int main(void)
{
	return reboot(RB_AUTOBOOT);
}
