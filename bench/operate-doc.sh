#!/usr/bin/env bash
# Runs every command block of docs/operate.md, in its order, on a machine of its own: systemd boots in a container over this system's programs
# (/usr, read-only), everything else is empty, and the archive of `make package` is in root's home. Prints each block's line, its exit code, its commands
# and the end of what it printed.
# Blocks ```sh run there; ```sh database needs PostgreSQL, ```sh container what the network has. A block without a language is an error: nothing would run it.
# usage: bench/operate-doc.sh; the archive is $PACKAGE or the newest of target/package, the document $PAGE or docs/operate.md.
# Ends with 0: every block that can run here ended with 0, 1: one did not, 77: no archive, or no way to boot a machine here.
# Blocks that cannot run here are printed with 77.
set -uo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
page=${PAGE:-$repository/docs/operate.md}
package=${PACKAGE:-$(ls -t "${CARGO_TARGET_DIR:-$repository/target}"/package/gauntlet-*.tar.gz 2>/dev/null | head -n 1)}
cannot() { echo "$1" >&2; exit 77; }
[ -s "$package" ] || cannot "There is no archive in target/package: run make package first."
[ "$(id -u)" -eq 0 ] || cannot "Only root can boot a machine for this."
command -v systemd-nspawn >/dev/null || cannot "There is no systemd-nspawn: apt-get install systemd-container"

work=$(mktemp -d)
machine=""
end() {
    [ "$machine" = "" ] || { kill "$machine" 2>/dev/null; wait "$machine" 2>/dev/null; }
    if [ "${KEEP:-}" = "" ]; then rm -rf "$work"; else echo "Kept: $work" >&2; fi
}
trap end EXIT

# Each block as NNN.sh, NNN being its first line, and the words of its fence as NNN.fence.
blocks=$work/given/blocks
mkdir -p "$blocks"
awk -v to="$blocks" '
    !inside && /^```/ { inside = 1; name = sprintf("%s/%04d", to, NR + 1); print substr($0, 4) > (name ".fence"); printf "" > (name ".sh"); next }
    inside && /^```$/ { close(name ".sh"); inside = 0; next }
    inside { print > (name ".sh") }' "$page"
cp "$package" "$package.sha256" "$work/given/"

# Links to programs, and what openssl reads, stand outside of /usr. At its first boot systemd would enable all services that /usr has.
echo "disable *" >"$work/none.preset"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$work/hosts"
boot=(--quiet --directory=/ --volatile=yes --boot --register=no --private-network --link-journal=no --console=pipe
    --tmpfs=/usr/local:mode=755 --bind-ro="$work/given:/srv" --bind-ro="$work/hosts:/etc/hosts"
    --bind-ro="$work/none.preset:/etc/systemd/system-preset/00-none.preset" --setenv=LC_ALL=C.UTF-8)
for path in /etc/alternatives /etc/ssl/openssl.cnf; do [ ! -e "$path" ] || boot+=(--bind-ro="$path"); done
[ -d /run/systemd/system ] || boot+=(--keep-unit)
systemd-nspawn "${boot[@]}" >"$work/boot.log" 2>&1 </dev/null &
machine=$!

database=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
path=/usr/local/bin:${database:+$database:}/usr/sbin:/usr/bin
leader=""
within() { # command...: on the machine
    nsenter --target "$leader" --mount --uts --ipc --net --pid --cgroup --root \
        env -i --chdir=/ HOME=/root PATH="$path" LC_ALL=C.UTF-8 TERM=dumb URL="${URL:-}" NEW_URL="${NEW_URL:-}" "$@"
}
wait_for() { # command...: until it ends with 0, at most 30 s
    for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
    return 1
}
has_booted() {
    leader=$(pgrep --parent "$machine") && [[ $(within systemctl is-system-running) == @(running|degraded) ]]
}
wait_for has_booted || { cat "$work/boot.log" >&2; cannot "No machine boots here."; }
within bash -c 'cp /srv/gauntlet-* ~/'

