# SPDX-License-Identifier: Apache-2.0
"""On the host: what is needed, guests that boot, several runs at once."""
