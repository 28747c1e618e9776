# SPDX-License-Identifier: Apache-2.0
"""What only a controller in a container needs: what is made at the first start, and a health check."""
