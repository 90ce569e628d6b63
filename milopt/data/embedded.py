"""Embedded data sets and their checksums; `embedded/PROVENANCE.txt` has their licences."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from milopt.data.messages import file_error

EMBEDDED_FOLDER = Path(__file__).parent / "embedded"

EMBEDDED_DESCRIPTIONS = {
    "musk1": "92 bags (47 positive), 476 instances, 166 features",
    "musk2": "102 bags (39 positive), 6598 instances, 166 features",
    "GunPoint": "50 training and 150 test series of length 150",
    "ItalyPowerDemand": "67 training and 1029 test series of length 24",
}
"""Names and descriptions of the embedded data sets."""


def check_embedded_file(path: Path) -> Path:
    """Return the path of an embedded file if its SHA-256 is correct, otherwise raise an error."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise file_error(path, f"the embedded file cannot be read ({error.strerror})") from None
    if digest != _read_checksums().get(path.name):
        raise file_error(path, "the embedded file was changed; reinstall milopt")
    return path


@cache
def _read_checksums() -> dict[str, str]:
    """Return the SHA-256 of each embedded file by file name."""
    lines = (EMBEDDED_FOLDER / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}
