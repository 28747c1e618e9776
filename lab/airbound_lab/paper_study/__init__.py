# SPDX-License-Identifier: Apache-2.0
"""`airbound-lab study paper`: the evaluation of Hayakawa, Yamaguchi and Oguchi, repeated."""
