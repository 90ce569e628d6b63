"""Invalid data files, each wrong in one way, generated from a seed: every reader must reject them with one sentence.

`malformed_files(folder, count, seed)` cycles through the ways, so that a few hundred files contain every way several
times.
"""

from __future__ import annotations

import bz2
import os
import random
from pathlib import Path

# These modules are imported because they register ways.
import tests.data.malformed_arrays
import tests.data.malformed_matlab
import tests.data.malformed_tables
import tests.data.malformed_text  # noqa: F401 -- registers ways
from tests.data.ways import PATH_TRICKS, WAYS, trick, way


def malformed_files(folder: Path, count: int, seed: int) -> list[Path]:
    """Return `count` paths in the folder, none of which is a valid data set."""
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for i in range(count):
        kind = i % (len(WAYS) + len(PATH_TRICKS))
        if kind < len(WAYS):
            end, content = WAYS[kind](draw)
            path = folder / f"{WAYS[kind].__name__}_{i}{end}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        else:
            path = PATH_TRICKS[kind - len(WAYS)](draw, folder / f"trick_{i}")
        made.append(path)
    return made


@way
def other_ending(draw):
    return draw.choice([".txt", ".pkl", ".parquet", "", ".csv.bz2", ".csv.gz.gz", ".tsv", "."]), bz2.compress(
        b"bag,label,f0\n1,1,1\n"
    )


@trick
def folder_called_as_a_file(draw, path):
    made = path.with_suffix(draw.choice([".csv", ".npz", ".mat", ".ts"]))
    made.mkdir()
    return made


@trick
def pipe(draw, path):
    made = path.with_suffix(draw.choice([".csv", ".svm", ".mat", ".npz"]))
    os.mkfifo(made)
    return made


@trick
def link(draw, path):
    made = path.with_suffix(".csv")
    made.symlink_to(draw.choice(["nowhere.csv", made.name, "/dev/zero", "/dev/full", "/", "/proc/self/mem"]))
    return made


@trick
def not_there(draw, path):
    return path.parent / draw.choice(
        ["no.csv", "a/../../no.ts", "x" * 300 + ".csv", "two\nlines.csv", "\x1b[31mred.csv", "tab\t.npz"]
    )


@trick
def way_up(draw, path):
    return path.parent / draw.choice(["../" * 40 + "etc/passwd", "../" * 40 + "etc/passwd.csv", "./../."])


@trick
def strange_name(draw, path):
    made = path.with_name(path.name + draw.choice(["\n", " ", "\u202e", "%s", "{0}", "é", "\x07"]) + ".csv")
    made.write_text("bag,label,f0\n1,1,nan\n")
    return made
