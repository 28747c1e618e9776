# SPDX-License-Identifier: Apache-2.0
"""The store of any number of replicas, in Redis 7 or Valkey: one server, or a Cluster."""
