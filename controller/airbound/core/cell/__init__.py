# SPDX-License-Identifier: Apache-2.0
"""What is known of one cell, and what it was sent: nothing here knows of another cell."""
