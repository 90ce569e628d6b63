"""The sections of a report: headings, tables, certificates and pictures of each result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from milopt.comparison.comparison import Comparison
from milopt.comparison.comparison_view import agreement_table, cell_notes, cells_table
from milopt.errors import MiloptError
from milopt.estimator.report import Report
from milopt.evaluation.ranking import Ranking, rank
from milopt.evaluation.summary import EvaluationReport
from milopt.html import Html, element, entries_table, html_table, join, notes
from milopt.reporting.documents import Document
from milopt.reporting.pictures import Pictures
from milopt.table import Table

MAX_LISTED_FOLDS = 2000
"""Maximum number of rows of the table of folds."""


@dataclass(frozen=True)
class PageSection:
    """PageSection of a page, with one line for the overview.

    `outcome` states in a few words what came out, and `is_good` whether all points have their certificates; None if
    the section has no points.
    """

    heading: str
    kind: str
    outcome: str
    is_good: bool | None
    body: Html


def make_section(document: Document, pictures: Pictures) -> PageSection:
    """Return the section of one document."""
    content = document.content
    if isinstance(content, Report):
        section = _fit_section(content, pictures)
    elif isinstance(content, Comparison):
        section = _comparison_section(content, pictures)
    elif isinstance(content, EvaluationReport):
        section = _evaluation_section(content, pictures)
    else:
        section = _ranking_section(content, pictures)
    origin = [("file", document.source)]
    if document.versions and not isinstance(content, Report):
        origin.append(("versions", ", ".join(f"{name} {version}" for name, version in document.versions.items())))
    command = [element("pre", element("code", document.command))] if document.command else []
    body = join([section.body, entries_table("", origin, "entries"), *command])
    return PageSection(section.heading, section.kind, section.outcome, section.is_good, body)


def make_joint_sections(documents: Sequence[Document], pictures: Pictures) -> list[PageSection]:
    """Return the sections about several documents: a ranking of the evaluations, and profiles of the comparisons.

    The evaluations are not ranked again if one of the documents is their ranking.
    """
    sections = []
    evaluations = [document.content for document in documents if isinstance(document.content, EvaluationReport)]
    rankings = [document.content for document in documents if isinstance(document.content, Ranking)]
    data = {evaluation.data for evaluation in evaluations}
    models = {row.model for evaluation in evaluations for row in evaluation.table}
    is_ranked = any(set(ranking.data) == data and set(ranking.models) == models for ranking in rankings)
    if len(data) > 1 and not is_ranked:
        try:
            sections.append(_ranking_section(rank(evaluations), pictures))
        except MiloptError as reason:
            body = notes([f"The evaluations are not ranked: {reason}"])
            sections.append(PageSection("Ranks over the data sets", "ranking", "not ranked", None, body))
    comparisons = [document.content for document in documents if isinstance(document.content, Comparison)]
    if len(comparisons) > 1:
        body = pictures.profile(comparisons)
        sections.append(PageSection("Solvers over all comparisons", "comparison", "profiles", None, body))
    return sections


def sortable(table: Table) -> Html:
    """Return a table that can be sorted by its columns, and scrolled sideways on a narrow page."""
    markup = html_table(table.title, table.header, table.rows, table.numeric, "sortable")
    return element("div", markup, class_="scroll", tabindex="0")


def _fit_section(report: Report, pictures: Pictures) -> PageSection:
    """Return the section of a fit."""
    content = report.content
    data = content["data"].get("name", "")
    is_good = content["point"] == "certified"
    test = content.get("test_accuracy")
    accuracy = f"training accuracy {content['train_accuracy']:.3f}" + ("" if test is None else f", test {test:.3f}")
    entries = [entry for entry in report.entries() if entry[0] != "versions"]
    if test is not None:
        entries.append(("test", f"accuracy {test:.4g} on {content['data']['test_bags']} bags"))
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    body = join(
        [
            element("div", entries_table("", [*entries, ("versions", versions)], "entries"), class_="scroll"),
            _programs_table(report),
            element("div", pictures.convergence(report), pictures.margins(report), class_="pictures"),
        ]
    )
    outcome = f"{content['status']}, {content['point']}; {accuracy}"
    heading = f"Fit of {content['model']}" + (f" to {data}" if data else "")
    return PageSection(heading, "fit", outcome, is_good, body)


def _programs_table(report: Report) -> Html:
    """Return the table of the programs of a fit, with their certificates."""
    header = (
        "class",
        "kind",
        "solver",
        "status",
        "objective",
        "bound",
        "primal",
        "dual",
        "gap",
        "iterations",
        "seconds",
    )
    rows = []
    for program in report.content["programs"]:
        residuals = program["certificate"] or {}
        rows.append(
            (
                str(program["class"]),
                program["program"]["kind"],
                program["solver"],
                f"{program['status']}, {program['point']}",
                _format_number(program["objective"], ".8g"),
                _format_number(program["bound"], ".8g"),
                *(_format_number(residuals.get(name), ".1e") for name in ("primal", "dual", "gap")),
                str(program["iterations"]),
                _format_number(program["seconds"]["total"], ".3g"),
            )
        )
    return sortable(Table("Certificates", header, tuple(rows), frozenset(header[4:])))


def _comparison_section(comparison: Comparison, pictures: Pictures) -> PageSection:
    """Return the section of a comparison."""
    ran = [cell for cell in comparison.cells if not cell.is_not_run]
    failed = sum(cell.has_failed for cell in ran)
    differ = [agreement for agreement in comparison.agreements if agreement.agree is False]
    outcome = f"{len(ran) - failed} of {len(ran)} fits certified; " + (
        f"solvers differ on {len(differ)} formulations" if differ else "solvers agree"
    )
    drawn = [pictures.times(comparison), pictures.strips(comparison)]
    if len({cell.model for cell in ran}) > 1 and len({cell.solver for cell in ran}) > 1:
        drawn.append(pictures.profile([comparison]))
    body = join(
        [
            sortable(cells_table("Formulations and solvers", comparison.cells)),
            notes([*cell_notes(comparison.cells), *comparison.closing_lines()]),
            sortable(agreement_table(comparison.agreements)),
            element("div", *drawn, class_="pictures"),
        ]
    )
    return PageSection(f"Comparison on {comparison.data}", "comparison", outcome, not failed, body)


def _evaluation_section(report: EvaluationReport, pictures: Pictures) -> PageSection:
    """Return the section of an evaluation."""
    known = [row for row in report.table if row.accuracy is not None]
    best = max(known, key=lambda row: row.accuracy or 0.0, default=None)
    outcome = "no task finished" if best is None else f"best {best.model}, accuracy {best.accuracy:.3f}"
    body = join(
        [
            sortable(report.summary_table()),
            notes(report.findings()),
            element("div", pictures.strips(report), class_="pictures"),
            _folds_table(report),
        ]
    )
    is_good = not report.failures and not any(row.uncertified for row in report.table)
    return PageSection(f"Evaluation on {report.data}, protocol {report.protocol}", "evaluation", outcome, is_good, body)


def _folds_table(report: EvaluationReport) -> Html:
    """Return the table of all folds, closed until the reader opens it."""
    header = ("model", "repeat", "fold", "accuracy", "balanced", "AUC", "fits", "uncertified", "seconds", "selected")
    rows = tuple(
        (
            record.model,
            str(record.repeat + 1),
            str(record.fold + 1),
            f"{record.accuracy:.3f}",
            f"{record.balanced_accuracy:.3f}",
            _format_number(record.auc, ".3f"),
            str(len(record.fits)),
            str(record.uncertified),
            f"{record.seconds:.2f}",
            ", ".join(record.settings),
        )
        for record in report.records[:MAX_LISTED_FOLDS]
    )
    left_out = len(report.records) - len(rows)
    more = notes([f"{left_out} more folds are not listed."]) if left_out else Html("")
    table = sortable(Table("", header, rows, frozenset(header[1:-1])))
    return element("details", element("summary", f"All {len(report.records)} folds"), table, more)


def _ranking_section(ranking: Ranking, pictures: Pictures) -> PageSection:
    """Return the section of a ranking."""
    body = join(
        [
            sortable(ranking.table()),
            notes(ranking.conclusions()),
            element("div", pictures.ranks(ranking), class_="pictures"),
        ]
    )
    outcome = f"best mean rank: {ranking.models[0]}, {ranking.ranks[0]:.2f}"
    return PageSection(f"Ranks over {len(ranking.data)} data sets", "ranking", outcome, None, body)


def _format_number(number: float | None, spec: str) -> str:
    """Format a number; an empty string for None."""
    return "" if number is None else format(number, spec)
