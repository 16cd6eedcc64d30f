#!/usr/bin/env bash
# Everything that must hold before a change lands, but for what takes hours (`make check-long`) and random bytes (`make fuzz`).
# Builds the tests first; then the tests run, which mostly wait, and beside them, at a lower priority, what mostly compiles. Runs all
# steps even if one fails, so that one run shows every error; prints how long each took and how much it computed; ends with one
# summary line.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Seconds of processor that the ended children of a process have used (proc(5), in ticks of a hundredth).
computed_s() { # pid
    local fields
    read -r -a fields <"/proc/$1/stat"
    echo $(((fields[15] + fields[16]) / 100))
}

step() { # name, command...
    local name=$1 shell=$BASHPID began=$SECONDS ended=ok before
    before=$(computed_s "$shell")
    shift
    echo "==> $name"
    if ! "$@"; then
        echo "==> $name FAILED: $*" >&2
        ended=FAILED
    fi
    printf '%7d s %7d s  %-6s  %s\n' "$((SECONDS - began))" "$(($(computed_s "$shell") - before))" "$ended" "$name" >>"$logs/took"
}

counted() { # a command whose output has `test result:` lines
    "$@" 2>&1 | tee -a "$logs/counted.$BASHPID"
    return "${PIPESTATUS[0]}"
}

compiling_steps() {
    step "format" cargo fmt --all --check
    step "tidy" scripts/tidy.sh
    step "bill of materials" scripts/sbom_test.py
    step "console: types, rules" scripts/console.sh check test
    step "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
    # The limiter's locks and counters are shuttle's in this build, which tries interleavings of them.
    step "interleavings" counted cargo test -p limiter --features shuttle --test shuttle --locked
    step "examples in documentation" counted cargo test -p limiter --doc --locked
    step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
}

step "console: pages" scripts/console.sh build
step "tests: build" scripts/run_tests.py build
compiling_steps >"$logs/compiling" 2>&1 &
compiling=$!
renice -n 10 "$compiling" >/dev/null
step "tests: run" counted scripts/run_tests.py run
step "console: pages in a browser" env CONSOLE_SERVER_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/gauntlet" scripts/console.sh e2e
wait "$compiling"
cat "$logs/compiling"
step "tests: timed, alone" counted scripts/run_tests.py timed

echo
printf '%9s %9s\n' took processor
cat "$logs/took"
passed=$(cat "$logs"/counted.* | awk '/^test result:/ { n += $4 } END { print n + 0 }')
failed=$(cat "$logs"/counted.* | awk '/^test result:/ { n += $6 } END { print n + 0 }')
failed_steps=$(awk '$5 == "FAILED"' "$logs/took" | wc -l)
if [ "$passed" -eq 0 ]; then
    echo "No test ran." >&2
    failed_steps=$((failed_steps + 1))
fi
# A step that failed without a failing test counts as one failure: the summary must not look green.
if [ "$failed" -eq 0 ] && [ "$failed_steps" -gt 0 ]; then failed=$failed_steps; fi
echo "$passed passed, $failed failed"
[ "$failed_steps" -eq 0 ]
