# SPDX-License-Identifier: Apache-2.0
"""Mutation tests: small changes to the code, each of which some test should notice."""
