#!/usr/bin/env bash
# The image of Containerfile, with the static program (`make static`) in the place of the stages that build it, which take their base images from the network. Its container
# has a read-only root, no capability and one volume: it becomes healthy by its own check, makes a token, is killed and goes on with its data, and drains when it is stopped.
# usage: bench/image.sh; the program is $GAUNTLET or target/static/gauntlet.
# Ends with 0: all of it, 1: something did not hold, 77: no static program, or no way to run containers here.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
gauntlet=${GAUNTLET:-${CARGO_TARGET_DIR:-$root/target}/static/gauntlet}
cannot() { echo "$1" >&2; exit 77; }
[ -x "$gauntlet" ] || cannot "There is no $gauntlet: run make static first."
command -v podman >/dev/null || cannot "There is no podman: apt-get install podman"

# crun refuses a machine with control groups of both versions.
runtime=$(command -v runc || command -v crun) || cannot "There is no runc: apt-get install runc"
podman() { command podman --runtime "$runtime" "$@"; }
# Without these podman asks for more than this user may have.
files=$(ulimit -Hn)
[ "$files" != unlimited ] || files=1048576

work=$(mktemp -d)
name=gauntlet-image-$$
end() {
    podman rm --force --time 0 "$name" >/dev/null 2>&1
    podman volume rm "$name" >/dev/null 2>&1
    podman rmi --force "$name" >/dev/null 2>&1
    rm -rf "$work"
}
trap end EXIT
failed=0

check() { # what, expected exit code, text that is printed, command...
    local what=$1 code=$2 want=$3 got output
    shift 3
    output=$("$@" 2>&1)
    got=$?
    if [ "$got" -eq "$code" ] && [[ $output == *"$want"* ]]; then
        printf 'ok      %3d  %s\n' "$got" "$what"
    else
        printf 'FAILED  %3d  %s: %s\n' "$got" "$what" "$output"
        failed=1
    fi
}
wait_for() { # command...: until it ends with 0, at most 60 s
    for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done
    podman logs "$name"
    return 1
}
inside() { podman exec "$name" /gauntlet "$@"; }
is_healthy() { podman healthcheck run "$name" && inside health; }

# What the last stage copies from the one before.
install -D "$gauntlet" "$work/build/source/target/static/gauntlet"
install -d -m 700 "$work/build/data" "$work/console" "$work/empty"
check "is built" 0 "" podman build --quiet --format docker --isolation chroot --build-context build="$work/build" --build-context console="$work/console" \
    --tag "$name" --file "$root/Containerfile" "$work/empty"
run=(podman run --detach --name "$name" --network none --volume "$name:/data" --read-only --cap-drop all
    --ulimit "nofile=$files:$files" --ulimit nproc=1000:1000)
"${run[@]}" "$name" --version >/dev/null 2>"$work/refused" && podman wait "$name" >/dev/null || cannot "No container runs here: $(cat "$work/refused")"
podman rm "$name" >/dev/null 2>&1
check "starts" 0 "" "${run[@]}" "$name"
check "becomes healthy" 0 "" wait_for is_healthy
check "runs as its own user" 0 "65532" podman inspect --format '{{.Config.User}}' "$name"
check "makes a token" 0 "gnt_" inside token create --account ann
check "is killed" 0 "" podman kill "$name"
check "starts again" 0 "" podman start "$name"
check "becomes healthy again" 0 "" wait_for is_healthy
check "its token is there" 0 "player" inside token list --account ann
check "is stopped" 0 "" podman stop --time 60 "$name"
check "has drained" 0 "ended with 0." podman inspect --format 'ended with {{.State.ExitCode}}.' "$name"
exit "$failed"
