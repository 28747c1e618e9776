# SPDX-License-Identifier: Apache-2.0
"""Where a configuration's values come from, and what is written about its keys. The keys are `airbound.config`'s."""
