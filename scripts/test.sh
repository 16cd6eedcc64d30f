#!/usr/bin/env bash
# Everything that must hold before a change lands. `make test` and CI run exactly this.
# Runs all steps even if one fails, so that one run shows every error; prints how long each took; ends with one summary line.
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed_steps=0
took=""

step() { # name, command...
    local name=$1 began=$SECONDS ended=ok
    shift
    echo "==> $name"
    if ! "$@"; then
        echo "==> $name FAILED: $*" >&2
        failed_steps=$((failed_steps + 1))
        ended=FAILED
    fi
    took+=$(printf '%7d s  %-6s  %s' "$((SECONDS - began))" "$ended" "$name")$'\n'
}

run_tests() {
    cargo test --workspace --locked --no-fail-fast 2>&1 | tee "$log"
    return "${PIPESTATUS[0]}"
}

# The limiter's locks and counters are shuttle's in this build, which tries interleavings of them.
run_interleavings() {
    cargo test -p limiter --features shuttle --test shuttle --locked 2>&1 | tee -a "$log"
    return "${PIPESTATUS[0]}"
}

step "console: types, rules, pages" scripts/console.sh check build test
step "format" cargo fmt --all --check
step "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
step "tidy" scripts/tidy.sh
step "tests" run_tests
step "console: two browsers in one world" env CONSOLE_SERVER_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/gauntlet" scripts/console.sh e2e
step "interleavings" run_interleavings
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

echo
printf '%s' "$took"
passed=$(awk '/^test result:/ { n += $4 } END { print n + 0 }' "$log")
failed=$(awk '/^test result:/ { n += $6 } END { print n + 0 }' "$log")
if [ "$passed" -eq 0 ]; then
    echo "No test ran." >&2
    failed_steps=$((failed_steps + 1))
fi
# A step that failed without a failing test counts as one failure: the summary must not look green.
if [ "$failed" -eq 0 ] && [ "$failed_steps" -gt 0 ]; then failed=$failed_steps; fi
echo "$passed passed, $failed failed"
[ "$failed_steps" -eq 0 ]
