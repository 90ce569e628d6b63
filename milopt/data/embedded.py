"""The data sets that ship inside the package, with their checksums; `embedded/PROVENANCE.txt` has their licences."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from milopt.data.messages import file_error

FOLDER = Path(__file__).parent / "embedded"

CONTENT = {
    "musk1": "92 bags (47 positive), 476 instances, 166 features",
    "musk2": "102 bags (39 positive), 6598 instances, 166 features",
    "GunPoint": "50 training and 150 test series of length 150",
    "ItalyPowerDemand": "67 training and 1029 test series of length 24",
}
"""The sets that ship, and what is in them."""


def verified(path: Path) -> Path:
    """The path of a file that ships, if its SHA-256 is the one written down."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise file_error(path, f"the file that ships with milopt cannot be read ({error.strerror})") from None
    if found != _checksums().get(path.name):
        raise file_error(path, "the file is not the one that ships with milopt; install milopt again")
    return path


@cache
def _checksums() -> dict[str, str]:
    """File name to SHA-256, from the table beside the files."""
    lines = (FOLDER / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}
