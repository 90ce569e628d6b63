r"""Text and numbers in LaTeX: special characters are escaped, and numbers are written in mathematics mode.

The result compiles with pdflatex and with the engines for Unicode, without further packages.
"""

from __future__ import annotations

import re

_LATEX_OF_CHARACTER = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    # In the default encoding of fonts, these characters print as others.
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "…": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
}
"""LaTeX of the characters that do not stand for themselves."""
_LIGATURES = frozenset("-'`,")
"""Characters that become another character if they are repeated."""
_ROW_END_ARGUMENTS = ("[", "*")
"""Characters that begin an argument of the end of the row before them."""
_CODE = re.compile(r"(`{1,2})([^`]+)\1")
"""Code in a description, between one or two backticks."""
_BEFORE_OPENING_QUOTE = frozenset(" (")
"""Characters after which a double quote opens."""
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|[-+]?inf"
_NUMBERS = re.compile(rf"({_NUMBER})(?: ± ({_NUMBER}))?", re.IGNORECASE)


def escape_latex(text: str) -> str:
    """Return a text as LaTeX, on one line, with special characters escaped; code in backticks is in typewriter type."""
    plain = " ".join(text.split())
    pieces = ["{}"] if plain.startswith(_ROW_END_ARGUMENTS) else []
    end = 0
    for match in _CODE.finditer(plain):
        # Typewriter fonts have the double quote of code.
        code = '"'.join(map(_escape, match[2].split('"')))
        pieces += [_escape(plain[end : match.start()]), rf"\texttt{{{code}}}"]
        end = match.end()
    return "".join([*pieces, _escape(plain[end:])])


def _escape(text: str) -> str:
    """Return a text without code as LaTeX; double quotes open after a space, and close otherwise."""
    pieces = []
    for before, character, following in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if character == '"':
            pieces.append("``" if before in _BEFORE_OPENING_QUOTE else "''")
        else:
            pieces.append(_LATEX_OF_CHARACTER.get(character, character))
        if character == following and character in _LIGATURES:
            pieces.append("{}")
    return "".join(pieces)


def latex_number(text: str) -> str | None:
    r"""Return a number as LaTeX in mathematics mode, such as `$1.2 \cdot 10^{-3}$` or `$0.85 \pm 0.02$`.

    Return None if the text is not a number, with or without its standard error.
    """
    match = _NUMBERS.fullmatch(text.strip())
    if match is None:
        return None
    value, error = match.groups()
    spread = "" if error is None else rf" \pm {_format_number(error)}"
    return f"${_format_number(value)}{spread}$"


def bold_latex(latex: str) -> str:
    """Return a number of `latex_number`, or escaped text, in bold."""
    if latex.startswith("$") and latex.endswith("$") and latex.count("$") == 2:
        return rf"$\mathbf{{{latex[1:-1]}}}$"
    return rf"\textbf{{{latex}}}"


def _format_number(text: str) -> str:
    """Return a number in mathematics mode, with a power of ten if it has an exponent."""
    mantissa, exponent_mark, exponent = text.lower().partition("e")
    if not exponent_mark:
        return text.lower().replace("inf", r"\infty")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
