#!/usr/bin/env bash
# Everything about console/ that needs npm: its packages, its types, its tests, its pages. The packages are those of
# package-lock.json, and are fetched again only when that changed. No step of npm's own may run programs of a package.
set -euo pipefail
cd "$(dirname "$0")/../console"

node_min=20.19
fail() { # what is wrong, what to do
    echo "$1" >&2
    exit 1
}
command -v node >/dev/null && command -v npm >/dev/null \
    || fail "The console needs Node.js $node_min or newer with npm, and there is none on the PATH: apt-get install npm, or see nodejs.org. Gauntlet itself builds without it: cargo build --release -p gauntlet."
version=$(node --version)
printf 'v%s\n%s\n' "$node_min" "$version" | sort --version-sort --check=quiet \
    || fail "The console needs Node.js $node_min or newer, and this is $version: see nodejs.org."

if ! cmp --silent package-lock.json node_modules/.gauntlet-lock; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.gauntlet-lock
fi

# Cargo embeds pages anew when their files are new, and that takes minutes: what comes out as it was keeps its files.
build() { # the folder in dist/, the script that builds it
    npm run --silent "$2" -- --logLevel warn --outDir dist.new --emptyOutDir
    if diff --recursive --brief dist.new "dist/$1" >/dev/null 2>&1; then
        rm -r dist.new
    else
        rm -rf "dist/$1"
        mv dist.new "dist/$1"
    fi
}

# The types of the API come from its committed document, each time: they are never older than it.
[ $# -eq 0 ] || npm run --silent api >/dev/null
for what in "$@"; do
    case "$what" in
    build) build site build && build report build:report ;;
    check) npm run --silent check -- --output human ;;
    test) npm run --silent test ;;
    e2e) npm run --silent e2e ;;
    *) fail "usage: $0 [check] [build] [test] [e2e]" ;;
    esac
done
