"""Names and numbers as LaTeX, within what MathJax and matplotlib's mathtext both understand."""

from __future__ import annotations

from fractions import Fraction

GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
        *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta"),
        *("Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
    )
)
_ESCAPED = {
    "\\": r"\backslash ",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "_": r"\_",
    "^": r"\wedge ",
    "~": r"\sim ",
    " ": r"\ ",
}


def symbol(name: str) -> str:
    """One letter as it is, a Greek letter as its command, a word upright."""
    if len(name) == 1 and name.isalpha():
        return name
    if name in GREEK:
        return f"\\{name}"
    return upright(name)


def upright(text: str) -> str:
    """Any text as an upright word of a formula."""
    return rf"\mathrm{{{''.join(_ESCAPED.get(character, character) for character in text)}}}"


def number(value: float) -> str:
    """A number: small fractions as such, powers of ten written out, six digits of the rest."""
    if value < 0:
        return f"-{number(-value)}"
    if value == int(value) and value < 1e6:
        return str(int(value))
    ratio = Fraction(value).limit_denominator(12)
    if ratio.numerator <= 12 and abs(float(ratio) - value) <= 1e-15 * value:
        return rf"\frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def index_after(used: str) -> str:
    """The letter for an index inside a formula that uses `used` already."""
    letters = "ijklmn"
    return letters[letters.index(used) + 1] if used and used in letters[:-1] else letters[0]
