"""Arguments that several commands share, with their shell completion and their parsing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli.tables import OutputFormat

if TYPE_CHECKING:
    from milopt.data.data_set import DataSet
    from milopt.estimator import BagClassifier
    from milopt.solving.options import Options


def complete_solver(incomplete: str) -> list[str]:
    """Complete the name of a solver; after a comma, the last name of a list."""
    from milopt.solving import registry

    known = [solver.name for solver in registry.installed_solvers()]
    for name in registry.solver_names():
        family, colon, _ = name.partition(":")
        if colon:
            known += registry.family_variants(family)
    return _complete_last_name(incomplete, ["auto", *known])


def complete_model(incomplete: str) -> list[str]:
    """Complete the name of a model; after a comma, the last name of a list."""
    from milopt.solving import registry

    return _complete_last_name(incomplete, registry.model_names())


def complete_data(incomplete: str) -> list[str]:
    """Complete the name of a data set or of a file."""
    from milopt.data import known_data_sets
    from milopt.errors import MiloptError

    try:
        names = [data_set.name for data_set in known_data_sets() if data_set.name.startswith(incomplete)]
    except MiloptError:
        # MILOPT_DATA is not a folder: the command itself reports that, not the completion.
        names = []
    folder = Path(incomplete).parent
    try:
        files = [str(path) + ("/" if path.is_dir() else "") for path in folder.iterdir()]
    except OSError:
        files = []
    return names + sorted(path for path in files if path.startswith(incomplete) and not Path(path).name.startswith("."))


def complete_scheme(incomplete: str) -> list[str]:
    """Complete the name of a scheme."""
    from milopt.schemes.registered import scheme_names

    return [name for name in scheme_names() if name.startswith(incomplete)]


def _complete_last_name(incomplete: str, known: Iterable[str]) -> list[str]:
    """Complete the last name of a comma-separated list, ignoring case."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name.casefold().startswith(last.casefold())]


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Name of a data set (see `milopt data`) or a file: .csv, .svm, .ts, .arff, .mat, .npz.",
        autocompletion=complete_data,
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="Model (see `milopt models`), or path/file.py:Class for a model of your own.",
        autocompletion=complete_model,
    ),
]
SolverOption = Annotated[
    str,
    typer.Option(
        "--solver",
        "-s",
        metavar="NAME",
        help="Solver (see `milopt solvers`). Several, separated by commas, are tried in this order. For column "
        "generation: master=NAME,oracle=NAME.",
        autocompletion=complete_solver,
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Hyper-parameter, such as C=10 or kernel=rbf(s=0.1). May be given several times.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TableFormatOption = Annotated[
    OutputFormat,
    typer.Option(
        "--format",
        "-f",
        help="Format of the table. Numbers are not rounded in csv; latex needs the package booktabs.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Random seed.")]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="Number of parallel processes.")]
PositiveOption = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="Label of the positive class, if there are two classes. Default: the larger number, or with a warning the "
        "alphabetically last label.",
        show_default=False,
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", help="Time limit per fit in seconds; the best point found is kept."
    ),
]
ToleranceOption = Annotated[float, typer.Option("--tolerance", metavar="X", help="Tolerance of the KKT residuals.")]
ThreadsOption = Annotated[
    int, typer.Option("--threads", metavar="N", min=1, help="Number of threads (if the solver supports it).")
]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Directory with further data sets (default: $MILOPT_DATA)."),
]
TABLE_PANEL = "Tables (.csv)"
BagColumnOption = Annotated[
    str,
    typer.Option("--bag", metavar="NAME", help="Column with the bag of each row.", rich_help_panel=TABLE_PANEL),
]
LabelColumnOption = Annotated[
    str,
    typer.Option("--label", metavar="NAME", help="Column with the label of the bag.", rich_help_panel=TABLE_PANEL),
]
FeatureColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="A,B",
        help="Columns with the features, separated by commas; default: all others. May be given several times.",
        rich_help_panel=TABLE_PANEL,
        show_default=False,
    ),
]
TIME_SERIES_PANEL = "Time series"
WindowOption = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="LENGTH",
        help="Window length: samples, a fraction of the shortest series, or none.",
        rich_help_panel=TIME_SERIES_PANEL,
    ),
]
StrideOption = Annotated[
    int,
    typer.Option(
        "--stride",
        metavar="N",
        min=1,
        help="Number of samples from one window to the next.",
        rich_help_panel=TIME_SERIES_PANEL,
    ),
]
ZnormaliseOption = Annotated[
    bool,
    typer.Option(
        "--znormalise", help="Scale each window to mean 0 and standard deviation 1.", rich_help_panel=TIME_SERIES_PANEL
    ),
]


