# SPDX-License-Identifier: Apache-2.0
"""What the controller shows to Prometheus: samples taken in the event loop, formatted and served elsewhere."""
