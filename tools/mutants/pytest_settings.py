# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for tests of mutants: Hypothesis draws the same examples each time and shrinks nothing."""

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("mutants")
