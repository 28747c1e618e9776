# SPDX-License-Identifier: Apache-2.0
"""Enrolment's process: it alone talks to peers without a certificate."""
