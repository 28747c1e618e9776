# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from airbound_lab.medium_theory import path_loss


@pytest.mark.parametrize(("width_mhz", "dbm"), [(20, -93.99), (40, -90.98), (80, -87.97)])
def test_the_noise_floor_is_kt_width_and_noise_figure(width_mhz: float, dbm: float) -> None:
    assert path_loss.noise_floor_dbm(width_mhz) == pytest.approx(dbm, abs=0.01)


def test_free_space_at_a_metre() -> None:
    """ns-3's reference loss is 46.6777 dB, for 5.15 GHz."""
    assert path_loss.path_loss_db(1, 5150) == pytest.approx(46.6777, abs=0.01)


def test_ten_times_the_distance_is_thirty_db() -> None:
    near, far = path_loss.path_loss_db(3, 2437), path_loss.path_loss_db(30, 2437)
    assert far - near == pytest.approx(30)
    assert path_loss.path_loss_db(30, 2437, 2) - path_loss.path_loss_db(3, 2437, 2) == pytest.approx(20)


def test_nearer_than_a_metre_is_a_metre() -> None:
    assert path_loss.path_loss_db(0, 2437) == path_loss.path_loss_db(1, 2437)


@pytest.mark.parametrize(("band_ghz", "at_a_metre_db"), [(2.4, 40.18), (5.0, 46.73)])
def test_snr_is_power_less_loss_less_noise(band_ghz: float, at_a_metre_db: float) -> None:
    assert path_loss.snr_db(10, 20, band_ghz) == pytest.approx(16 - at_a_metre_db - 30 + 93.99, abs=0.02)
    assert path_loss.snr_db(10, 80, band_ghz) == pytest.approx(path_loss.snr_db(10, 20, band_ghz) - 6.02, abs=0.01)
    louder = path_loss.snr_db(10, 20, band_ghz, transmit_power_dbm=20, noise_figure_db=5, exponent=2)
    assert louder == pytest.approx(path_loss.snr_db(10, 20, band_ghz) + 4 + 2 + 10)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="distance_m: -1 is negative"):
        path_loss.snr_db(-1, 20, 2.4)
    with pytest.raises(ValueError, match="width_mhz: 0 is not positive"):
        path_loss.snr_db(1, 0, 2.4)
    with pytest.raises(ValueError, match=r"band_ghz: 3.6 is not one of \[2.4, 5.0\]"):
        path_loss.snr_db(1, 20, 3.6)
