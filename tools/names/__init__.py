# SPDX-License-Identifier: Apache-2.0
"""The lint step `python-names`: names that say nothing about what they name."""
