#!/usr/bin/env bash
# Can one client, from one address, stop the server for others? Each attack of bench/hostile/attack.py runs beside
# a normal user (bench/hostile/user.py: every 0.5 s a new game, a story, /healthz, a walk into a world; now and then a hunt), and he stands alone first.
# Server, attacker and user stand in network namespaces of their own, so that the server is reached from outside its loopback, with its
# defaults; the attacker is pinned to one core, the user to the other, the server has both.
# Ends with 1 if the user's p99 is 250 ms or more, an action of his times out or is refused, the server answers a foreign page's write,
# or ends; with 77 where namespaces cannot be made, or where the user is as slow alone: then the machine is too busy to blame an attack.
# usage: bench/hostile.sh [seconds an attack, 10 or more] [attack...]
#   P99_MAX_MS=n (250); more on a busy machine, where time-outs, refusals and the server's life are what is left to hold
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seconds=${1:-30}
shift || true
attacks=("$@")
[ "${#attacks[@]}" -gt 0 ] || attacks=(idle bodies late-pages unread details hunts worlds memory tables tickets segments configure)
[ "$seconds" -ge 10 ] || { echo "$seconds seconds are too few for the user, who makes a hunt every five: 10 or more." >&2; exit 1; }
here=$(dirname "$0")/hostile
p99_max_ms=${P99_MAX_MS:-250}

ns=gauntlet-hostile-$$
cannot() { echo "$1" >&2; exit 77; }
[ "$(nproc)" -ge 2 ] || cannot "This needs two cores."
command -v ip >/dev/null || cannot "There is no ip: apt-get install iproute2"
ip netns add "$ns-server" 2>/dev/null || cannot "Network namespaces cannot be made here: this needs root."
remove_namespaces() {
    for name in server attacker user; do ip netns del "$ns-$name" 2>/dev/null || true; done
}
trap 'status=$?; stop_all; remove_namespaces; end_with "$status"' EXIT
ip netns add "$ns-attacker"
ip netns add "$ns-user"
ulimit -n "$(ulimit -Hn)"

link() { # client, network: 10.77.NETWORK.1 is the server, 10.77.NETWORK.2 the client
    ip -n "$ns-server" link add "to-$1" type veth peer name eth0 netns "$ns-$1" &&
        ip -n "$ns-server" addr add "10.77.$2.1/24" dev "to-$1" &&
        ip -n "$ns-$1" addr add "10.77.$2.2/24" dev eth0 &&
        ip -n "$ns-server" link set "to-$1" up &&
        ip -n "$ns-$1" link set eth0 up || cannot "Network namespaces cannot be connected here: this needs veth."
}
ip -n "$ns-server" link set lo up
link attacker 1
link user 2
# `memory` comes from several addresses.
for host in 11 12 13 14 15 16 17; do ip -n "$ns-attacker" addr add "10.77.1.$host/24" dev eth0; done
# Thousands of connections from one address to one port.
ip netns exec "$ns-attacker" sysctl -qw net.ipv4.ip_local_port_range="1024 65000"

inside() { ip netns exec "$ns-server" "$@"; }
as_admin=(-H "Authorization: Bearer $GAUNTLET_TOKEN" -H 'Content-Type: application/json')
api() { # method, path, body
    inside curl -fsS -X "$1" "http://127.0.0.1:4000$2" "${as_admin[@]}" ${3:+-d "$3"}
}
field() { python3 -c "import json,sys; print(json.load(sys.stdin)$1)"; }

start_server() {
    data=$(mktemp -d "$work/data-XXXXXX")
    # Only the user's games count here, and they are his within any quota; what stands is the server's default.
    # Not by the function: the process to measure and to end is the server's own.
    ip netns exec "$ns-server" "$gauntlet" serve --interface 0.0.0.0 --port 4000 --allow-private-bots --data "$data/gauntlet.db" \
        ${HOSTILE_SERVE_ARGS:-} >>"$work/server.log" 2>&1 &
    server=$!
    pids+=("$server")
    for _ in $(seq 200); do inside curl -fsS -o /dev/null http://127.0.0.1:4000/readyz 2>/dev/null && break; sleep 0.1; done
    inside curl -fsS -o /dev/null http://127.0.0.1:4000/readyz || { cat "$work/server.log" >&2; exit 1; }
    api POST /api/admin/accounts '{"name": "user"}' >"$work/account"
    token=$(api POST /api/admin/tokens '{"account": "user", "name": "laptop", "role": "player"}' | field '["secret"]')
    api POST /api/admin/accounts '{"name": "mallory"}' >"$work/account"
    attackers_token=$(api POST /api/admin/tokens '{"account": "mallory", "name": "laptop", "role": "player"}' | field '["secret"]')
    snake=$(inside curl -fsS http://127.0.0.1:4000/api/snakes -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
        -d '{"name": "hungry", "url": "http://127.0.0.1:4100/hungry"}' | field '["id"]')
}
stop() { # process
    # It may be gone already, which the table says. A drain ends on its own; its exit is no figure here.
    kill "$1" 2>/dev/null || true
    wait "$1" || true
}

ip netns exec "$ns-server" "$gauntlet" bots --port 4100 >"$work/bots.log" 2>&1 &
pids+=("$!")
ip netns exec "$ns-server" python3 "$here/long_game_bot.py" 127.0.0.1 4101 >"$work/long.log" 2>&1 &
pids+=("$!")

