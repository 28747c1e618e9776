# SPDX-License-Identifier: Apache-2.0
"""Names of ports in metrics and in the log."""

AGENTS, OPERATORS, ENROLLMENT = "agents", "operators", "enrollment"
