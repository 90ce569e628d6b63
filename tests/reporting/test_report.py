"""`milopt report`: one page of the results of other commands, which is well formed, escaped and self-contained."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import milopt
from milopt.cli.app import app
from milopt.comparison.comparison import Comparison
from milopt.estimator.report import Report
from milopt.evaluation.ranking import Ranking
from milopt.evaluation.summary import EvaluationReport
from milopt.html import VOID_ELEMENTS
from milopt.outcome.certificate import Certificate
from milopt.reporting.documents import as_document
from milopt.reporting.page import make_page
from tests.evaluation.test_ranking import evaluations_as_json

NASTY = "<script>alert('&')</script>"


class Page(HTMLParser):
    """A page: its text, its elements with their attributes, and an error if an element is not closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID_ELEMENTS:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.text += f" {data}"

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def write(files: list[Path], folder: Path, *more: str) -> Page:
    path = folder / "report.html"
    outcome = CliRunner().invoke(app, ["report", *map(str, files), "--output", str(path), *more])
    assert outcome.exit_code == 0, outcome.output
    return Page(path.read_text())


def test_a_page_has_every_result_with_its_numbers_pictures_and_command(files, tmp_path: Path) -> None:
    page = write(list(files.values()), tmp_path)
    words = " ".join(page.text.split())
    for name in ("fit", "one step", "compare", "evaluate", "rank"):
        plain = json.loads(files[name].read_text())
        assert plain["command"].startswith(f"milopt {'fit' if name == 'one step' else name} ")
        assert plain["command"] in words
    fit = json.loads(files["fit"].read_text())
    assert f"{fit['objective']:.8g}" in words
    assert f"{fit['certificate']['gap']:.1e}" in words
    assert f"{fit['solver']} {fit['versions'][fit['solver']]}" in words
    assert "solved in one step" in words
    comparison = json.loads(files["compare"].read_text())
    assert "libsvm only solves C-SVM duals" in words
    assert f"{comparison['cells'][0]['accuracy']:.3f}" in words
    # The two evaluations are ranked once, in the overview and in a section: their ranking is one of the files.
    assert words.count("Ranks over 2 data sets") == 2
    pictures = page.count("svg")
    # Steps and margins of two fits; times, strips and profile of two comparisons, and their joint profile; strips of
    # two evaluations; the ranking.
    assert pictures == 4 + 2 * 3 + 1 + 2 + 1
    assert page.count("section") == len(files) + 1
    # The command of an evaluation is printed once.
    assert "The same table" not in words


def test_evaluations_without_their_ranking_are_ranked(files, tmp_path: Path) -> None:
    page = write([files["evaluate"], files["evaluate other"]], tmp_path)
    assert page.text.count("Ranks over 2 data sets") == 2
    assert page.count("section") == 3


def test_one_result_has_no_overview(files, tmp_path: Path) -> None:
    page = write([files["fit"]], tmp_path, "--title", "For <you>")
    assert page.count("nav") == 0
    assert "For <you>" in page.text
    assert page.count("section") == 1


