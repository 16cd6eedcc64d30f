#!/usr/bin/env bash
# Makes sure that what building ("build") and testing ("test") need is there. Installs Debian packages where it can, and says
# what to do where it cannot. Prints nothing when nothing is missing. The tests start programs of their own, so services that
# come with a package are neither started now nor at the next boot.
set -euo pipefail

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

# What Debian asks before a package starts its service; 101 says no. Where there is such a policy already, an administrator (or
# the maker of the container) has decided, and it stays as it is.
policy=/usr/sbin/policy-rc.d
forbid_starts() {
    [ -e "$policy" ] && return
    trap allow_starts EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
}
allow_starts() {
    trap - EXIT
    "${as_root[@]}" rm -f "$policy"
}

need_package() { # what it is for, package, service that comes with it
    echo "Gauntlet needs the Debian package $2 ($1): installing it." >&2
    if [ "${#as_root[@]}" -gt 0 ] && ! command -v sudo >/dev/null; then
        echo "Please install $2 as root: apt-get install $2" >&2
        exit 1
    fi
    command -v apt-get >/dev/null || { echo "There is no apt-get here: please install what your system calls $2." >&2; exit 1; }
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2")
    forbid_starts
    if ! "${install[@]}" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get update -qq >/dev/null
        "${install[@]}" >/dev/null
    fi
    [ "$(trap -p EXIT)" = "" ] || allow_starts
    if [ "${3:-}" != "" ] && ! "${as_root[@]}" update-rc.d "$3" disable >/dev/null 2>&1; then
        echo "The service $3 that came with $2 could not be disabled: it may start at the next boot." >&2
    fi
}

first_known() { # packages: the first one that this system's sources have, or the last
    local package
    "${as_root[@]}" apt-get update -qq >/dev/null 2>&1 || true
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 && break
    done
    echo "$package"
}

for what in "$@"; do
    case "$what" in
    build)
        command -v cc >/dev/null || need_package "a C compiler, for the embedded SQLite" build-essential
        if ! command -v cargo >/dev/null; then
            echo "Gauntlet needs Rust 1.91 or newer, and there is no cargo on the PATH: install it with rustup." >&2
            exit 1
        fi
        ;;
    test)
        if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
            need_package "the tests start a PostgreSQL of their own" postgresql
        fi
        # A user's PATH often leaves the folder out in which Debian puts it.
        if ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
            need_package "the example examples/any-service.toml puts it on trial" nginx nginx
        fi
        command -v c++ >/dev/null || need_package "a C++ compiler, for libFuzzer" build-essential
        command -v python3 >/dev/null || need_package "scripts/run_tests.py runs the tests" python3
        for program in curl jq; do
            command -v "$program" >/dev/null || need_package "docs/stories.md plays a game by it" "$program"
        done
        command -v npm >/dev/null || need_package "the console is built and tested with it" npm
        # A Chromium that was named by the user stays as it is.
        if [ "${CONSOLE_CHROMIUM:-}" = "" ] && ! command -v chromium-headless-shell >/dev/null && ! command -v chromium >/dev/null; then
            need_package "the console is tried in it" "$(first_known chromium-headless-shell chromium)"
        fi
        if [ ! -e /usr/share/fonts/truetype/noto/NotoColorEmoji.ttf ] && ! fc-list 2>/dev/null | grep -qi emoji; then
            need_package "worlds are drawn in emoji" fonts-noto-color-emoji
        fi
        ;;
    *)
        echo "usage: $0 [build] [test]" >&2
        exit 2
        ;;
    esac
done
