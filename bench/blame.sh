#!/usr/bin/env bash
# Does the lab blame the right one? Random runs against `canned`: nothing is stopped, or the whole lab, one of its workers, the
# target, or lab and target, for 30 ms to 5 s. The truth is this script's own log of the signals that it sent. Then
#   - a run in which nothing was stopped has passed;
#   - one in which only the target was stopped is never void: it has failed where a gate does not hold;
#   - one in which only the lab or a worker was stopped has never failed: it has passed or is void;
#   - only a run whose lab or worker was stopped is void, and one whose pause was long enough to matter says so.
# A worker is a thread or a process, as the lab has it. A process (the lab starts some when one may not open enough files) is
# stopped like the whole lab, with SIGSTOP. No signal stops a single thread: that one is stopped as a debugger does it
# (PTRACE_SEIZE and PTRACE_INTERRUPT of its id), and all others of the process go on.
# Prints a table of truth and verdict, and every contradiction with the command that repeats it. Ends with 0 where there is none,
# 1 where there is one, 77 where it cannot run, or where the machine stood still by itself in more than a tenth of the runs: a run in
# which it did, while the lab was not to be stopped, is no witness.
# usage: bench/blame.sh [runs] [seed] [number of one run]       GAUNTLET and CANNED name other programs; ROOM widens the gates
set -euo pipefail
runs=${1:-200} seed=${2:-$RANDOM$RANDOM} only=${3:-}
here=$(cd "$(dirname "$0")/.." && pwd)
gauntlet=${GAUNTLET:-${CARGO_TARGET_DIR:-$here/target}/release/gauntlet}
canned=${CANNED:-${CARGO_TARGET_DIR:-$here/target}/release/canned}
for program in "$gauntlet" "$canned"; do
    [ -x "$program" ] || { echo "There is no $program: build it (cargo build --release -p gauntlet -p canned)." >&2; exit 77; }
done
command -v python3 >/dev/null || { echo "This needs python3." >&2; exit 77; }
[ "$(uname -s)" = Linux ] || { echo "This needs Linux: it stops threads with ptrace." >&2; exit 77; }

exec python3 - "$gauntlet" "$canned" "$runs" "$seed" "$only" <<'PYTHON'
import collections, ctypes, json, os, pathlib, random, resource, shutil, signal, subprocess, sys, tempfile, threading, time

gauntlet, canned, runs, seed, only = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
room = float(os.environ.get("ROOM", "1"))
truths = ["lab", "worker", "target", "both", "none"]
libc = ctypes.CDLL(None, use_errno=True)
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
# Shorter pauses are no more than the machine's own.
PAUSE_MIN_S, RUN_MAX_S = 0.05, 60
# What was started is ended, and what was stopped goes on, when this script is ended, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))


