# SPDX-License-Identifier: Apache-2.0
"""What replicas of a controller share: records, who owns which cell, where stations and terminals are, messages."""
