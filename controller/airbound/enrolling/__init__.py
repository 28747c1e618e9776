# SPDX-License-Identifier: Apache-2.0
"""Enrolment's process: only it has connections with peers without a certificate."""
