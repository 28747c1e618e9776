# SPDX-License-Identifier: Apache-2.0
"""The wire contract, generated from proto/airbound/v1 by `make generate`; this file alone is written by hand."""
