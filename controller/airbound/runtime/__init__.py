# SPDX-License-Identifier: Apache-2.0
"""The event loop around the core."""
