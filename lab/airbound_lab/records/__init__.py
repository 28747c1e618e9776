# SPDX-License-Identifier: Apache-2.0
"""What kernels recorded, as records."""
