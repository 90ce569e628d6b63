"""Valid data files with a few changed bytes, as left by a bad disk or a wrong edit."""

from __future__ import annotations

import gzip
import random

import numpy as np
import scipy.sparse as sp

from tests.data.malformed_arrays import arrays
from tests.data.malformed_matlab import cells, saved
from tests.data.malformed_tables import table, to_csv
from tests.data.malformed_text import relational, series, sparse_line, sparse_rows

BAGS = cells(np.eye(3), np.ones((2, 3)))
TOOLBOX = {
    "data": np.eye(3),
    "nlab": [1, 2, 2],
    "lablist": np.array(["positive", "negative"]),
    "ident": {"milbag": [1, 1, 2]},
}


def good_files(draw: random.Random) -> list[tuple[str, bytes]]:
    """Return one valid file of every format and layout: the ending of its name, and its content."""
    tabled = to_csv(table(draw)).encode()
    return [
        (".csv", tabled),
        (".csv.gz", gzip.compress(tabled)),
        (".svm", sparse_rows(draw, f"1 qid:77 {sparse_line(draw)}").encode()),
        (".ts", series(draw, "@seriesLength 12").encode()),
        (".arff", relational(draw).encode()),
        (".mat", saved(False, bags=BAGS, labels=[1, 0])),
        (".mat", saved(True, bags=BAGS, labels=[1, 0])),
        (".mat", saved(False, X=sp.csc_matrix(np.eye(3)), bag_ids=[1, 1, 2], labels=sp.csc_matrix([[1, 1, -1]]))),
        (".mat", saved(False, x=TOOLBOX)),
        (".npz", arrays(instances=np.eye(4), offsets=[0, 2, 4], labels=[1, 0])),
        (".npz", arrays(True, instances=np.eye(4), bag=["a", "b", "a", "c"], labels=["x", "y", "x", "y"])),
    ]


def mutate(draw: random.Random, content: bytes) -> bytes:
    """Return the content with one to twenty changes: bytes replaced, flipped, removed, doubled, inserted, truncated."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 5, 20])):
        at = draw.randrange(len(changed) + 1)
        match draw.randrange(7):
            case 0 | 1:
                changed[at : at + 1] = draw.randbytes(1)
            case 2 if at < len(changed):
                changed[at] ^= 1 << draw.randrange(8)
            case 3:
                del changed[at : at + draw.choice([1, 4, 8, 50])]
            case 4:
                changed[at:at] = changed[: draw.choice([1, 8, 40])]
            case 5:
                changed[at : at + 4] = draw.choice(
                    [b"\xff" * 4, b"\x7f" + b"\xff" * 3, bytes(4), b"\0\0\0\x80", b"9999"]
                )
            case 6 if draw.random() < 0.2:
                del changed[at:]
    return bytes(changed)
