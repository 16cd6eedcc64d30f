"""Figures of a ladder, read from the data file of a server that has ended: how soon its order came to the truth, who played how much against
whom, and whether each result counted once. Prints them, and ends with 1 where a bound is broken.

usage: ladder_figures.py GAUNTLET DATA_FILE BOTS_CSV [NAME=BOUND...]   bounds: see BOUNDS
       ladder_figures.py oldest DATA_FILE SECONDS                      before the ladder is ended: is no match older than this under way?
       ladder_figures.py end URL DATA_FILE LIMIT_S                     ends the ladder, and waits until all its results are rated

The last two belong together: a server that was stopped while it played has results of the last moment that are not rated. It is started
again, its ladder is ended, and then each match has a result and each result is rated, to the last one.
"""

import csv
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.request
import uuid

# What may be bounded: a figure's name, whether it must be at least the bound, and what it is.
BOUNDS = {
    "spearman": (True, "rank correlation of the order with the strengths, after {games} games a bot"),
    "first_game_s": (False, "from entry to the first rated game, p99, s"),
    "gap_of_random": (False, "median distance in mu of two that met, of that of two at random"),
    "top_share_off": (False, "games of the strongest 1 %, off the median bot's, as a part of them"),
    "games": (True, "games a bot, median"),
    "seat_off": (False, "largest distance of a seat's share of the games of a tenth of the bots from an even one, points"),
}
# Seats in rated games (a game of four has four) from which on their shares are judged: of fewer, chance alone moves them by a point.
SEATS_JUDGED = 50_000


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    result = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end + 1 < len(order) and values[order[end + 1]] == values[order[begin]]:
            end += 1
        for at in range(begin, end + 1):
            result[order[at]] = (begin + end) / 2 + 1
        begin = end + 1
    return result


def spearman(pairs):
    """Spearman's rank correlation of (a, b)."""
    return statistics.correlation(ranks([a for a, _ in pairs]), ranks([b for _, b in pairs]))


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


class Ladder:
    """The ladder with most results of a data file; entries of bots without a known strength are left out."""

    def __init__(self, path, strengths):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        ladders = self.db.execute(
            "SELECT id, matches_created, results, results_applied FROM competitions WHERE kind = 'ladder' ORDER BY results DESC LIMIT 1"
        )
        self.id, self.created, self.results, self.applied = ladders.fetchone()
        entries = self.db.execute("SELECT bot, name, joined_at, games FROM ladder_entries WHERE ladder = ? AND is_active = 1", [self.id])
        self.entries = {bot: (strengths[name], joined_at, games) for bot, name, joined_at, games in entries if name in strengths}

    def oldest_s(self):
        """How long before the last result the oldest match that is under way was created; 0 where none is."""
        times = "SELECT min(created_at), (SELECT max(ended_at) FROM competition_results WHERE competition = :id) FROM matches"
        created_at, last = self.db.execute(f"{times} WHERE competition = :id AND ended_at IS NULL", {"id": self.id}).fetchone()
        return max(0, last - created_at) / 1000 if created_at and last else 0.0

    def games(self):
        """Each rated game: when it ended, and (bot, mu before, mu after, sigma after) by seat."""
        rows = self.db.execute(
            "SELECT number, ended_at, bot, mu_before, mu_after, sigma_after FROM ladder_games WHERE ladder = ? ORDER BY number, seat", [self.id]
        )
        number, ended_at, seats = None, None, []
        for row_number, row_ended_at, *seat in rows:
            if row_number != number and seats:
                yield ended_at, seats
                seats = []
            number, ended_at = row_number, row_ended_at
            seats.append(seat)
        if seats:
            yield ended_at, seats

    def counted_otherwise(self):
        """What speaks against "each result counted once": (what, how many)."""
        one = lambda sql: self.db.execute(sql, {"id": self.id}).fetchone()[0]
        return {
            "results without a number of their own": self.results
            - one("SELECT count(DISTINCT number) FROM competition_results WHERE competition = :id"),
            "matches with two results": one(
                "SELECT count(*) - count(DISTINCT match_id) FROM competition_results WHERE competition = :id"
            ),
            "matches that are over without a result": one(
                "SELECT count(*) FROM matches WHERE competition = :id AND ended_at IS NOT NULL "
                "AND id NOT IN (SELECT match_id FROM competition_results WHERE competition = :id)"
            ),
            "results of matches that are not over": one(
                "SELECT count(*) FROM matches WHERE competition = :id AND ended_at IS NULL "
                "AND id IN (SELECT match_id FROM competition_results WHERE competition = :id)"
            ),
            "matches that are neither over nor there": self.created
            - self.results
            - one("SELECT count(*) FROM matches WHERE competition = :id AND ended_at IS NULL"),
            "rated games that no result has": one(
                "SELECT count(*) FROM ladder_games WHERE ladder = :id "
                "AND number NOT IN (SELECT number FROM competition_results WHERE competition = :id)"
            ),
            "games of entries that differ from their rows": one(
                "SELECT count(*) FROM ladder_entries e WHERE ladder = :id AND games <> "
                "(SELECT count(*) FROM ladder_games g WHERE g.ladder = :id AND g.bot = e.bot)"
            ),
        }


