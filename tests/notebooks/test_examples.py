"""The notebooks in examples/ are stored without outputs, run from top to bottom, and show tables and pictures."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_every_result_is_shown(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(path, as_version=4)
    client = NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    for cell in book.cells:
        if cell.cell_type != "code":
            continue
        if "=" in cell.source.rstrip().splitlines()[-1].partition("(")[0]:
            continue  # the last line is an assignment, which shows nothing
        (result,) = [output for output in cell.outputs if output.output_type == "execute_result"]
        assert {"text/html", "image/png"} & set(result.data), cell.source
        # A display is shown once: by its own picture, and not again by the figure of pyplot.
        pictures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
        assert pictures in ([], [result]), cell.source


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"first_model", "compare_models"}