# A PostgreSQL that takes passwords over TLS alone, with a database that a server used, and an empty one.
start_database() {
    [ "$database" != "" ] || return 1
    within bash -eu -o pipefail -c '
        useradd --system --user-group postgres
        install -d -o postgres -g postgres /var/lib/postgresql /etc/gauntlet/database
        cd /etc/gauntlet/database
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem
        chown postgres: key.pem
        chmod 755 /etc/gauntlet /etc/gauntlet/database
        as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups --inh-caps=-all "$@"; }
        echo "a password" >/var/lib/postgresql/password
        as_postgres initdb --no-sync --auth=scram-sha-256 --pwfile=/var/lib/postgresql/password --pgdata=/var/lib/postgresql/data
        printf "hostssl all all localhost scram-sha-256\n" >/var/lib/postgresql/data/pg_hba.conf
        systemd-run --unit=database --uid=postgres "$(command -v postgres)" -D /var/lib/postgresql/data -c listen_addresses=localhost -c unix_socket_directories= -c fsync=off \
            -c ssl=on -c ssl_cert_file=/etc/gauntlet/database/cert.pem -c ssl_key_file=/etc/gauntlet/database/key.pem
        cp cert.pem /etc/gauntlet/db-ca.pem
        (umask 077 && echo "localhost:5432:*:postgres:a password" >/etc/gauntlet/pgpass)
        for _ in $(seq 100); do pg_isready --quiet --host=localhost && break; sleep 0.2; done
        export PGPASSFILE=/etc/gauntlet/pgpass
        createdb --host=localhost --username=postgres games
        createdb --host=localhost --username=postgres restored
    ' >"$work/database.log" 2>&1 || { tail -n 20 "$work/database.log" >&2; return 1; }
    local how="sslmode=verify-full&sslrootcert=/etc/gauntlet/db-ca.pem&passfile=/etc/gauntlet/pgpass"
    URL="postgres://postgres@localhost:5432/games?$how"
    NEW_URL="postgres://postgres@localhost:5432/restored?$how"
    within gauntlet token create --account ann --store-url "$URL" >/dev/null
}

ran=0 failed=0 skipped=0 has_database=""
for file in "$blocks"/*.sh; do
    name=$(basename "$file" .sh)
    code=0 skip=""
    case "$(cat "$blocks/$name.fence")" in
    sh) ;;
    "sh database")
        if [ "$has_database" = "" ]; then start_database && has_database=yes || has_database=no; fi
        [ "$has_database" = yes ] || skip="there is no PostgreSQL here"
        ;;
    "sh container") skip="its base images come from the network" ;;
    yaml | toml) continue ;;
    *) code=1; echo "nothing runs a block of this kind: \`\`\`$(cat "$blocks/$name.fence")" >"$work/printed" ;;
    esac
    if [ "$skip" != "" ]; then
        echo "not run: $skip" >"$work/printed"
    elif [ "$code" -eq 0 ]; then
        within bash -c 'cd && exec timeout 120 bash -eu -o pipefail "$1"' - "/srv/blocks/$name.sh" >"$work/printed" 2>&1 </dev/null
        code=$?
    fi
    printf '%s:%d  exit code %s\n' "${page#"$repository"/}" "$((10#$name))" "${skip:+77, }${skip:-$code}"
    sed 's/^/    $ /' "$file"
    tail -n 8 "$work/printed" | cut -c 1-160 | sed 's/gn\([st]\)_[A-Za-z0-9_-]*/gn\1_…/; s/^/    /'
    if [ "$skip" != "" ]; then skipped=$((skipped + 1)); elif [ "$code" -eq 0 ]; then ran=$((ran + 1)); else failed=$((failed + 1)); fi
done
[ "$failed" -eq 0 ] || within journalctl --no-pager --quiet --unit gauntlet --lines 20 >&2
echo "$ran ended with 0, $failed failed, $skipped not run here"
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
