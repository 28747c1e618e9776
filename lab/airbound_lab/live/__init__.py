# SPDX-License-Identifier: Apache-2.0
"""A live cell: a guest whose virtual time keeps to real time, with a controller outside of it."""