class Watch(threading.Thread):
    """How long this script, to which nothing is done, was kept from running at most."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest_s, self.is_over = 0.0, threading.Event()

    def run(self):
        before = time.monotonic()
        while not self.is_over.wait(0.01):
            now = time.monotonic()
            self.longest_s, before = max(self.longest_s, now - before - 0.01), now

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()


def ptrace(request, thread):
    if libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x}) of thread {thread}")


def may_trace():
    child = subprocess.Popen(["sleep", "5"])
    try:
        ptrace(SEIZE, child.pid)
        return True
    except OSError as error:
        print(f"No single thread can be stopped here: {error}.", file=sys.stderr)
        return False
    finally:
        child.kill()
        child.wait()


class Plan:
    """Everything about a run that is drawn: from the seed and its number alone."""

    def __init__(self, number):
        draw = random.Random(f"{seed}:{number}")
        order = truths * (runs // len(truths) + 1)
        random.Random(seed).shuffle(order)
        self.truth = order[number]
        self.pauses = {}
        for who in {"lab": ["lab"], "worker": ["worker"], "target": ["target"], "both": ["lab", "target"]}.get(self.truth, []):
            length = 0.03 * (5 / 0.03) ** draw.random()
            self.pauses[who] = (round(draw.uniform(0.3, 1.2), 3), round(length, 3))
        self.processes = draw.random() < 0.4
        self.workers = 2 if self.truth == "worker" else draw.choice([1, 2])
        self.loop = draw.choice(["rate", "rate", "poisson", "clients", "hold", "bursts"])
        rate = draw.choice([100, 200, 400])
        places = int(2 * 60 ** draw.random())
        self.servers = draw.choice([None, None, 8])
        seconds, self.steps = draw.choice([2, 3]), draw.choice([1, 1, 2])
        # A healthy target must have room: an exchange takes 5 ms where its capacity is known, and a burst waits for its places.
        if self.servers:
            places = max(places, int(3 * rate * 0.005 * self.steps) + 1)
        drain_ms = 2 * (rate // 4) * 5 * self.steps / min(places, 8) if self.loop == "bursts" else 0
        # Files that the lab may open: so few that it needs processes for the connections that it is allowed.
        wide = 600 if self.processes else places
        if self.loop == "clients":
            places = max(places, self.workers)
            self.processes, wide = False, places
        self.arrivals = {
            "rate": f'{{ rate = {rate}, for = "{seconds}s" }}',
            "poisson": f'{{ poisson = {rate}, for = "{seconds}s" }}',
            "clients": f'{{ clients = {places}, for = "{seconds}s" }}',
            "hold": f'{{ hold = {{ connections = {max(places, 4)} }}, rate = {rate}, for = "{seconds}s" }}',
            "bursts": f'{{ batch = {rate // 4}, every = "250ms", times = {4 * seconds} }}',
        }[self.loop]
        if self.loop == "hold":
            self.processes = False
        self.in_flight = "" if self.loop in ("clients", "hold") else f"in_flight_max = {max(wide if self.processes else places, self.workers)}"
        latency = {"p50": 60, "p90": 100, "p99": 200, "p999": 300, "max": 400}
        latency = {quantile: limit + drain_ms for quantile, limit in latency.items()}
        names = ["get", "load.journey"] + (["get.steps.second", "get.steps.first"] if self.steps == 2 else [])
        gates = [(f"{draw.choice(names)}.latency_ms.{q}", f"<= {latency[q] * room:.0f}") for q in draw.sample(list(latency), 2)]
        gates.append(("get.errors", "= 0"))
        gates.append(("get.service_ms.p99", f"<= {latency['p99'] * room:.0f}"))
        if self.loop == "clients":
            # Half of what it could do: each exchange takes 5 ms of one of eight servers.
            self.servers = 8
            per_s = min(8, places) * 200 / self.steps
            gates.append(("get.throughput_per_s", f">= {per_s / 2 / room:.0f}"))
        elif self.loop in ("rate", "poisson"):
            gates.append(("get.throughput_per_s", f">= {rate * 0.75 / room:.0f}"))
        self.gates = [("get.errors", "= 0")] + draw.sample([gate for gate in gates if gate[0] != "get.errors"], draw.choice([1, 2]))
        self.timeout = draw.choice(["1s", "10s"])

    def scenario(self, port):
        step = lambda name, path: f'[[journey.step]]\nname = "{name}"\nrequest = "GET {path}"\nexpect = 200\ntimeout = "{self.timeout}"\n'
        steps = step("first", "/a") + (step("second", "/b") if self.steps == 2 else "")
        gates = "\n".join(f'"{name}" = "{limit}"' for name, limit in dict(self.gates).items())
        return f'''format = 1
name = "blame"
summary = "Who is to blame"
[target]
url = "http://127.0.0.1:{port}"
[generator]
workers = {self.workers}
[[phase]]
name = "load"
arrivals = {self.arrivals}
{self.in_flight}
journey = "get"
[[journey]]
name = "get"
{steps}
[gates]
{gates}
'''

    def told(self):
        pauses = ", ".join(f"{who} {length} s at {at} s" for who, (at, length) in self.pauses.items()) or "no pause"
        where = "processes" if self.processes else "threads"
        return f"{self.truth}: {pauses}; {self.workers} workers in {where}; {self.arrivals} {self.in_flight}; {self.gates}"


def connected(port):
    """Whether the lab's load has begun: a connection to the target stands."""
    wanted = f":{port:04X}"
    for line in open("/proc/net/tcp").readlines()[1:]:
        fields = line.split()
        if fields[2].endswith(wanted) and fields[3] == "01":
            return True
    return False


def children(pid):
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    except OSError:
        # It, or one of its threads, has ended meanwhile.
        pass
    return found


