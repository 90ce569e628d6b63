"""Hundreds of invalid data files are each rejected with one sentence, quickly and within limited memory."""

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
from tests.data.mutations import good_files, mutate

ROOT = Path(__file__).resolve().parents[2]


def refusal(path: Path) -> str | None:
    """Return the error message about a file, or None if it is read; other exceptions propagate."""
    try:
        load_data(path)
    except MiloptError as error:
        return str(error)
    return None


def is_one_sentence(message: str) -> bool:
    return message.isprintable() and message.endswith((".", "?")) and 20 < len(message) < 900


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [0, 1])
def test_every_malformed_file_is_rejected_with_one_sentence(tmp_path: Path, seed: int) -> None:
    paths = malformed_files(tmp_path, 5 * (len(WAYS) + len(PATH_TRICKS)), seed)
    assert len(paths) >= 300
    for path in paths:
        start = process_time()
        message = refusal(path)
        assert message is not None, f"{path.name} was read"
        assert is_one_sentence(message), message
        assert process_time() - start < 5, path


@pytest.mark.filterwarnings("error")
def test_a_mutated_file_is_either_read_or_rejected(tmp_path: Path) -> None:
    draw = random.Random(0)
    for _ in range(40):
        for ending, content in good_files(draw):
            path = tmp_path / f"changed{ending}"
            path.write_bytes(content)
            assert len(load_data(path).bags) > 0
            path.write_bytes(mutate(draw, content))
            message = refusal(path)
            assert message is None or is_one_sentence(message), message


# Decompression bombs: repeated text in a file of a hundredth or a thousandth of its size.
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
    message = done.stdout.splitlines()
    assert len(message) == len(WAYS) + len(BOMBS)
    assert [line for line in message if not line.startswith("refused")] == []
