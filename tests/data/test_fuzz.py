"""Hundreds of data files that are wrong, each refused in one sentence: no other exception, no waiting, no flood."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from milopt import load_data
from milopt.errors import MiloptError
from tests.data.malformed import PATH_TRICKS, WAYS, malformed_files


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [0, 1])
def test_every_malformed_file_is_refused_in_one_sentence(tmp_path: Path, seed: int) -> None:
    paths = malformed_files(tmp_path, 5 * (len(WAYS) + len(PATH_TRICKS)), seed)
    assert len(paths) >= 300
    for path in paths:
        start = process_time()
        try:
            data = load_data(path)
        except MiloptError as error:
            said = str(error)
        else:
            pytest.fail(f"{path.name} was read as {data}")
        assert said.isprintable(), (path, said)
        assert said.endswith((".", "?")), (path, said)
        assert 20 < len(said) < 900, (path, said)
        assert process_time() - start < 5, path
