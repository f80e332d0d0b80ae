"""Counts how often `taskgrain compare` is wrong in simulated worlds, and how often it finds what there is.

    python bench/compare.py --seeds 100 --worlds "quiet,noisy"

Each seed is one study in one of the worlds of `simulated_worlds/noisy.py`, compared in one of these ways:

    within      two systems in the same rounds, four cells
    1+1         one session of each build, two cells; sessions scatter by 5 %
    5+1         five sessions of one build and one of another, two cells; sessions scatter by 5 %
    5+5         the same with five of each
    34 cells    three sessions of each build, of a minute at most for 34 cells, of which one may differ;
                sessions scatter by 2 %, and so do processes, which take turns. A study takes minutes
                of a core, so that this way has to be asked for
    build       two builds of one cell side by side, looked at until it is decided (compare --build)

The columns, of two systems that are the same, and of one whose METG is 1.2 times that of the other:

    alarm       share of studies in which a cell of the same system is called slower or faster
    same        share of cells of the same system that are called the same
    wrong       share of studies with the 1.2 times larger METG in which a verdict is not so
    found       share of cells with the 1.2 times larger METG that are called slower
    seconds     simulated seconds of a cell, of both kinds of study (median)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing import Pool

import numpy as np
from arguments import count, names
from simulated_worlds.clock import Processes
from simulated_worlds.compared import Trial, across, until_decided, within
from simulated_worlds.noisy import WORLDS, World

TIMES = 1.2


def across_once(world: World, times: float, seed: int) -> Trial:
    return across(world, times, seed, sessions=(1, 1))


def across_both(world: World, times: float, seed: int) -> Trial:
    return across(world, times, seed, sessions=(5, 5))


def one_of_many(world: World, times: float, seed: int) -> Trial:
    world = replace(world, processes=Processes(0.02, 0.02))
    return across(world, times, seed, sessions=(3, 3), cells=34, slower=1, between=0.02, budget=60.0)


WAYS: dict[str, Callable[..., Trial]] = {
    "within": within,
    "1+1": across_once,
    "5+1": across,
    "5+5": across_both,
    "34 cells": one_of_many,
    "build": until_decided,
}


def one(way: str, world: str, seed: int) -> tuple[Trial, Trial]:
    """The same system twice, and one that is slower."""
    study = WAYS[way]
    return study(WORLDS[world], 1.0, seed), study(WORLDS[world], TIMES, seed + 10**6)


def row(way: str, world: str, trials: list[tuple[Trial, Trial]]) -> str:
    same, slower = zip(*trials, strict=True)
    numbers = [
        np.mean([each.alarm for each in same]),
        np.mean([each.share("same", 1.0) for each in same]),
        np.mean([each.wrong for each in slower]),
        np.mean([each.share("slower", TIMES) for each in slower]),
    ]
    seconds = float(np.median([each.seconds for each in (*same, *slower)]))
    return f"{way:8} {world:20} " + " ".join(f"{number:7.1%}" for number in numbers) + f" {seconds:8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=count, default=100, help="studies of each kind in each world")
    parser.add_argument("--worlds", type=names(WORLDS), default=list(WORLDS), help="with commas between")
    usual = [way for way, study in WAYS.items() if study is not one_of_many]
    parser.add_argument("--ways", type=names(WAYS), default=usual, help="with commas between")
    parser.add_argument("--processes", type=count, default=2)
    options = parser.parse_args()
    print(f"{'way':8} {'world':20}   alarm    same   wrong   found  seconds")
    with Pool(options.processes) as pool:
        for way in options.ways:
            for world in options.worlds:
                trials = pool.map(partial(one, way, world), range(options.seeds), 4)
                print(row(way, world, trials), flush=True)


if __name__ == "__main__":
    main()
