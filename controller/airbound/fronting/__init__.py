# SPDX-License-Identifier: Apache-2.0
"""A front of a port: HAProxy, in a process of its own, ends TLS and HTTP/2 before gRPC sees anything."""
