# SPDX-License-Identifier: Apache-2.0
"""What runs inside the guest: standard library only, and little of it."""
