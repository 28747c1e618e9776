# SPDX-License-Identifier: Apache-2.0
"""`run --medium-trace` and `airbound-lab medium`: who has the air when."""
