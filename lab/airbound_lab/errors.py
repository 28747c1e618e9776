# SPDX-License-Identifier: Apache-2.0
"""The errors of the command; each ends it with a message and an exit status."""

from __future__ import annotations


class LabError(Exception):
    """A run failed; the message names what and where. Exit status 1."""

    exit_status = 1


class UsageError(LabError):
    """The request itself is wrong, or the machine lacks a tool that it needs. Exit status 2."""

    exit_status = 2


class MissingError(UsageError):
    """A tool, one of our programs or the kernel is not there yet; the message says how to get it."""
