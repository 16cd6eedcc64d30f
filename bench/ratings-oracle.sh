#!/usr/bin/env bash
# Ratings against another implementation: random results of games of 2 to 16 players, half of them with ties, rated by PyPI's
# openskill (Plackett-Luce, the same parameters) and by ours. Every rating must agree to 1e-9. Needs Python 3 with venv and a package
# index that has openskill.
# usage: bench/ratings-oracle.sh [games]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
games=${1:-100000}
work=$(mktemp -d)
trap 'status=$?; rm -rf "$work"; case $status in 0 | 77) exit $status ;; *) exit 1 ;; esac' EXIT

if ! python3 -m venv "$work/venv" || ! "$work/venv/bin/pip" install --quiet 'openskill==6.2.0'; then
    echo "openskill 6.2.0 cannot be installed here." >&2
    exit 77
fi
"$work/venv/bin/python" "$root/bench/ratings_vectors.py" "$games" "$RANDOM" >"$work/vectors.txt"
cd "$root"
RATINGS_VECTORS="$work/vectors.txt" cargo test --quiet -p engine --test ratings -- --nocapture
