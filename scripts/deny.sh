#!/usr/bin/env bash
# Holds the dependencies to deny.toml: licences, bans and sources always; known vulnerabilities where their database can be reached.
# Installs nothing.
# Ends with 0: held, 1: not held, 77: no cargo-deny.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo deny --version >/dev/null 2>&1; then
    echo "This needs cargo-deny, which is not here: cargo install cargo-deny --locked" >&2
    exit 77
fi
# cargo-deny ends with a number for each kind of check that did not hold.
cargo deny --locked check bans licenses sources || exit 1
if cargo deny --locked fetch db; then
    cargo deny --locked check --disable-fetch advisories || exit 1
else
    echo "NOT CHECKED: known vulnerabilities (their database cannot be reached from here). Licences, bans and sources hold." >&2
fi