@dataclass(frozen=True)
class TableColumnNames:
    """Names of the columns of tables: values of --bag, --label and --features."""

    bag: str = "bag"
    label: str = "label"
    features: list[str] | None = None

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None means all other columns."""
        return split_names(",".join(self.features)) if self.features else None


def read_data(
    source: str,
    window: str,
    stride: int,
    znormalise: bool,
    data_dir: Path | None,
    columns: TableColumnNames,
    *,
    labelled: bool = True,
) -> DataSet:
    """Read the data set that the arguments of a command describe; with `labelled=False`, labels may be missing."""
    from milopt.cli.progress import show_progress
    from milopt.data import load_data

    with show_progress(f"reading {source}"):
        return load_data(
            source,
            window=_parse_window(window),
            stride=stride,
            znormalise=znormalise,
            data_dir=data_dir,
            labelled=labelled,
            bag=columns.bag,
            label=columns.label,
            features=columns.feature_names,
        )


def format_reading_options(
    window: str, stride: int, znormalise: bool, data_dir: Path | None, columns: TableColumnNames
) -> str:
    """Return the options for reading data as command-line text, without options that have their default values."""
    words = ["--window", window] if window != "0.2" else []
    words += ["--stride", str(stride)] if stride != 1 else []
    words += ["--znormalise"] if znormalise else []
    words += ["--data-dir", str(data_dir)] if data_dir is not None else []
    words += ["--bag", columns.bag] if columns.bag != "bag" else []
    words += ["--label", columns.label] if columns.label != "label" else []
    words += ["--features", ",".join(columns.feature_names)] if columns.feature_names else []
    return shlex.join(words)


def parse_label(text: str | None, data: DataSet) -> object:
    """Return the label of the data that a text on the command line means: a string, or an integer.

    If no label matches, return the text itself.
    """
    from milopt.data.data_set import as_integer_label

    labels = set(data.labels.tolist())
    if text is None or text in labels:
        return text
    number = as_integer_label(text)
    return number if number in labels else text


_OPTIONS_BY_PARAMETER = {
    "solver": "--solver",
    "scheme": "--scheme",
    "options": "--time-limit, --tolerance and --threads",
    "random_state": "--seed",
    "positive": "--positive",
    "verbose": "--verbose",
}
"""Options of `milopt fit` for hyper-parameters that cannot be set with --set."""


def parse_common_settings(classes: Sequence[type], items: Sequence[str]) -> dict[str, object]:
    """Return the values of `--set` by hyper-parameter, converted to the types of the models that have it.

    Raise an error if no model has a hyper-parameter.
    """
    from milopt.model_registry import parse_settings
    from milopt.model_registry.settings import fields_of

    values: dict[str, object] = {}
    for cls in classes:
        values |= parse_settings(cls, [item for item in items if item.partition("=")[0].strip() in fields_of(cls)])
    for item in items:
        if item.partition("=")[0].strip() not in values:
            # No model has this hyper-parameter: the error message of the first model suggests similar names.
            parse_settings(classes[0], [item])
    return values


def make_estimator(
    model: str,
    settings: Sequence[str] | None,
    *,
    solver: str = "auto",
    scheme: str | None = None,
    options: Options | None = None,
    seed: int = 0,
) -> BagClassifier:
    """Return the estimator that the arguments of a command describe.

    Raise an error for unknown names, and for `settings` that have their own option.
    """
    from milopt.errors import ParameterError
    from milopt.model_registry import get_model, parse_settings
    from milopt.schemes.registered import scheme_class

    common = {"solver": parse_solver(solver), "options": options, "random_state": seed}
    check_solvers_installed(solver)
    if scheme is not None:
        scheme_class(scheme)
    cls = get_model(model)
    values = parse_settings(cls, settings or ())
    if reserved := sorted(set(values) & {*common, "scheme", "positive", "verbose"}):
        raise ParameterError(
            f'"{reserved[0]}" is not set by --set: use {_OPTIONS_BY_PARAMETER[reserved[0]]} of milopt fit.'
        )
    if scheme is not None:
        # Without --scheme, the default of the model holds, which may be a scheme.
        values["scheme"] = scheme
    make: Callable[..., BagClassifier] = cls
    return make(**common, **values)


def check_solvers_installed(text: str) -> None:
    """Raise an error if a solver in the text of `--solver` is unknown or not installed."""
    from milopt.solving import registry
    from milopt.solving.solver_parts import solvers_in_choice

    for name in solvers_in_choice(parse_solver(text)):
        if name != "auto":
            registry.require_solver(name)


def parse_solver(text: str) -> str | tuple[str, ...]:
    """Parse the text of `--solver`: one name, or a tuple of names that are tried in order.

    A text such as "master=NAME,oracle=NAME" is returned as it is.
    """
    if "=" in text:
        return text
    names = tuple(split_names(text))
    return names[0] if len(names) == 1 else names


def split_names(text: str) -> list[str]:
    """Split a comma-separated list of names; raise ParameterError if it is empty."""
    from milopt.errors import ParameterError

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError(f'"{text}" contains no name: write one name, or several separated by commas.')
    return names


def _parse_window(text: str) -> float | int | None:
    """Parse `--window`: a number of samples (int), a fraction of the length (float), or "none" (None)."""
    from milopt.errors import ParameterError

    if text.strip().lower() == "none":
        return None
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise ParameterError(
            f'--window must be a number of samples (20), a fraction of the length (0.2), or none, not "{text}".'
        ) from None
