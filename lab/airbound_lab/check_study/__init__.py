# SPDX-License-Identifier: Apache-2.0
"""Does `airbound check` say what is so? Its answers beside what cells carry with Airbound and without."""
