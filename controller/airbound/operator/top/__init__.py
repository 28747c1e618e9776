# SPDX-License-Identifier: Apache-2.0
"""The live view, `airbound top`: what is shown is made from messages by pure functions; threads fetch the messages."""
