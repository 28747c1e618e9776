# SPDX-License-Identifier: Apache-2.0
"""`airbound-lab compare`: many conditions, many modes, several seeds; who is best where, and by how much."""
