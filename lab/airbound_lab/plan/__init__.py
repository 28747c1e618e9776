# SPDX-License-Identifier: Apache-2.0
"""What the guest is to do: topology and commands, as one document."""
