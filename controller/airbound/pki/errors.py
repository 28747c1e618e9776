# SPDX-License-Identifier: Apache-2.0
"""What a person is shown when a file of the authority cannot be used."""


class PkiError(ValueError):
    """What is wrong, with which file, and what to do about it."""
