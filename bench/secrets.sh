#!/usr/bin/env bash
# Does anything that the program says hold a secret? A server with known secrets (the password in the address of its database, which stands in a settings file, tokens of
# accounts and guests, cookies, sign-in links, invitations, signing secrets of bots, tokens of the limiter, hands of Stories) answers every GET route of its OpenAPI document
# and every page, to a stranger, a guest, two players, an operator and an admin; a trial runs against it; commands read its settings, also wrong ones. Every byte is kept
# (answers with their heads, output, the run's directory) and searched for every secret in the forms in which it could appear. A planted one must be found, or the search shows nothing.
# Ends with 0: nothing was found but what was planted, 1: something was, or the planted one was not, 77: cannot run here.
# usage: bench/secrets.sh
set -euo pipefail
source "$(dirname "$0")/lib.sh"
[ -x "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)" ] || { echo "There is no PostgreSQL: apt-get install postgresql" >&2; exit 77; }
kept=$work/kept
mkdir "$kept" "$work/runs"

secret() { head -c "$1" /dev/urandom | od -An -tx1 | tr -d ' \n'; }
postgres
password=pw-$(secret 12)
address=${postgres/gauntlet@/gauntlet:$password@}
limiter_token=$(secret 20)
cat >"$work/gauntlet.toml" <<END
[store]
url = "$address"
[trials]
dir = "$work/runs"
[log]
level = "debug"
END
export GAUNTLET_CONFIG=$work/gauntlet.toml GAUNTLET_LIMITER_HTTP_TOKEN=$limiter_token GAUNTLET_LIMITER_GRPC_TOKEN=$limiter_token-grpc
bots_port=$(free_port)
bots "$bots_port" --think 0
port=$(free_port)
"$gauntlet" serve --port "$port" --allow-private-bots >"$kept/serve.out" 2>"$kept/serve.err" &
served=$!
pids+=("$served")
wait_ready "http://127.0.0.1:$port/readyz"

# What a command says of its settings, right and wrong. Which of them fail is not the question here.
says() { # name, command...
    local name=$1
    shift
    "$@" >"$kept/$name.out" 2>"$kept/$name.err" || true
}
says config "$gauntlet" config
says config-twice "$gauntlet" config --data "$work/x.db" --store-url "$address"
says token-list "$gauntlet" token list
says migrate "$gauntlet" migrate --check
says unreachable timeout 20 "$gauntlet" migrate --check --store-url "postgres://gauntlet:$password@127.0.0.1:1/x"
says no-address timeout 20 "$gauntlet" migrate --check --store-url "postgres://gauntlet:$password@127.0.0.1:port/x"
says no-mode timeout 20 "$gauntlet" migrate --check --store-url "$address?sslmode=$password"
says no-file timeout 20 "$gauntlet" migrate --check --store-url "$address?sslrootcert=/nowhere"
says unknown-flag "$gauntlet" serve --store-ulr "$address"
says short-token env GAUNTLET_BOOTSTRAP_TOKEN=tiny-"${password:0:8}" "$gauntlet" config

# The trial, from a process list as well as from its files.
says trial "$gauntlet" run demo --target "http://127.0.0.1:$port" --out "$work/runs" --set bots_port="$(free_port)" &
trial=$!
status=0
PASSWORD=$password LIMITER_TOKEN=$limiter_token python3 "$root/bench/secrets.py" collect "$port" "$bots_port" "$kept" "$work/secrets.json" || status=1
wait "$trial" || true
grep -q . "$kept/trial.out" || { echo "The trial said nothing: $(tail -n 3 "$kept/trial.err")" >&2; status=1; }
PASSWORD=$password LIMITER_TOKEN=$limiter_token python3 "$root/bench/secrets.py" again "$port" "$bots_port" "$kept" "$work/secrets.json" || status=1
# The keys by which this server signs for guests and bots, from its own database.
bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/psql | tail -n 1)")
"$bin/psql" "$postgres" -At -c "select name || ' ' || encode(data, 'hex') from secrets" >"$work/keys"
stop_served
cp -r "$work/runs" "$kept/runs"
cp "$work/bots-$bots_port.log" "$kept/"
python3 "$root/bench/secrets.py" search "$kept" "$work/secrets.json" "$work/keys" || status=1
exit "$status"
