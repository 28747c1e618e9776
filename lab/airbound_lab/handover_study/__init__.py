# SPDX-License-Identifier: Apache-2.0
"""How long is an application silent after a handover, and what makes it shorter?"""
