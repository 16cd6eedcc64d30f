#!/usr/bin/env bash
# Holds the dependencies to deny.toml: licences, bans and sources always; known vulnerabilities where their database can be reached.
# Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo deny --version >/dev/null 2>&1; then
    echo "This needs cargo-deny, which is not here: cargo install cargo-deny --locked" >&2
    exit 1
fi
cargo deny --locked check bans licenses sources
if cargo deny --locked fetch db; then
    cargo deny --locked check --disable-fetch advisories
else
    echo "NOT CHECKED: known vulnerabilities (their database cannot be reached from here). Licences, bans and sources hold." >&2
fi
