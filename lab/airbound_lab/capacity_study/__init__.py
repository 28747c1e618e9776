# SPDX-License-Identifier: Apache-2.0
"""Is the controller's estimate of a cell's capacity right, however much of the cell is used?"""