def rating_error(mu, strengths):
    """Root mean square error of the ratings against the strengths, in points of mu: strengths are in units of their own, so they are mapped by the
    straight line that fits best. Beside it the spread of the strengths in the same points: the error of knowing nothing."""
    xs, ys = list(strengths.values()), [mu[bot] for bot in strengths]
    slope, at_zero = statistics.linear_regression(xs, ys)
    error = statistics.fmean((y - at_zero - slope * x) ** 2 for x, y in zip(xs, ys)) ** 0.5
    return error, abs(slope) * statistics.pstdev(xs)


def tenths(ladder):
    """The bots by their strength, best tenth first; fewer parts where there are fewer bots."""
    order = sorted(ladder.entries, key=lambda bot: ladder.entries[bot][0], reverse=True)
    parts = min(10, len(order))
    cut = [len(order) * part // parts for part in range(parts + 1)]
    return [order[a:b] for a, b in zip(cut, cut[1:])]


def seat_points_off(ladder, seats):
    """The largest distance of a seat's share of the games of a tenth of the bots from an even one, in points. Over all bots every seat has the same share
    by itself: what may differ is who sits there."""
    width = max(map(len, seats.values()), default=0)
    off = 0.0
    for tenth in tenths(ladder):
        games = [sum(seats[bot][seat] for bot in tenth if bot in seats) for seat in range(width)]
        off = max([off] + [abs(100 * count / max(1, sum(games)) - 100 / width) for count in games])
    return off


def figures(ladder, games_a_bot):
    """The figures by name, and the table of the order over the games."""
    shown, first, gaps, random_gaps = {}, {}, [], []
    played, table, steps = 0, [], [step for step in (5, 10, 20, 30) if step < games_a_bot] + [games_a_bot]
    chance = random.Random(1)
    begun = ended = None
    bots = list(ladder.entries)
    mu = {bot: 25.0 for bot in bots}
    strengths = {bot: strength for bot, (strength, _, _) in ladder.entries.items()}
    seated = {}
    result = {}
    for ended_at, seats in ladder.games():
        begun, ended = begun or ended_at, ended_at
        # Ratings say something about who is near once everybody has played a little.
        if played >= 10 * len(bots):
            gaps += [abs(a[1] - b[1]) for at, a in enumerate(seats) for b in seats[:at]]
            a, b = chance.sample(bots, 2)
            random_gaps.append(abs(mu[a] - mu[b]))
        for seat, (bot, _, mu_after, sigma_after) in enumerate(seats):
            seated.setdefault(bot, [0] * len(seats))[seat] += 1
            mu[bot] = mu_after
            shown[bot] = mu_after - 3 * sigma_after
            first.setdefault(bot, ended_at)
        played += len(seats)
        while steps and played >= steps[0] * len(bots):
            pairs = [(shown.get(bot, 0.0), strength) for bot, (strength, _, _) in ladder.entries.items()]
            table.append((steps.pop(0), spearman(pairs), *rating_error(mu, strengths)))
    result["games"] = statistics.median(games for _, _, games in ladder.entries.values())
    if len(first) == len(bots):
        result["first_game_s"] = percentile([(first[bot] - ladder.entries[bot][1]) / 1000 for bot in bots], 0.99)
    if table and table[-1][0] == games_a_bot:
        result["spearman"] = table[-1][1]
    if gaps:
        result["gap_of_random"] = statistics.median(gaps) / statistics.median(random_gaps)
    strongest = sorted(ladder.entries.values(), reverse=True)[: max(1, len(bots) // 100)]
    top = statistics.mean(games for _, _, games in strongest)
    result["top_share_off"] = abs(top / result["games"] - 1) if result["games"] else float("inf")
    result["seats"] = sum(map(sum, seated.values()))
    result["seat_off"] = seat_points_off(ladder, seated)
    total = max(1, sum(games for _, _, games in ladder.entries.values()))
    result["tenths"] = [100 * sum(ladder.entries[bot][2] for bot in tenth) / total for tenth in tenths(ladder)]
    minutes = (ended - begun) / 60_000 if ended and ended > begun else float("nan")
    return result, table, ladder.applied / minutes


def oldest(path, bound_s):
    """Whether no match is stuck: ends with 1 where one under way is older than this."""
    age_s = Ladder(path, {}).oldest_s()
    print(f"oldest match under way when the server was stopped: {age_s:.1f} s (at most {bound_s:g})")
    sys.exit(0 if age_s <= bound_s else 1)


def end(url, path, limit_s):
    """Ends the ladder at the server that has this data file now; 1 where not all of it is rated in so many seconds."""
    address = f"{url}/api/leaderboards/{uuid.UUID(bytes=Ladder(path, {}).id)}"
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}"}

    def call(method):
        request = urllib.request.Request(address, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.read()

    call("DELETE")
    begun = time.monotonic()
    while True:
        known = json.loads(call("GET"))
        if known["games_under_way"] == 0 and known["games_applied"] == known["games_ended"]:
            print(f"ended; all {known['games_ended']} results rated {time.monotonic() - begun:.1f} s later")
            return
        if time.monotonic() - begun > limit_s:
            counts = {name: known[name] for name in ("games_ended", "games_applied", "games_under_way")}
            sys.exit(f"the ladder was ended, and {limit_s:g} s later it has {counts}")
        time.sleep(0.1)


def main():
    if sys.argv[1] == "oldest":
        return oldest(sys.argv[2], float(sys.argv[3]))
    if sys.argv[1] == "end":
        return end(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    gauntlet, path, csv_path, *bounds = sys.argv[1:]
    with open(csv_path, newline="") as file:
        strengths = {row["name"]: float(row["strength"]) for row in csv.DictReader(file)}
    bounds = {name: float(bound) for name, bound in (bound.split("=") for bound in bounds)}
    games_a_bot = int(bounds.get("games", 50))
    ladder = Ladder(path, strengths)
    found, table, per_minute = figures(ladder, games_a_bot)
    print(f"{len(ladder.entries)} bots, {ladder.created} matches created, {ladder.results} over, {ladder.applied} rated, {per_minute:.0f} a minute")
    for games, correlation, error, spread in table:
        print(f"after {games:3} games a bot: rank correlation {correlation:.4f}, rating error {error:.2f} of mu (all equal: {spread:.2f})")
    print("share of the games by strength, best tenth first, %: " + " ".join(f"{share:.1f}" for share in found["tenths"]))
    if found["seats"] < SEATS_JUDGED and "seat_off" in bounds:
        print(f"seat_off       {found['seat_off']:8.4g}  not judged: {found['seats']} seats, of {SEATS_JUDGED} that it takes")
        del bounds["seat_off"]
    failed = [f"{count} {what}" for what, count in ladder.counted_otherwise().items() if count]
    if not ladder.created == ladder.results == ladder.applied:
        failed.append(f"of {ladder.created} matches {ladder.results} are over, and {ladder.applied} results rated")
    recompute = [gauntlet, "ratings", "recompute", "--data", path, "--ladder", str(uuid.UUID(bytes=ladder.id))]
    recomputed = subprocess.run(recompute, capture_output=True, text=True)
    print(f"recomputed: {recomputed.stdout.strip()}")
    if recomputed.returncode != 0:
        failed.append(f"the recomputation ended with {recomputed.returncode}: {recomputed.stderr.strip()}")
    for name, bound in bounds.items():
        at_least, what = BOUNDS[name]
        value = found.get(name)
        print(f"{name:14} {'-' if value is None else f'{value:.4g}':>8}  {what.format(games=games_a_bot)} ({'at least' if at_least else 'at most'} {bound:g})")
        if value is None or (value < bound if at_least else value > bound):
            failed.append(f"{name}: {value}, bound {bound:g}")
    for reason in failed:
        print(f"FAILED: {reason}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