def load_threads(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith("load-"):
            found.append(int(task.name))
    return sorted(found)


class Stop:
    """One party, stopped and let go again: with what, when, for how long."""

    def __init__(self, who, at, length, lab, target, plan):
        self.who, self.at, self.length, self.thread, self.done = who, at, length, None, False
        workers = children(lab)
        if who == "target":
            self.pids = [target]
        elif who == "lab":
            self.pids = [lab] + workers
        elif workers:
            self.pids = [workers[0]]
        else:
            threads = load_threads(lab)
            if not threads:
                raise OSError("the lab has no thread of load")
            self.pids, self.thread = [], threads[0]

    def stop(self):
        self.since = time.monotonic()
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        if self.thread:
            ptrace(SEIZE, self.thread)
            ptrace(INTERRUPT, self.thread)
            os.waitpid(self.thread, WALL)

    def go_on(self):
        for pid in reversed(self.pids):
            os.kill(pid, signal.SIGCONT)
        if self.thread:
            ptrace(DETACH, self.thread)
        self.lasted, self.done = time.monotonic() - self.since, True


def signals(plan, lab, target):
    """Sends the signals of a plan when their time comes; gives what was stopped for how long."""
    start = time.monotonic()
    try:
        stops = [Stop(who, at, length, lab.pid, target.pid, plan) for who, (at, length) in plan.pauses.items()]
    except OSError as error:
        return [], str(error)
    acts = [(stop.at, stop.stop) for stop in stops] + [(stop.at + stop.length, stop.go_on) for stop in stops]
    begun = []
    try:
        for at, act in sorted(acts, key=lambda pair: pair[0]):
            time.sleep(max(0.0, start + at - time.monotonic()))
            if lab.poll() is not None:
                break
            act()
            begun.append(act)
    except (ProcessLookupError, OSError) as error:
        return [], str(error)
    finally:
        for stop in stops:
            if stop.stop in begun and not stop.done:
                try:
                    stop.go_on()
                except (ProcessLookupError, OSError):
                    pass
    return [stop for stop in stops if stop.done], None


def carry_out(number, work):
    plan = Plan(number)
    words = [canned, "--port", "0"] + (["--servers", str(plan.servers), "--service-ms", "5"] if plan.servers else [])
    target = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        port = int(target.stdout.readline().rsplit(":", 1)[1])
        path = work / "blame.toml"
        path.write_text(plan.scenario(port))
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
        lab = subprocess.Popen([gauntlet, "run", str(path), "--quiet", "--out", str(work / "runs")], preexec_fn=few if plan.processes else None,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + 20
            while not connected(port) and lab.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            with Watch() as watch:
                stops, failed = signals(plan, lab, target)
                try:
                    _, errors = lab.communicate(timeout=RUN_MAX_S)
                except subprocess.TimeoutExpired:
                    return plan, None, stops, None, watch.longest_s
        finally:
            if lab.poll() is None:
                for pid in [lab.pid] + children(lab.pid):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                lab.wait()
    finally:
        target.kill()
        target.wait()
    records = list((work / "runs").glob("*/run.json"))
    run = json.loads(records[0].read_text()) if records else None
    return plan, run, stops, failed or (None if run else errors.strip()[-300:] or "it left no record"), watch.longest_s


def contradictions(plan, run, stops):
    verdict = run["verdict"]
    failing = [f"{g['name']} {g['limit']}: {g['value']}" + (f", {g['without_lab']} without the lab" if "without_lab" in g else "")
               for g in run["gates"] if not g["ok"]]
    said = (run["generator"].get("pauses") or {}).get("longest_s", 0)
    what = f"{verdict} ({'; '.join(failing)}), and the lab says that it paused for {said} s"
    allowed = {"none": {"passed"}, "target": {"passed", "failed"}, "lab": {"passed", "void"}, "worker": {"passed", "void"}}
    if verdict not in allowed.get(plan.truth, {"passed", "failed", "void"}):
        yield f"{plan.truth} was stopped: {what}" if plan.truth != "none" else f"nothing was stopped: {what}"
    for stop in stops:
        # A pause may begin before the load or end after it.
        if stop.who != "target" and stop.lasted >= PAUSE_MIN_S and said < 0.8 * stop.lasted:
            yield f"the {stop.who} was stopped for {stop.lasted:.3f} s: {what}"


print(f"{runs} runs with the seed {seed}", flush=True)
if not may_trace():
    sys.exit(77)
table, wrong, broken, still = collections.Counter(), 0, 0, 0
for number in [int(only)] if only else range(runs):
    work = pathlib.Path(tempfile.mkdtemp(prefix="blame-"))
    plan, run, stops, failed, machine_s = carry_out(number, work)
    if not failed and not run:
        wrong += 1
        print(f"CONTRADICTION in run {number}: it had not ended after {RUN_MAX_S} s\n  {plan.told()}\n  bench/blame.sh {runs} {seed} {number}", flush=True)
    elif machine_s >= PAUSE_MIN_S and plan.truth in ("none", "target") and run and run["verdict"] != "passed":
        still += 1
        print(f"run {number} says nothing (the machine stood still for {machine_s:.3f} s): {plan.told()}", flush=True)
    elif failed or len(stops) < len(plan.pauses):
        # The run was over before its pause was: no truth, so no judgement.
        broken += 1
        print(f"run {number} says nothing ({failed or 'it was over before the pause was'}): {plan.told()}", flush=True)
    else:
        table[plan.truth, run["verdict"]] += 1
        found = list(contradictions(plan, run, stops))
        wrong += bool(found)
        for text in found:
            print(f"CONTRADICTION in run {number}: {text}\n  {plan.told()}\n  bench/blame.sh {runs} {seed} {number}", flush=True)
    if only:
        print(f"{plan.told()}\nkept: {work}")
    else:
        shutil.rmtree(work)

verdicts = ["passed", "failed", "void"]
print("\n| stopped | " + " | ".join(verdicts) + " |\n|---|" + "---|" * len(verdicts))
for truth in truths:
    print(f"| {truth} | " + " | ".join(str(table[truth, verdict]) for verdict in verdicts) + " |")
print(f"\n{wrong} contradictions, {broken} runs that say nothing, {still} in which the machine stood still, seed {seed}")
few = max(1, runs // 10)
sys.exit(1 if wrong or broken > few else 77 if still > few else 0)
PYTHON
