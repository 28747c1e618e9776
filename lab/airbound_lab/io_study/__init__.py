# SPDX-License-Identifier: Apache-2.0
"""`airbound-lab study io`: what SQLite asks of a storage device, and how long that takes, in virtual time."""
