# SPDX-License-Identifier: Apache-2.0
"""What a release is made of, as CycloneDX has it."""
