# SPDX-License-Identifier: Apache-2.0
"""The errors that a person sees; each ends the command with a message and an exit status."""

from __future__ import annotations


class LabError(Exception):
    """Something the user has to know; the message says what and where. Exit status 1."""

    exit_status = 1


class UsageError(LabError):
    """The request itself is wrong, or the machine lacks a tool that it needs. Exit status 2."""

    exit_status = 2
