"""Reading of programs from files, in the format that the ending of the file name indicates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from milopt.data.messages import file_error

if TYPE_CHECKING:
    from milopt.declaration.programs.program import Program


def read_program(path: str | os.PathLike[str]) -> Program:
    r"""Read a program from an MPS, LP or CBF file.

    Columns become the variable blocks `continuous` and `integer`, linear rows the blocks `equal`, `at_least` and
    `at_most`, and the cones of CBF files further blocks. If a row or column of a block has the same name as the block,
    the name of the block gets an underscore.

    The names of the file are in `program.labels`, and results can be indexed by them: `result.values["COL1"]` is the
    value of column `COL1`, and `result.duals["ROW1"]` the multiplier of row `ROW1`. CBF files have no names.

    Parameters
    ----------
    path : str or path-like
        File whose name ends in `.mps`, `.qps`, `.lp` or `.cbf`, optionally followed by `.gz`.

    Returns
    -------
    Program
        The program. `program.remarks` lists ambiguities of the file.

    Raises
    ------
    DataError
        If the file cannot be read or parsed. For a syntax error, the message states the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import milopt
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.lp"
    >>> _ = path.write_text("maximize x + 2 y subject to\n load: x + y <= 4\nbounds\n y <= 3\nend")
    >>> result = milopt.solve(milopt.read_program(path))
    >>> float(result.objective), float(result.values["y"]), float(result.duals["load"])
    (7.0, 3.0, 1.0)
    """
    try:
        given = Path(path)
    except TypeError:
        raise file_error(Path(repr(path)), "path must be the path of a file") from None
    ending = given.name.casefold().removesuffix(".gz").rpartition(".")[2]
    match ending:
        case "mps" | "qps":
            from milopt.reading.flat_program import declare_flat
            from milopt.reading.mps_file import read_mps

            return declare_flat(read_mps(given), given)
        case "lp":
            from milopt.reading.flat_program import declare_flat
            from milopt.reading.lp_file import read_lp

            return declare_flat(read_lp(given), given)
        case "cbf":
            from milopt.reading.cbf_file import read_cbf
            from milopt.reading.cbf_program import declare_cbf

            return declare_cbf(read_cbf(given), given)
    raise file_error(given, "the name must end in .mps, .qps, .lp or .cbf, optionally followed by .gz")
