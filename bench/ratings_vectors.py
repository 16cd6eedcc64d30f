"""Prints random results of games with the ratings that openskill (PyPI) gives the players, one game a line.

usage: python3 bench/ratings_vectors.py GAMES [SEED]

A player is place:mu:sigma:mu_after:sigma_after, in the order of the seats; numbers are written so that they read back as the same bits.
"""

import random
import sys

from openskill.models import PlackettLuce

games = int(sys.argv[1])
chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
model = PlackettLuce(mu=25.0, sigma=25.0 / 3.0, beta=25.0 / 6.0, kappa=1e-4, tau=0.0)

for _ in range(games):
    players = chance.randint(2, 16)
    before = []
    for _ in range(players):
        # A newcomer now and then, else a player who has played for a while.
        is_new = chance.random() < 0.2
        mu, sigma = (25.0, 25.0 / 3.0) if is_new else (chance.gauss(25.0, 10.0), chance.uniform(0.05, 25.0 / 3.0))
        before.append((mu, sigma))
    if chance.random() < 0.5:
        places = chance.sample(range(1, players + 1), players)
    else:
        # With ties: as a game ends in which several snakes die in one turn.
        drawn = [chance.randint(1, players) for _ in range(players)]
        places = [1 + sum(other < place for other in drawn) for place in drawn]
    after = model.rate([[model.rating(mu=mu, sigma=sigma)] for mu, sigma in before], ranks=places)
    fields = (f"{place}:{mu!r}:{sigma!r}:{team[0].mu!r}:{team[0].sigma!r}" for place, (mu, sigma), team in zip(places, before, after))
    print(" ".join(fields))