def test_the_page_loads_nothing_and_runs_only_its_own_script(files, tmp_path: Path) -> None:
    page = write(list(files.values()), tmp_path)
    markup = (tmp_path / "report.html").read_text()
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"@import|url\((?!#)", markup)
    (script,) = re.findall(r"<script>(.*?)</script>", markup, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_ids_in_the_pictures_are_unique(files, tmp_path: Path) -> None:
    page = write(list(files.values()), tmp_path)
    clips = [attributes["id"] for tag, attributes in page.elements if tag == "clippath"]
    assert len(clips) > 3
    assert len(set(clips)) == len(clips)
    markup = (tmp_path / "report.html").read_text()
    assert set(re.findall(r"url\(#([^)]*)\)", markup)) <= set(clips)
    # Text and axes have the colour of the page, in light and in dark.
    assert "currentColor" in markup
    assert "#1a1a1a" not in markup


def test_texts_of_results_are_escaped(files) -> None:
    plain = json.loads(files["compare"].read_text())
    plain["data"] = plain["command"] = NASTY
    for cell in plain["cells"]:
        cell["model"] = NASTY
        cell["reason"] = NASTY
    fit = json.loads(files["fit"].read_text())
    fit["model"] = fit["message"] = fit["data"]["name"] = fit["command"] = NASTY
    markup = make_page([as_document(plain, NASTY), as_document(fit, NASTY)], NASTY)
    page = Page(markup)
    assert page.count("script") == 1
    assert NASTY in page.text


@pytest.mark.parametrize(
    ("name", "cls"),
    [("fit", Report), ("compare", Comparison), ("evaluate", EvaluationReport), ("rank", Ranking)],
)
def test_objects_read_back_from_json_write_the_same_json(name: str, cls: type, files) -> None:
    plain = json.loads(files[name].read_text())
    again = json.loads(json.dumps(cls.from_dict(plain).as_dict(), default=str))
    for key, value in again.items():
        assert value == plain[key], key
    assert set(again) >= set(plain) - {"command", "test_accuracy", "saved"}


def test_printed_objects_are_the_same_after_reading_them_back() -> None:
    ranking = milopt.rank(evaluations_as_json({"a": [0.9, 0.8], "b": [0.8, 0.9], "c": [0.1, 0.2]}), control="a")
    again = Ranking.from_dict(json.loads(json.dumps(ranking.as_dict())))
    assert str(again) == str(ranking)
    np.testing.assert_array_equal(again.p_values, ranking.p_values)


def test_bounds_of_a_report_are_read_back() -> None:
    data = milopt.data.toy_bags("clusters", bags=20)
    report = milopt.models.ShapeletBoost(atoms=6, random_state=0).fit(data.bags, data.labels).report()
    again = Report.from_dict(json.loads(json.dumps(report.as_dict())))
    assert str(again) == str(report)
    assert "error on new bags at most" in str(again)


def test_margins_of_many_bags_are_thinned_out() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 2
    report = milopt.models.LSSVM(kernel=milopt.Linear()).fit(rng.normal(size=(1500, 1, 2)) + y[:, None, None], y)
    margins = report.report().as_dict()["programs"][0]["margins"]
    assert len(margins) == 1000
    assert margins == sorted(margins)


def test_points_without_a_certificate_are_marked(files) -> None:
    fit = json.loads(files["fit"].read_text())
    for part in (fit, fit["programs"][0]):
        part["point"] = "feasible"
        part["certificate"] = {"primal": 1e-9, "dual": None, "gap": 0.5}
    page = Page(make_page([as_document(fit, "fit.json")]))
    assert "not all certified" in page.text
    assert "primal 1.0e-09, dual ?, gap 5.0e-01" in page.text
    comparison = json.loads(files["compare"].read_text())
    comparison["cells"][0] |= {"point": "feasible", "status": "stalled"}
    page = Page(make_page([as_document(comparison, "compare.json")]))
    assert "not all certified" in page.text
    assert "Hollow: without a certificate." in page.text
    # A residual that was not a finite number is null in JSON, and never small.
    assert not Certificate.from_residuals({"primal": 0.0, "dual": None, "gap": 0.0}).holds(1e-6)


def test_without_matplotlib_the_remedy_is_stated(files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("milopt.picture", "milopt.reporting.pictures", "milopt.reporting.sections", "milopt.reporting.page"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    outcome = CliRunner().invoke(app, ["report", str(files["fit"]), "--output", str(tmp_path / "report.html")])
    assert outcome.exit_code == 2
    assert outcome.stderr == "Error: Plots need matplotlib; run: pip install 'milopt[plot]'\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[1, 2]", "is not a result of milopt"),
        ('{"data": "x"}', "is not a result of milopt"),
        ('{"cells": [{}], "agreement": []}', "is not complete ('data')"),
    ],
)
def test_other_files_are_rejected_with_one_sentence(content: str, words: str, tmp_path: Path) -> None:
    path, output = tmp_path / "wrong.json", tmp_path / "report.html"
    path.write_text(content)
    outcome = CliRunner().invoke(app, ["report", str(path), "--output", str(output)])
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"Error: {path} ")
    assert words in outcome.stderr
    assert not output.exists()
    missing = CliRunner().invoke(app, ["report", str(tmp_path / "none.json"), "--output", str(output)])
    assert "cannot be read" in missing.stderr
