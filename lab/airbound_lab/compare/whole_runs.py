# SPDX-License-Identifier: Apache-2.0
"""The form of stored runs that are kept as a whole, with their series."""

from __future__ import annotations

from pydantic import TypeAdapter

from airbound_lab.compare.record import File, Form
from airbound_lab.figures.results import Run

RUNS: Form[Run] = Form(lambda run: run, TypeAdapter(File[Run]))
