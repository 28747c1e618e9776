# SPDX-License-Identifier: Apache-2.0
"""Draws what `airbound-handover survey` has measured."""
