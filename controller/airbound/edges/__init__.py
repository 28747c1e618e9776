# SPDX-License-Identifier: Apache-2.0
"""The thin edges: gRPC servers and clients, the clock, the log, files. They decide nothing."""
