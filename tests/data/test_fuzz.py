"""Hundreds of data files that are wrong, each refused in one sentence: no other exception, no waiting, no flood."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest

from milopt import load_data
from milopt.errors import MiloptError
from tests.data.malformed import PATH_TRICKS, WAYS, malformed_files
from tests.data.mutations import good_files, mutated

ROOT = Path(__file__).resolve().parents[2]


def refusal(path: Path) -> str | None:
    """What is said about a file, or None if it is read; any other exception goes through."""
    try:
        load_data(path)
    except MiloptError as error:
        return str(error)
    return None


def is_one_sentence(said: str) -> bool:
    return said.isprintable() and said.endswith((".", "?")) and 20 < len(said) < 900


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [0, 1])
def test_every_malformed_file_is_refused_in_one_sentence(tmp_path: Path, seed: int) -> None:
    paths = malformed_files(tmp_path, 5 * (len(WAYS) + len(PATH_TRICKS)), seed)
    assert len(paths) >= 300
    for path in paths:
        start = process_time()
        said = refusal(path)
        assert said is not None, f"{path.name} was read"
        assert is_one_sentence(said), said
        assert process_time() - start < 5, path


@pytest.mark.filterwarnings("error")
def test_a_changed_file_is_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    draw = random.Random(0)
    for _ in range(40):
        for ending, content in good_files(draw):
            path = tmp_path / f"changed{ending}"
            path.write_bytes(content)
            assert len(load_data(path).bags) > 0
            path.write_bytes(mutated(draw, content))
            said = refusal(path)
            assert said is None or is_one_sentence(said), said


# The bombs: text that repeats, in a file a hundredth or a thousandth of its size.
BOMBS = {
    "empty.csv.gz": ("bag,label,f0\n", "\n"),
    "wide.csv.gz": ("bag,label" + ",f" * 1000 + "\n", "1,1" + ",0" * 1000 + "\n"),
    "header.ts.gz": ("", "@a\n"),
}

LIMITED = """
import resource, sys
from pathlib import Path
from milopt import load_data
from milopt.errors import MiloptError
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        print("read", load_data(path))
    except MiloptError as error:
        print("refused", error)
"""


def test_bombs_and_malformed_files_stay_within_a_gigabyte(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="limits of memory are set in the way of Unix")
    malformed_files(tmp_path, len(WAYS), seed=2)
    for name, (head, repeated) in BOMBS.items():
        (tmp_path / name).write_bytes(gzip.compress((head + repeated * ((20 << 20) // len(repeated))).encode()))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(WAYS) + len(BOMBS)
    assert [line for line in said if not line.startswith("refused")] == []
