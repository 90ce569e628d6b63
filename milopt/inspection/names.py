"""Names that every reader of LP and MPS files takes: `slack[3]` becomes `slack(3)`, everything legal stays.

HiGHS drops all names of a model when one is illegal, and reads `[` in an LP file as the start of a quadratic part. So
a name may hold ASCII letters, digits and `_.(),`; does not start with a digit, a full stop, `inf` or `nan`, nor read as
an exponent (`e1`); is no keyword of the LP format; has at most 255 characters; and no two names are the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from milopt.compilation.standard_form import StandardForm

OBJECTIVE = "obj"
"""The name of the objective row; no other row may have it."""

LONGEST = 255

_BRACKETS = str.maketrans("[]{}", "()()")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.(),]")
_BAD_START = re.compile(r"[0-9.(),]|inf|nan|e(?![a-df-z_])", re.IGNORECASE)
_KEYWORD = re.compile(
    r"(min|max)(imi[sz]e|imum)?|subject|to|such|that|st\.?|s\.t\.|bounds?|free|gen(erals?)?|int(egers?)?|bin(ary|aries)?"
    r"|semis?|sos[12]?|end|rhs|ranges",
    re.IGNORECASE,
)


def legal_name(name: str) -> str:
    """The nearest legal name, not yet unique: Greek letters spelled out, accents dropped, the rest an underscore."""
    text = name.translate(_BRACKETS)
    if not text.isascii():
        text = "".join(_ascii(character) for character in unicodedata.normalize("NFKD", text))
    text = _ILLEGAL.sub("_", text)
    if not text or _BAD_START.match(text) or _KEYWORD.fullmatch(text):
        text = "_" + text
    return text[:LONGEST]


def legal_names(names: Iterable[str], reserved: Iterable[str] = ()) -> list[str]:
    """Legal names in the same order, made unique by `_2`, `_3`, ... where two would coincide."""
    taken = set(reserved)
    result = []
    for name in names:
        legal = legal_name(name)
        copy = 1
        candidate = legal
        while candidate in taken:
            copy += 1
            candidate = f"{legal[: LONGEST - len(str(copy)) - 1]}_{copy}"
        taken.add(candidate)
        result.append(candidate)
    return result


def legal_columns(form: StandardForm) -> list[str]:
    """One legal name a column."""
    return legal_names(form.column_names())


def legal_rows(form: StandardForm) -> list[str]:
    """One legal name a row, none of them the objective's."""
    return legal_names(form.row_names(), reserved=(OBJECTIVE,))


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.combining(character):
        return ""
    words = unicodedata.name(character, "").split()
    return words[-1].lower() if words[:1] == ["GREEK"] and "LETTER" in words else "_"
