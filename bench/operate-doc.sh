#!/usr/bin/env bash
# Runs every command block of docs/operate.md, in its order, in a file system made for it: the system's programs read-only, everything else empty,
# the archive of `make package` in /root. Prints each block's line, its exit code and what it printed. Where there is no systemd, the server is
# started as the unit would.
# usage: bench/operate-doc.sh; the archive is $PACKAGE or the newest of target/package.
# Ends with 0: every block that can run here ended with 0, 1: one did not, 77: no archive, or no way to make a file system here.
# Blocks that cannot run here (systemd, container, database) are printed with 77.
set -uo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
page=$repository/docs/operate.md
package=${PACKAGE:-$(ls -t "${CARGO_TARGET_DIR:-$repository/target}"/package/gauntlet-*.tar.gz 2>/dev/null | head -n 1)}
[ -s "$package" ] || { echo "There is no archive in target/package: run make package first." >&2; exit 77; }

if [ "${1:-}" != inside ]; then
    # Processes, mounts and a network of its own: port 4000 is free, and all of it is gone at the end.
    [ "$(id -u)" -eq 0 ] || { echo "Only root can make a file system for this." >&2; exit 77; }
    spaces=(--mount --net --pid --fork --kill-child)
    unshare "${spaces[@]}" true 2>/dev/null || { echo "No namespaces can be made here." >&2; exit 77; }
    PACKAGE=$package exec unshare "${spaces[@]}" --mount-proc "$0" inside
fi

work=$(mktemp -d)
root=$work/root
blocks=$work/blocks
mkdir -p "$root" "$blocks"
trap 'umount --recursive --lazy "$root"; rm -rf "$work"' EXIT
ip link set lo up

# Each block as NNN.sh, NNN being its first line, and the word after `sh` as NNN.needs.
awk -v to="$blocks" '
    !name && /^```sh( |$)/ { name = sprintf("%s/%03d", to, NR + 1); print $2 > (name ".needs"); printf "" > (name ".sh"); next }
    name && /^```$/ { close(name ".sh"); name = ""; next }
    name { print > (name ".sh") }' "$page"

mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir -p "$root"/{usr,etc,proc,dev/shm,tmp,root,var/lib/gauntlet,blocks}
chmod 1777 "$root/tmp" "$root/dev/shm"
for link in bin sbin lib lib64; do [ ! -e /usr/$link ] || ln -s "usr/$link" "$root/$link"; done
mount --bind /usr "$root/usr" && mount -o remount,bind,ro "$root/usr"
mount -t tmpfs tmpfs "$root/usr/local"
mount --bind "$blocks" "$root/blocks"
mount -t proc proc "$root/proc"
for device in null zero random urandom; do touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"; done
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
grep -E '^(root|postgres):' /etc/passwd >"$root/etc/passwd"
cp "$package" "$package.sha256" "$root/root/"

database=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
path=/usr/local/bin:${database:+$database:}/usr/sbin:/usr/bin
within() { # command...: in the new file system
    env -i HOME=/root PATH="$path" LC_ALL=C.UTF-8 URL="${URL:-}" NEW_URL="${NEW_URL:-}" chroot "$@"
}
run_block() { within "$root" bash -c 'cd /root && exec bash -eu -o pipefail "$1"' - "/blocks/$1.sh"; }

wait_for() { # command...: until it ends with 0, at most 20 s
    for _ in $(seq 100); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
    return 1
}
start_like_the_unit() {
    within "$root" bash -c 'cd /var/lib/gauntlet && GAUNTLET_CONFIG=/etc/gauntlet/gauntlet.toml exec gauntlet serve' >"$work/server.log" 2>&1 &
    wait_for within "$root" gauntlet health http://127.0.0.1:4000 || { cat "$work/server.log" >&2; return 1; }
}
# A PostgreSQL with a database that a server used, and an empty one.
start_database() {
    [ "$database" != "" ] && grep -q '^postgres:' "$root/etc/passwd" || return 1
    local ids
    ids=$(id -u postgres):$(id -g postgres)
    install -d -o "${ids%:*}" "$root/var/cluster"
    within --userspec="$ids" "$root" initdb --no-sync --auth=trust --pgdata=/var/cluster/data >"$work/database.log" 2>&1 || return 1
    within --userspec="$ids" "$root" postgres -D /var/cluster/data -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off >>"$work/database.log" 2>&1 &
    wait_for within "$root" pg_isready --host=127.0.0.1 || { cat "$work/database.log" >&2; return 1; }
    within "$root" createdb --host=127.0.0.1 --username=postgres games && within "$root" createdb --host=127.0.0.1 --username=postgres restored || return 1
    URL=postgres://postgres@localhost:5432/games
    NEW_URL=postgres://postgres@localhost:5432/restored
    within "$root" gauntlet token create --account ann --store-url "$URL" >/dev/null
}

ran=0 failed=0 skipped=0 has_database=""
for file in "$blocks"/*.sh; do
    name=$(basename "$file" .sh)
    needs=$(cat "$blocks/$name.needs")
    code=0
    case "$needs" in
    systemd)
        code=77
        start_like_the_unit || code=1
        ;;
    container) code=77 ;;
    database)
        if [ "$has_database" = "" ]; then start_database && has_database=yes || has_database=no; fi
        [ "$has_database" = yes ] || code=77
        ;;
    "") ;;
    *) echo "operate.md:$name: a block that needs $needs is not known here" >&2; code=1 ;;
    esac
    if [ "$code" -eq 0 ]; then
        run_block "$name" >"$work/printed" 2>&1 </dev/null
        code=$?
    else
        echo "not run: it needs $needs" >"$work/printed"
    fi
    printf 'docs/operate.md:%d  exit code %d\n' "$((10#$name))" "$code"
    sed 's/^/    $ /' "$file"
    tail -n 8 "$work/printed" | cut -c 1-160 | sed 's/gn\([st]\)_[A-Za-z0-9_-]*/gn\1_…/; s/^/    /'
    case "$code" in 0) ran=$((ran + 1)) ;; 77) skipped=$((skipped + 1)) ;; *) failed=$((failed + 1)) ;; esac
done
echo "$ran ended with 0, $failed failed, $skipped not run here"
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
