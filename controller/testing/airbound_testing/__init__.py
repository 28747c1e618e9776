# SPDX-License-Identifier: Apache-2.0
"""Agents for tests: they speak the contract and do what it says, so that a test sees what a phone would do."""
