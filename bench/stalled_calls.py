"""The games and the figures of stalled-calls.sh. Arguments: the server's URL, the port of its sample bots, and its process id."""

import json, os, signal, socket, sys, threading, time, urllib.request

server, bots_port, process = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
# Milliseconds for which the server runs and stands, in turn, and whether that may make a silent bot's call the server's fault.
RHYTHMS = [(1_000, 0, False), (200, 150, False), (100, 200, False), (100, 300, False), (400, 400, False), (50, 600, True)]
RHYTHM_S = 12


def api(method, path, body=None):
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(server + path, data, headers, method=method), timeout=60) as got:
        return json.loads(got.read())


def serve_silence(listener):
    held = []
    while True:
        held.append(listener.accept())


def stop_and_go(run_ms, stand_ms, until):
    try:
        while time.monotonic() < until:
            time.sleep(run_ms / 1_000)
            if stand_ms:
                os.kill(process, signal.SIGSTOP)
                time.sleep(stand_ms / 1_000)
                os.kill(process, signal.SIGCONT)
    finally:
        os.kill(process, signal.SIGCONT)


def answers(snake):
    counts = {}
    for hour in api("GET", f"/api/snakes/{snake}/latency")["hours"]:
        for answer in hour["classes"]:
            counts[answer["class"]] = counts.get(answer["class"], 0) + answer["calls"]
    return counts


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=1_000)
    threading.Thread(target=serve_silence, args=(listener,), daemon=True).start()
    is_passed = True
    for run_ms, stand_ms, may_be_ours in RHYTHMS:
        name = f"{run_ms}-{stand_ms}"
        silent = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        honest = f"http://127.0.0.1:{bots_port}/hungry"
        snakes = [
            api("POST", "/api/snakes", {"name": f"{kind} {name}", "url": url, "is_public": True})["id"]
            for kind, url in (("silent", silent), ("honest", honest))
        ]
        for snake in snakes:
            for _ in range(4):
                api("POST", "/api/games", {"snakes": [snake], "board": "11x11", "game_type": "solo"})
        stop_and_go(run_ms, stand_ms, time.monotonic() + RHYTHM_S)
        # Figures of answers are written every ten seconds.
        time.sleep(12)
        of_silent, of_honest = map(answers, snakes)
        faults = of_silent.get("server_fault", 0)
        is_passed &= bool(of_silent) and bool(of_honest) and set(of_honest) == {"valid"} and (may_be_ours or faults == 0)
        print(f"runs {run_ms} ms, stands {stand_ms} ms: silent bot {of_silent}, honest bot {of_honest}", flush=True)
    print("passed" if is_passed else "failed")
    return 0 if is_passed else 1


sys.exit(main())
