"""Descriptions of hyper-parameters, read from the `Parameters` sections of class docstrings (numpydoc format).

The parameters that all models share are described once, in the docstring of `BagClassifier`. When a subclass is
created, `inherit_parameter_docs` appends the entries of inherited parameters to its docstring, so that `help` shows all
of them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping

_ENTRY_PATTERN = re.compile(r"(\w+(?:, \w+)*) : \S")
"""First line of an entry: one or more names, a colon, and the type."""


def inherit_parameter_docs(cls: type, names: Iterable[str]) -> None:
    """Append the entries of inherited parameters to the `Parameters` section of a class docstring.

    Parameters that the docstring describes itself are not changed. A parameter that no base class describes is left
    out. A class without a docstring stays without one, and a docstring without the section gets one.

    Parameters
    ----------
    cls : type
        Class that has just been created. Its `__doc__` is replaced.
    names : iterable of str
        Names of all its parameters, in the order of its constructor.
    """
    docstring = vars(cls).get("__doc__")
    if not isinstance(docstring, str):
        return
    text = inspect.cleandoc(docstring)
    before, section, after = _split_at_parameters(text)
    described = _split_entries(section)
    inherited = _inherited_entries(cls)
    missing = [name for name in names if name not in described and name in inherited]
    # An entry may describe several parameters ("starts, lengths : ..."), and is then added once.
    added = dict.fromkeys(inherited[name] for name in missing)
    if not added:
        return
    entries = [*([section] if section else []), *added]
    blocks = [before, "\n".join(["Parameters", "----------", *entries]), after]
    cls.__doc__ = "\n\n".join(block for block in blocks if block) + "\n"


def parameter_descriptions(cls: type) -> dict[str, str]:
    """Return the description of each parameter in the docstring of a class, as one line of text.

    Parameters
    ----------
    cls : type
        Class with a `Parameters` section in its docstring, for example a model.

    Returns
    -------
    dict of str to str
        Descriptions by parameter name. Parameters without a description are left out.

    Examples
    --------
    >>> from milopt.models import MISVM
    >>> parameter_descriptions(MISVM)["kernel"]
    'Kernel between instances.'
    """
    _, section, _ = _split_at_parameters(inspect.getdoc(cls) or "")
    lines = {name: entry.splitlines()[1:] for name, entry in _split_entries(section).items()}
    return {name: " ".join(" ".join(body).split()) for name, body in lines.items() if body}


def parameter_types(cls: type) -> dict[str, str]:
    """Return the type of each parameter in the docstring of a class, without the default.

    Parameters
    ----------
    cls : type
        Class with a `Parameters` section in its docstring, for example a model.

    Returns
    -------
    dict of str to str
        Types by parameter name, as in the docstring. Allowed strings are in braces.

    Examples
    --------
    >>> from milopt.models import SAFE
    >>> parameter_types(SAFE)["core"]
    '{"ksc", "kpca"}'
    """
    _, section, _ = _split_at_parameters(inspect.getdoc(cls) or "")
    heads = {name: entry.partition("\n")[0].partition(" : ")[2] for name, entry in _split_entries(section).items()}
    return {name: re.sub(r",? *(default[= ].*|optional)$", "", head) for name, head in heads.items()}


def allowed_values(kind: str) -> tuple[str, ...]:
    """Return the strings in the braces of a type such as `{"ksc", "kpca"} or None`; empty if there are none.

    Parameters
    ----------
    kind : str
        Type of a parameter, as in `parameter_types`.

    Returns
    -------
    tuple of str
        Allowed strings, without quotes.

    Examples
    --------
    >>> allowed_values('{"ksc", "kpca"}')
    ('ksc', 'kpca')
    """
    braces = re.search(r"\{([^}]*)\}", kind)
    return tuple(re.findall(r'"([^"]*)"', braces[1])) if braces else ()


def _inherited_entries(cls: type) -> Mapping[str, str]:
    """Return the `Parameters` entries of all base classes by parameter name; the nearest class takes precedence."""
    entries: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        text = vars(base).get("__doc__")
        if isinstance(text, str):
            entries |= _split_entries(_split_at_parameters(inspect.cleandoc(text))[1])
    return entries


def _split_at_parameters(text: str) -> tuple[str, str, str]:
    """Split a docstring into the text before, inside and after its `Parameters` section.

    The heading of the section is in none of the three parts. Without such a section, the second part is empty, and the
    third part begins with the first other section.
    """
    headings = list(re.finditer(r"^([A-Z][A-Za-z ]*)\n-{3,}$\n?", text, re.MULTILINE))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        if heading[1] == "Parameters":
            return text[: heading.start()].strip(), text[heading.end() : end].rstrip(), text[end:].strip()
    end = headings[0].start() if headings else len(text)
    return text[:end].strip(), "", text[end:].strip()


def _split_entries(section: str) -> dict[str, str]:
    """Split a `Parameters` section into its entries, by parameter name."""
    blocks: list[list[str]] = []
    for line in section.splitlines():
        if _ENTRY_PATTERN.match(line):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    texts = ["\n".join(block).rstrip() for block in blocks]
    return {name: text for text in texts for name in text.partition(" : ")[0].split(", ")}
