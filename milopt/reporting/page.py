"""The page of a report: one HTML file with its style and its script, which loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

import milopt
from milopt.html import Html, element, join
from milopt.reporting.documents import Document
from milopt.reporting.pictures import Pictures
from milopt.reporting.sections import PageSection, make_joint_sections, make_section


def make_page(documents: Sequence[Document], title: str = "") -> str:
    """Return the HTML page of documents, with an overview if there are several sections."""
    pictures = Pictures()
    sections = [make_section(document, pictures) for document in documents]
    sections += make_joint_sections(documents, pictures)
    heading = title or (sections[0].heading if len(documents) == 1 else f"{len(documents)} results of milopt")
    body = [
        element("header", element("h1", heading), element("p", f"Written by milopt {milopt.__version__}.")),
        *([_overview_table(sections)] if len(sections) > 1 else []),
        *(_write_section(section, k) for k, section in enumerate(sections)),
    ]
    style, script = _read_package_file("report.css"), _read_package_file("report.js")
    head = [
        element("meta", charset="utf-8"),
        element("meta", name_="viewport", content_="width=device-width, initial-scale=1"),
        # The browser loads nothing, and runs no script but the one of the page.
        element("meta", http_equiv="Content-Security-Policy", content_=_security_policy(script)),
        element("title", heading),
        element("style", style),
    ]
    main = element("body", element("main", *body), element("script", script))
    return f"<!DOCTYPE html>\n{element('html', element('head', *head), main, lang='en')}\n"


def _read_package_file(name: str) -> Html:
    """Return a file of this package as markup."""
    return Html(files("milopt.reporting").joinpath(name).read_text(encoding="utf-8"))


def _security_policy(script: str) -> str:
    """Return the policy that allows the styles and the one script of the page, and no connection."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _overview_table(sections: Sequence[PageSection]) -> Html:
    """Return the table of all sections, with links to them."""
    rows = [
        element(
            "tr",
            element("td", element("a", section.heading, href=f"#section{k}")),
            element("td", section.kind),
            element("td", _certificate_mark(section), section.outcome),
        )
        for k, section in enumerate(sections)
    ]
    head = element("tr", *(element("th", name, scope="col") for name in ("result", "kind", "outcome")))
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("nav", element("div", table, class_="scroll"), aria_label="Overview")


def _write_section(section: PageSection, k: int) -> Html:
    """Return a section with its heading and its outcome."""
    outcome = element("p", _certificate_mark(section), section.outcome, class_="outcome")
    return element("section", element("h2", section.heading), outcome, section.body, id_=f"section{k}")


def _certificate_mark(section: PageSection) -> Html:
    """Return a mark that states whether all certificates hold."""
    if section.is_good is None:
        return Html("")
    text, kind = ("certified", "good") if section.is_good else ("not all certified", "bad")
    return join([element("span", text, class_=f"mark {kind}"), " "])
