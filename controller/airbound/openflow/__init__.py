# SPDX-License-Identifier: Apache-2.0
"""`airbound openflow`: the process between access points' OpenFlow switches and the controller (docs/openflow.md)."""
