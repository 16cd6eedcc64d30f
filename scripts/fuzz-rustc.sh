#!/usr/bin/env bash
# Cargo's wrapper for our own crates while scripts/fuzz.py builds: what they do is counted edge by edge, and comparisons are shown to libFuzzer
# (https://llvm.org/docs/SanitizerCoverage.html). The flags work on stable Rust. Dependencies are built as always, and shared with other builds;
# build scripts run in the compiler's process tree, where nothing counts.
set -euo pipefail
case " $* " in
*" --crate-name build_script_"* | *" --crate-type proc-macro "*) exec "$@" ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
