"""Read a program from a file, in the format that the ending of its name says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from milopt.data.messages import file_error

if TYPE_CHECKING:
    from milopt.declaration.programs.program import Program


def read_program(path: str | os.PathLike[str]) -> Program:
    """Read a program from an MPS, LP or CBF file.

    Columns become the variable blocks `continuous` and `integer`, rows the blocks `equal`, `at_least` and `at_most`.
    `program.labels` has the names of the file by block, and results know them: `result.values["COL1"]` is the value of
    the column `COL1`, and `result.duals["ROW1"]` the multiplier of the row `ROW1`. CBF files have no names.

    Parameters
    ----------
    path : str or path
        The file. Its name ends in `.mps`, `.qps`, `.lp` or `.cbf`, perhaps followed by `.gz`.

    Returns
    -------
    Program
        A program that every solver takes which takes its kind. `program.remarks` say where the file was ambiguous.

    Raises
    ------
    DataError
        If the file cannot be read; the message gives the line.

    Examples
    --------
    >>> import milopt, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.lp"
    >>> _ = path.write_text("maximize x + 2 y subject to\\n load: x + y <= 4\\nbounds\\n y <= 3\\nend")
    >>> result = milopt.solve(milopt.read_program(path))
    >>> float(result.objective), float(result.values["y"]), float(result.duals["load"])
    (7.0, 3.0, 1.0)
    """
    try:
        given = Path(path)
    except TypeError:
        raise file_error(Path(repr(path)), "read_program takes the path of a file") from None
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
    raise file_error(given, "the name of a program file ends in .mps, .qps, .lp or .cbf, perhaps with .gz after it")
