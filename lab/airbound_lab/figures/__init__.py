# SPDX-License-Identifier: Apache-2.0
"""Samples and records to figures, and the file that keeps them."""
