# SPDX-License-Identifier: Apache-2.0
"""Grafana dashboards of the metrics of Airbound, as code."""
