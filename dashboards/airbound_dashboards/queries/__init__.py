# SPDX-License-Identifier: Apache-2.0
"""PromQL of the dashboards' panels. Nothing here knows what a panel looks like.

A cell's series are at the controller that owns it, and a terminal's at the owner of its cell. `max by (bssid)` and the
like leave out `instance`, so that a line goes on when the owner changes.
"""
