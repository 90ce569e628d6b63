"""The page of `milopt report` in a real browser: no error, nothing is loaded, tables are sorted, nothing overflows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from milopt.reporting.documents import as_document
from milopt.reporting.page import make_page
from tests.reporting.browser import MISSING, Browser, start_browser

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING or "there is a browser")


@pytest.fixture(scope="module")
def page(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of all results, and of one evaluation that their ranking does not have."""
    documents = [as_document(json.loads(path.read_text()), path.name) for path in files.values()]
    third = json.loads(files["evaluate"].read_text()) | {"data": "third", "digest": "third"}
    documents.append(as_document(third, "third.json"))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(make_page(documents))
    return path


@pytest.fixture(scope="module")
def browser(page: Path):
    with start_browser() as started:
        started.open(page)
        yield started


def column(browser: Browser, name: str) -> list[str]:
    """Return the cells of a column of the table of a comparison."""
    script = """
        const table = [...document.querySelectorAll("table.sortable")].find((t) => t.textContent.includes("libsvm"));
        const k = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === NAME);
        return [...table.tBodies[0].rows].map((row) => row.cells[k].textContent.trim());
    """
    return browser.run(script.replace("NAME", json.dumps(name)))


def click(browser: Browser, name: str) -> str:
    """Click the heading of a column of this table, and return the direction that it then states."""
    script = """
        const table = [...document.querySelectorAll("table.sortable")].find((t) => t.textContent.includes("libsvm"));
        const head = [...table.tHead.rows[0].cells].find((cell) => cell.textContent === NAME);
        head.querySelector("button").click();
        return head.getAttribute("aria-sort");
    """
    return browser.run(script.replace("NAME", json.dumps(name)))


def test_the_page_has_a_section_of_every_kind(browser: Browser, files: dict[str, Path]) -> None:
    headings = browser.run("return [...document.querySelectorAll('h2')].map((head) => head.textContent)")
    assert len(headings) == len(files) + 3
    kinds = {"Fit of", "Comparison on", "Evaluation on", "Ranks over 2", "Ranks over 3", "Solvers over all comparisons"}
    assert {kind for kind in kinds for heading in headings if heading.startswith(kind)} == kinds
    # The overview leads to every section.
    script = "return [...document.querySelectorAll('nav a')].map((link) => document.querySelector(link.hash).tagName)"
    assert browser.run(script) == ["SECTION"] * len(headings)


def test_there_is_no_error_and_nothing_is_loaded(browser: Browser) -> None:
    assert browser.log() == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def test_a_click_sorts_numbers_by_value_and_a_second_click_reverses_them(browser: Browser) -> None:
    assert click(browser, "seconds") == "ascending"
    cells = [float(cell) for cell in column(browser, "seconds") if cell]
    assert cells == sorted(cells)
    # The solver that was not run has no time and comes last, in both directions.
    assert column(browser, "seconds")[-1] == ""
    assert click(browser, "seconds") == "descending"
    cells = [float(cell) for cell in column(browser, "seconds") if cell]
    assert cells == sorted(cells, reverse=True)
    assert column(browser, "seconds")[-1] == ""
    assert click(browser, "solver") == "ascending"
    assert column(browser, "solver") == sorted(column(browser, "solver"))


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("media", ["screen", "print"])
def test_the_page_is_not_wider_than_the_window(width: int, media: str, browser: Browser) -> None:
    if (width, media) == (360, "print"):
        pytest.skip("paper is wider than that")
    browser.set_media(width, media=media)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    # Every picture is as wide as it may be, and has its proportions.
    boxes = browser.run(
        "return [...document.querySelectorAll('figure svg')].map((s) => [s.clientWidth, s.clientHeight, "
        "s.viewBox.baseVal.width / s.viewBox.baseVal.height])"
    )
    assert boxes
    for wide, high, ratio in boxes:
        assert wide > 250
        assert wide / high == pytest.approx(ratio, rel=0.02)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour "rgb(r, g, b)" (WCAG)."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_light_and_dark(scheme: str, browser: Browser) -> None:
    browser.set_media(1000, scheme=scheme)
    page = luminance(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert (page > 0.5) == (scheme == "light")
    for selector in ("h1", "td", "figcaption", "a", "figure svg text"):
        place = "fill" if "svg" in selector else "color"
        style = browser.run(f"return getComputedStyle(document.querySelector('{selector}')).{place}")
        text = luminance(style)
        assert (max(text, page) + 0.05) / (min(text, page) + 0.05) >= 4.5, (selector, style)


def test_closed_parts_are_open_on_paper(browser: Browser) -> None:
    assert browser.run("return document.querySelector('details').open") is False
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("return [...document.querySelectorAll('details')].every((each) => each.open)") is True


def test_large_areas_of_pictures_are_not_bright_on_a_dark_page(browser: Browser) -> None:
    browser.set_media(1000, scheme="dark")
    script = """
        const isLarge = (box) => box.width * box.height > 400;
        return [...document.querySelectorAll("figure svg path")].filter((each) => isLarge(each.getBBox()))
            .map((each) => getComputedStyle(each))
            .filter((style) => style.fill !== "none" && style.fillOpacity * style.opacity > 0.5)
            .map((style) => style.fill);
    """
    assert [colour for colour in browser.run(script) if luminance(colour) > 0.6] == []
