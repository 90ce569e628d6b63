"""Output to stdout: valid JSON, and tables as wide as the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from milopt.cli.output import page_width, print_json, print_table, to_json_data


def test_json_has_no_nan_no_infinity_and_no_arrays(capsys) -> None:
    print_json(
        {
            "nan": float("nan"),
            "inside": {"inf": [-np.inf, np.float64(1.5)], 3: (np.int64(2), True)},
            "array": np.array([[1.0, np.nan]]),
            "path": Path("a/b"),
        }
    )
    data = json.loads(capsys.readouterr().out, parse_constant=lambda constant: constant)
    assert data == {
        "nan": None,
        "inside": {"inf": [None, 1.5], "3": [2, True]},
        "array": [[1.0, None]],
        "path": str(Path("a/b")),
    }
    assert list(data) == ["nan", "inside", "array", "path"]


def test_json_data_is_not_changed() -> None:
    assert to_json_data({"a": [1, "b", None, False]}) == {"a": [1, "b", None, False]}


def test_a_table_keeps_names_and_numbers_whole(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_table(
        ("name", "count", "words"), [("a-rather-long-name", "123456", "[bold]as they stand[/bold]")], ("count",)
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("a-rather-long-name  123456  ")
    assert "".join(line[28:].strip() for line in lines[1:]).startswith("[bold]as")


def test_output_that_is_not_a_terminal_is_wide(monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert page_width() == 120
    monkeypatch.setenv("COLUMNS", "77")
    assert page_width() == 77
