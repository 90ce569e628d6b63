"""Arguments that several commands share, and what the shell completes for them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.estimator import BagClassifier
    from milopt.solving.options import Options


def complete_solver(incomplete: str) -> list[str]:
    """Solvers whose name begins so; after a comma, the next of several."""
    from milopt.solving import registry

    known = [solver.name for solver in registry.plain_solvers()]
    for name in registry.names():
        family, colon, _ = name.partition(":")
        if colon:
            known += registry.variants(family)
    return _next(incomplete, ["auto", *known])


def complete_model(incomplete: str) -> list[str]:
    """Models whose name begins so; after a comma, the next of several."""
    from milopt.solving import registry

    return _next(incomplete, registry.model_names())


def complete_data(incomplete: str) -> list[str]:
    """Known data sets whose name begins so, and files."""
    from milopt.data import known
    from milopt.errors import MiloptError

    try:
        names = [one.name for one in known() if one.name.startswith(incomplete)]
    except MiloptError:
        # MILOPT_DATA names no folder: the command says so, a half-typed line is no place for it.
        names = []
    folder = Path(incomplete).parent
    try:
        files = [str(path) + ("/" if path.is_dir() else "") for path in folder.iterdir()]
    except OSError:
        files = []
    return names + sorted(path for path in files if path.startswith(incomplete) and not Path(path).name.startswith("."))


def complete_scheme(incomplete: str) -> list[str]:
    """Schemes whose name begins so."""
    from milopt.schemes.registered import scheme_names

    return [name for name in scheme_names() if name.startswith(incomplete)]


def _next(incomplete: str, known: Iterable[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name.casefold().startswith(last.casefold())]


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A known data set (see `milopt data`) or a file: .csv, .svm, .ts, .arff, .mat, .npz.",
        autocompletion=complete_data,
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="A model (see `milopt models`), or path/file.py:Class for one of your own.",
        autocompletion=complete_model,
    ),
]
Solver = Annotated[
    str,
    typer.Option(
        "--solver",
        "-s",
        metavar="NAME",
        help="A solver (see `milopt solvers`); several, separated by commas, are tried in order; "
        "master=NAME,oracle=NAME for the two parts of column generation.",
        autocompletion=complete_solver,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A hyper-parameter, such as C=10 or kernel=rbf(s=0.1); repeat."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="What random choices start from.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="How many processes work at once.")]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="The positive class of two: the one whose witnesses a model looks for. By default the larger number, or "
        "with a warning the alphabetically last label.",
        show_default=False,
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", help="For each fit; the best point is kept.")
]
Tolerance = Annotated[float, typer.Option("--tolerance", metavar="X", help="Of the certificate.")]
Threads = Annotated[int, typer.Option("--threads", metavar="N", min=1, help="For solvers that can use several.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Where more data sets lie; MILOPT_DATA by default."),
]
SERIES = "Series, which become bags of windows"
Window = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="LENGTH",
        help="Samples, a fraction of the shortest series, or none.",
        rich_help_panel=SERIES,
    ),
]
Stride = Annotated[
    int,
    typer.Option("--stride", metavar="N", min=1, help="Samples from one window to the next.", rich_help_panel=SERIES),
]
Znormalise = Annotated[
    bool,
    typer.Option("--znormalise", help="Give each window mean 0 and standard deviation 1.", rich_help_panel=SERIES),
]


def read_data(
    source: str, window: str, stride: int, znormalise: bool, data_dir: Path | None, *, labelled: bool = True
) -> DataSet:
    """The data set that a command's arguments name; `labelled=False` where labels may be missing."""
    from milopt.cli.progress import progress
    from milopt.data import load_data

    with progress(f"reading {source}"):
        return load_data(
            source,
            window=_length(window),
            stride=stride,
            znormalise=znormalise,
            data_dir=data_dir,
            labelled=labelled,
        )


def reading_words(window: str, stride: int, znormalise: bool, data_dir: Path | None) -> str:
    """The options that read the data the same way, as a command line has them; empty for the defaults."""
    words = ["--window", window] if window != "0.2" else []
    words += ["--stride", str(stride)] if stride != 1 else []
    words += ["--znormalise"] if znormalise else []
    words += ["--data-dir", str(data_dir)] if data_dir is not None else []
    return shlex.join(words)


def label_of(text: str | None, data: DataSet) -> object:
    """Return the label of the data that a text on the command line names; the text itself if there is none."""
    from milopt.data.data_set import whole

    labels = set(data.labels.tolist())
    if text is None or text in labels:
        return text
    number = whole(text)
    return number if number in labels else text


_OPTIONS = {
    "solver": "--solver",
    "scheme": "--scheme",
    "options": "--time-limit, --tolerance and --threads",
    "random_state": "--seed",
    "positive": "--positive",
}
"""What sets a hyper-parameter that --set does not."""


def estimator(
    model: str,
    settings: Sequence[str] | None,
    *,
    solver: str = "auto",
    scheme: str | None = None,
    options: Options | None = None,
    seed: int = 0,
) -> BagClassifier:
    """The model that a command's arguments describe; an unknown solver or scheme is told before any work."""
    from milopt.errors import ParameterError
    from milopt.model_registry import get_model, parse_settings
    from milopt.schemes.registered import scheme_class

    own = {"solver": solver_choice(solver), "options": options, "random_state": seed}
    check_solvers(solver)
    if scheme is not None:
        scheme_class(scheme)
    cls = get_model(model)
    values = parse_settings(cls, settings or ())
    if taken := sorted(set(values) & {*own, "scheme", "positive"}):
        raise ParameterError(f'"{taken[0]}" is not set by --set: milopt fit has {_OPTIONS[taken[0]]} for it.')
    if scheme is not None:
        # A model may have a scheme of its own.
        values["scheme"] = scheme
    make: Callable[..., BagClassifier] = cls
    return make(**own, **values)


def check_solvers(text: str) -> None:
    """Say so if a solver is unknown or not installed."""
    from milopt.solving import registry
    from milopt.solving.solver_parts import solver_names

    for name in solver_names(solver_choice(text)):
        if name != "auto":
            registry.require(name)


def solver_choice(text: str) -> str | tuple[str, ...]:
    """One solver, one for each part of a scheme, or several to try in order."""
    if "=" in text:
        return text
    names = tuple(names_of(text))
    return names[0] if len(names) == 1 else names


def names_of(text: str) -> list[str]:
    """Names separated by commas, at least one."""
    from milopt.errors import ParameterError

    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise ParameterError(f'"{text}" names nothing: write one name, or several separated by commas.')
    return found


def _length(text: str) -> float | int | None:
    from milopt.errors import ParameterError

    if text.strip().lower() == "none":
        return None
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise ParameterError(
            f'--window takes samples (20), a fraction of the length (0.2), or none, not "{text}".'
        ) from None
