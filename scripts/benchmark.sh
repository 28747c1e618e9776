#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds airbound-benchmark: build/benchmark/airbound-benchmark, with its jars in build/benchmark/benchmark-jvm/.

. "$(dirname "$0")/lib.sh"
maven --quiet -DskipTests --projects core,jvm package
install -m 755 phone-agent/benchmark/jvm/src/main/sh/airbound-benchmark build/benchmark/
echo build/benchmark/airbound-benchmark
