"""Conversion of names to names that every reader of LP and MPS files accepts: `slack[3]` becomes `slack(3)`.

HiGHS drops all names of a model if one is illegal, and reads `[` in an LP file as the start of a quadratic part. A
legal name consists of ASCII letters, digits and `_.(),`. It does not start with a digit, a full stop, `inf` or `nan`,
does not look like an exponent (`e1`), is not a keyword of the LP format, has at most 255 characters, and is unique.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from milopt.compilation.standard_form import StandardForm

OBJECTIVE_NAME = "obj"
"""Name of the objective row, which no other row may have."""

MAX_NAME_LENGTH = 255
"""Maximum number of characters of a name."""

_BRACKETS_TO_PARENTHESES = str.maketrans("[]{}", "()()")
_ILLEGAL_CHARACTERS = re.compile(r"[^A-Za-z0-9_.(),]")
_ILLEGAL_START = re.compile(r"[0-9.(),]|inf|nan|e(?![a-df-z_])", re.IGNORECASE)
_KEYWORD = re.compile(
    r"(min|max)(imi[sz]e|imum)?|subject|to|such|that|st\.?|s\.t\.|bounds?|free|gen(erals?)?|int(egers?)?|bin(ary|aries)?"
    r"|semis?|sos[12]?|end|rhs|ranges",
    re.IGNORECASE,
)


def legal_name(name: str) -> str:
    """Return a legal name close to `name`; two names may become the same legal name.

    Greek letters are spelled out, accents are dropped, `[]{}` become round brackets, and other illegal characters
    become underscores.
    """
    text = name.translate(_BRACKETS_TO_PARENTHESES)
    if not text.isascii():
        text = "".join(_to_ascii(character) for character in unicodedata.normalize("NFKD", text))
    text = _ILLEGAL_CHARACTERS.sub("_", text)
    if not text or _ILLEGAL_START.match(text) or _KEYWORD.fullmatch(text):
        text = "_" + text
    return text[:MAX_NAME_LENGTH]


def legal_names(names: Iterable[str], reserved: Iterable[str] = ()) -> list[str]:
    """Return the legal names of `names`, made unique and different from `reserved` by suffixes `_2`, `_3`, ..."""
    taken = set(reserved)
    result = []
    for name in names:
        legal = legal_name(name)
        copy = 1
        candidate = legal
        while candidate in taken:
            copy += 1
            candidate = f"{legal[: MAX_NAME_LENGTH - len(str(copy)) - 1]}_{copy}"
        taken.add(candidate)
        result.append(candidate)
    return result


def legal_columns(form: StandardForm) -> list[str]:
    """Return one legal name per column."""
    return legal_names(form.column_names())


def legal_rows(form: StandardForm) -> list[str]:
    """Return one legal name per row, different from the name of the objective."""
    return legal_names(form.row_names(), reserved=(OBJECTIVE_NAME,))


def _to_ascii(character: str) -> str:
    """Return the ASCII replacement of a character: "" for an accent, the name of a Greek letter, or an underscore."""
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    words = unicodedata.name(character, "").split()
    return words[-1].lower() if words[:1] == ["GREEK"] and "LETTER" in words else "_"
