#!/usr/bin/env bash
# Builds the program as one file that needs no other, target/static/gauntlet, and shows that it starts where there is nothing else.
# usage: scripts/static.sh [profile]; the profile is `release` unless one is named.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${1:-release}
target=${CARGO_TARGET_DIR:-target}
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")/gauntlet
static=$target/static

# The crate getrandom looks for the system call's function by the dynamic loader, and without one reads /dev/urandom, which an empty root does
# not have. This makes it call the function.
export RUSTFLAGS="${RUSTFLAGS:-} --cfg getrandom_backend=\"linux_getrandom\""
# Only the last crate is told to be static: the standard library has both forms, and programs that run while others are compiled stay as they are.
# The program stands at the same place as that of `make build`: it is moved, so that none is taken for the other.
cargo rustc --profile "$profile" --locked -p gauntlet --bin gauntlet -- -C target-feature=+crt-static
mkdir -p "$static"
mv "$built" "$static/gauntlet"

if readelf --program-headers "$static/gauntlet" | grep -q INTERP; then
    echo "$static/gauntlet asks for a dynamic loader: is there a static C library (Debian: libc6-dev)?" >&2
    exit 1
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$static/gauntlet" "$root/gauntlet"
if [ "$(id -u)" -eq 0 ]; then
    chroot "$root" /gauntlet --version >/dev/null
elif unshare --user --map-root-user true 2>/dev/null; then
    unshare --user --map-root-user --root="$root" /gauntlet --version >/dev/null
else
    echo "It was not tried in an empty root: this user may make none." >&2
fi
echo "$static/gauntlet"
