# SPDX-License-Identifier: Apache-2.0
"""Real controllers, agents on a model of two cells, and a real Prometheus, all on loopback: for tests, and for pictures
without a network of one's own.
"""
