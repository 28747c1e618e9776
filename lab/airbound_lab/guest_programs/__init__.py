# SPDX-License-Identifier: Apache-2.0
"""Programs of the lab's own that run in the guest beside the agents, with the controller's Python."""
