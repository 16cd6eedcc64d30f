#!/usr/bin/env bash
# Everything that must hold before a change lands, but for what takes hours (`make check-long`) and random bytes (`make fuzz`).
# Builds the tests first; then the tests run, which mostly wait, and beside them, at a lower priority, what mostly compiles. Runs all
# steps even if one fails, so that one run shows every error; prints how long each took and how much it computed, and what failed
# in it; ends with one summary line.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
mkdir "$logs/output"

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
    "$@" 2>&1 | tee "$logs/output/$name"
    if [ "${PIPESTATUS[0]}" -ne 0 ]; then
        echo "==> $name FAILED: $*" >&2
        ended=FAILED
    fi
    printf '%7d s %7d s  %-6s  %s\n' "$((SECONDS - began))" "$(($(computed_s "$shell") - before))" "$ended" "$name" >>"$logs/took"
}

plain() { # files: what is in them, without colours
    sed 's/\x1b\[[0-9;]*m//g' "$@"
}

# The lines of a step that name what failed: tests of Rust, tests of the console, errors of a compiler; where none does, its last lines.
failures() { # name
    local text
    text=$(plain "$logs/output/$1")
    { grep -E '^test .* FAILED$|^ *FAIL |^error' <<<"$text" | sort -u || tail -n 5 <<<"$text"; } | head -n 20 | sed 's/^ */    /'
}

compiling_steps() {
    step "format" cargo fmt --all --check
    step "tidy" scripts/tidy.sh
    step "bill of materials" scripts/sbom_test.py
    step "console: types, rules" scripts/console.sh check test
    step "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
    # The limiter's locks and counters are shuttle's in this build, which tries interleavings of them.
    step "interleavings" cargo test -p limiter --features shuttle --test shuttle --locked
    step "examples in documentation" cargo test -p limiter --doc --locked
    step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
}

step "console: pages" scripts/console.sh build
step "tests: build" scripts/run_tests.py build
compiling_steps >"$logs/compiling" 2>&1 &
compiling=$!
renice -n 10 "$compiling" >/dev/null
step "tests: run" scripts/run_tests.py run
step "console: pages in a browser" env CONSOLE_SERVER_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/gauntlet" scripts/console.sh e2e
wait "$compiling"
cat "$logs/compiling"
step "tests: timed, alone" scripts/run_tests.py timed

echo
printf '%9s %9s\n' took processor
cat "$logs/took"
# As cargo's test programs count ("test result: ok. 3 passed; 0 failed; …"), and as vitest does ("Tests  1 failed | 3 passed (4)").
read -r passed failed < <(plain "$logs"/output/* | awk '
    /^test result:/ { passed += $4; failed += $6 }
    /^ *Tests  / { for (at = 3; at <= NF; at++) { if ($at == "passed") passed += $(at - 1); if ($at == "failed") failed += $(at - 1) } }
    END { print passed + 0, failed + 0 }')
failed_steps=0
while read -r _ _ _ _ _ name; do
    failed_steps=$((failed_steps + 1))
    echo "failed in $name:"
    failures "$name"
done < <(awk '$5 == "FAILED"' "$logs/took")
if [ "$passed" -eq 0 ]; then
    echo "No test ran." >&2
    failed_steps=$((failed_steps + 1))
fi
# A step that failed without a failing test counts as one failure: the summary must not look green.
if [ "$failed" -lt "$failed_steps" ]; then failed=$failed_steps; fi
echo "$passed passed, $failed failed"
[ "$failed_steps" -eq 0 ]
