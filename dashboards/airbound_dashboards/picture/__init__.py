# SPDX-License-Identifier: Apache-2.0
"""Pictures of the dashboards: their own queries at a Prometheus, drawn with matplotlib in their own grid.

It shows what Grafana shows, not how: fonts, colours and tick marks are those of matplotlib.
"""