# A game of 5,000 turns, for the attacks that replay one.
long_game() {
    local snake
    snake=$(api POST /api/snakes '{"name": "long", "url": "http://127.0.0.1:4101"}' | field '["id"]')
    game=$(api POST /api/games "{\"snakes\": [\"$snake\"], \"game_type\": \"solo\", \"board\": \"25x25\", \"timeout_ms\": 2000, \"settings\": {\"foodSpawnChance\": 0, \"minimumFood\": 8}}" | field '["id"]')
    for _ in $(seq 600); do
        status=$(api POST /api/games/status "{\"game_ids\": [\"$game\"]}" | field '[0]["status"]')
        [ "$status" != finished ] || break
        sleep 0.2
    done
    [ "$status" = finished ] || { echo "The game to replay is $status after two minutes." >&2; exit 1; }
    turns=$(api POST /api/games/status "{\"game_ids\": [\"$game\"]}" | field '[0]["turns"]')
    echo "The game that is replayed has $turns turns." >&2
}

user() { # seconds, file
    ip netns exec "$ns-user" taskset -c 1 python3 "$here/user.py" 10.77.2.1 4000 "$token" "$snake" "$1" >"$2"
}

run() { # attack, or "none"
    start_server
    game=""
    case "$1" in late-pages | unread | details) long_game ;; esac
    # What only the first requests pay (pages of memory, prepared statements) is not the attacker's doing.
    user 2 "$work/warm.json"
    local attacker="" limiter="" port=4000
    if [ "$1" = configure ]; then
        # The limiter as a service of its own, as its programs use it.
        port=4200
        ip netns exec "$ns-server" "$gauntlet" serve --only limiter --interface 0.0.0.0 --port $port --data "$data/limiter.db" \
            >>"$work/limiter.log" 2>&1 &
        limiter=$!
        pids+=("$limiter")
        for _ in $(seq 100); do inside curl -fsS -o /dev/null http://127.0.0.1:$port/readyz 2>/dev/null && break; sleep 0.1; done
        inside curl -fsS -o /dev/null http://127.0.0.1:$port/readyz || { cat "$work/limiter.log" >&2; exit 1; }
    fi
    if [ "$1" != none ]; then
        # It ends on its own; where the server holds it up for ever, soon after.
        timeout "$((seconds + 90))" ip netns exec "$ns-attacker" taskset -c 0 python3 "$here/attack.py" "$1" 10.77.1.1 "$port" "$((seconds + 2))" "$game" "$attackers_token" \
            >"$work/attack-$1.out" 2>"$work/attack-$1.err" &
        attacker=$!
        pids+=("$attacker")
        sleep 2
    fi
    user "$seconds" "$work/user-$1.json"
    [ -z "$attacker" ] || wait "$attacker" || true
    grep '^VmHWM:' "/proc/$server/status" | awk '{ print int($2 / 1024) }' >"$work/rss-$1" || echo gone >"$work/rss-$1"
    [ -z "$limiter" ] || stop "$limiter"
    stop "$server"
}

table_head "attack" "new game p50 / p99" "story" "health" "walk" "hunt" "time-outs" "refused" "server's peak MiB" "the attacker reached"
failed=0
for attack in none "${attacks[@]}"; do
    run "$attack"
    python3 - "$attack" "$work" "$p99_max_ms" <<'PYTHON' || { status=$?; [ "$status" -ne 77 ] || exit 77; failed=1; }
import json, os, sys

attack, work, p99_max_ms = sys.argv[1], sys.argv[2], float(sys.argv[3])
user = json.load(open(f"{work}/user-{attack}.json"))
read = lambda name: open(f"{work}/{name}").read().strip() if os.path.exists(f"{work}/{name}") else ""
reached, memory = read(f"attack-{attack}.out"), read(f"rss-{attack}")
timeouts = sum(a["timeouts"] for a in user.values())
refused = {f"{name}: {what}": n for name, a in user.items() for what, n in a["refused"].items()}
cells = " | ".join(f"{a['p50_ms']} / {a['p99_ms']} ms" for a in user.values())
print(f"| {attack} | {cells} | {timeouts} | {refused or 0} | {memory} | {reached} |")
slow = [f"{name}'s p99 is {a['p99_ms']} ms" for name, a in user.items() if a["p99_ms"] is not None and a["p99_ms"] >= p99_max_ms]
bad = slow + [f"{name} was never done" for name, a in user.items() if a["p99_ms"] is None]
if timeouts: bad.append(f"{timeouts} time-outs")
if refused: bad.append(f"refused: {refused}")
if memory in ("", "gone"): bad.append("the server is gone")
if attack == "configure" and ("200:" in reached or "204:" in reached): bad.append("a foreign page changed the limiter")
if attack != "none" and not reached: bad.append("the attack itself failed: " + read(f"attack-{attack}.err")[-300:])
if bad: print(f"{attack}: " + "; ".join(bad), file=sys.stderr)
if attack == "none" and slow and bad == slow:
    print("The user is as slow without any attack: this machine is too busy.", file=sys.stderr)
    sys.exit(77)
sys.exit(bool(bad))
PYTHON
done
if grep -n 'panicked' "$work"/*.log >&2; then failed=1; fi
exit "$failed"
