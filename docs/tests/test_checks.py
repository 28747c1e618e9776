# SPDX-License-Identifier: Apache-2.0
"""What checks.py refuses. What it takes is in commands.toml."""

import pytest
from checks import check


@pytest.mark.parametrize(
    "text",
    [
        "airbound explain",
        "airbound enroll telephone x",
        "airbound-lab run --modes none-such",
        "airbound-lab run --terminals 0",
        "airbound-lab compare --preset none-such",
        "airbound-lab load --none-such 1",
        "airbound-phone run --none-such",
        "airbound-ap --interval-ms much",
        ".venv/bin/airbound-dashboards --none-such",
        "make none-such",
        "make package/none-such/compile",
        "docker compose run --rm none-such",
        "docker compose run --none-such airbound cells",
        "docker compose run --rm airbound none-such",
        "docker compose none-such",
        "docker tag none-such x",
        "scripts/volumes.sh none-such FILE",
        "uci set airbound.main.none_such=1",
        "uci set airbound.main.controller=x",
        "uci add_list airbound.main.enabled=1",
        "opkg install /tmp/airbound-ap_9.9.9-r1_mips_24kc.ipk",
        "opkg install /tmp/airbound-ap_0.1.0-r1_none_such.ipk",
        "apk del none-such",
        "service airbound-none-such start",
        "cp /path/to/airbound/none-such x",
        "adb shell su -c /data/adb/modules/airbound/none-such doctor",
        "sudoedit /etc/airbound/none-such.conf",
        "kubectl create namespace none-such",
        "kubectl -n airbound create secret generic none-such",
        "kubectl -n airbound port-forward svc/none-such 50052",
        "none-such",
    ],
)
def test_what_is_wrong_is_refused(text: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        check(text)
