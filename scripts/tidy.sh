#!/usr/bin/env bash
# Checks of the repository that no compiler makes. Prints every finding with its place, and what to do about it.
set -uo pipefail
cd "$(dirname "$0")/.."

findings=0
refuse() { # what to do; the places come on standard input
    local places
    places=$(sed 's/^/    /')
    [ -z "$places" ] && return
    printf 'tidy: %s\n%s\n' "$1" "$places" >&2
    findings=$((findings + 1))
}

sources() { git ls-files -- '*.rs' '*.sh' '*.ts' '*.svelte' Makefile; }
rust() { git ls-files -- '*.rs'; }

long_files() {
    sources | xargs wc -l | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }'
}
headless_files() {
    rust | grep -v '/tests\.rs$' | while read -r file; do
        head -n 1 "$file" | grep -q '^//!' || echo "$file"
    done
}
unfinished() {
    sources | grep -v '^scripts/tidy.sh$' | xargs grep -nE '\b(todo!|unimplemented!)\(|\b(FIXME|XXX|TODO)\b|#\[ignore'
}
impure_dependencies() {
    local outside='tokio|serde|serde_json|hyper|axum|rusqlite|postgres|tracing|wire|store|server|lab'
    for crate in rules engine limiter; do
        grep -nE "^($outside)\b" "crates/$crate/Cargo.toml" | sed "s|^|crates/$crate/Cargo.toml:|"
    done
}
lab_dependencies() {
    grep -nE '^(arena|bot_client|engine|gateway|hunts|limiter|matches|metrics|node|quotas|rate_limit|rls|rules|server|settings|store|tables|worlds)\b' crates/lab/Cargo.toml | sed 's|^|crates/lab/Cargo.toml:|'
}
# Subsystems of the serving process know neither the gateway nor each other, nor all settings; a process puts them together.
sibling_dependencies() {
    for crate in arena bot_client hunts matches node rate_limit tables worlds; do
        sed '/^\[dev-dependencies\]/,$d' "crates/$crate/Cargo.toml" |
            grep -nE '^(arena|gateway|hunts|matches|rate_limit|rls|server|settings|tables|worlds)\b' | sed "s|^|crates/$crate/Cargo.toml:|"
    done
}
folder_circles() {
    scripts/layers.py --check $(ls crates)
}
unlinked_pages() {
    for page in docs/decisions/[0-9]*.md docs/lifecycles/*.md; do
        grep -qF "$(basename "$page")" ARCHITECTURE.md docs/decisions/README.md || echo "$page"
    done
}
stale_paths() {
    scripts/map_paths.py
}
# Where Prometheus's own tool is installed.
wrong_alerts() {
    command -v promtool >/dev/null || return
    { promtool check rules monitoring/alerts.yml && promtool test rules monitoring/alerts_test.yml; } 2>&1 >/dev/null
}

refuse "split these along their ideas: no file over 600 lines" < <(long_files)
refuse "begin these with a //! head: why the file exists, what it refuses to know" < <(headless_files)
refuse "promtool does not take the alerts" < <(wrong_alerts)
refuse "finish these, or take them out" < <(unfinished)
refuse "pure crates may not depend on anything that has a clock, a wire or a disk" < <(impure_dependencies)
refuse "the lab may not know the server's code: it tests anybody's service" < <(lab_dependencies)
refuse "take what these need in a constructor: subsystems do not know each other" < <(sibling_dependencies)
refuse "take these circles apart: a folder must be understood without those above it (scripts/layers.py)" < <(folder_circles)
refuse "link these from ARCHITECTURE.md or docs/decisions/README.md" < <(unlinked_pages)
refuse "correct these: ARCHITECTURE.md names files that are not there" < <(stale_paths)

[ "$findings" -eq 0 ]
