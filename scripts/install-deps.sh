#!/usr/bin/env bash
# Makes sure that what building ("build") and testing ("test") need is there. Installs Debian packages where it can, and says
# what to do where it cannot. Prints nothing when nothing is missing.
set -euo pipefail

need_package() { # what it is for, package
    echo "Gauntlet needs the Debian package $2 ($1): installing it." >&2
    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "Please install $2 as root: apt-get install $2" >&2; exit 1; }
        as_root="sudo"
    fi
    command -v apt-get >/dev/null || { echo "There is no apt-get here: please install what your system calls $2." >&2; exit 1; }
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null 2>&1; then
        $as_root apt-get update -qq >/dev/null
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null
    fi
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
        ;;
    *)
        echo "usage: $0 [build] [test]" >&2
        exit 2
        ;;
    esac
done
