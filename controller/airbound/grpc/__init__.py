# SPDX-License-Identifier: Apache-2.0
"""The gRPC services, and the conversion between messages and the core's types."""
