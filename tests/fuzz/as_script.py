"""Write a program description as the text of a Python script, by recording the calls of the translator."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.as_milopt import Language, declare
from tests.fuzz.descriptions import BagSet, KernelSpec, ProgramDescription, apply_scaling


def script(description: ProgramDescription, solver: str) -> str:
    """Return a script that declares the program and solves it by one solver."""
    recorder = Recorder()
    declare(apply_scaling(description), recorder)
    arguments = [repr(solver)]
    arguments += [f"scheme={description.scheme!r}"] if description.scheme else []
    options = [f"lazy={description.lazy}"] if description.lazy is not None else []
    options += [f"form={description.form!r}"] if description.form != "auto" else []
    lines = ["import numpy as np", "from numpy import array, inf", "from milopt import *", *recorder.lines]
    if description.parameters:
        lines += [f"session = Session({', '.join(['p', repr(solver), *options])})"]
        for k, setting in enumerate(description.settings):
            if k:
                lines += [f"session.set_parameter({name}, {_text(value)})" for name, value in setting.items()]
            lines += ["print(session.solve())"]
    else:
        lines += [f"print(solve(p, {', '.join(arguments + options)}))"]
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    """Return a value as Python source."""
    if isinstance(value, Text):
        return value.text
    if isinstance(value, np.ndarray):
        numbers = np.array2string(value, separator=", ", floatmode="unique", threshold=100_000, max_line_width=110)
        return f"array({numbers})"
    return repr(value)


class Text:
    """Python expression as text; operators and method calls return longer texts."""

    text: str
    recorder: Recorder
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, text: str, recorder: Recorder) -> None:
        self.__dict__.update(text=text, recorder=recorder)

    def _infix(self, operator: str, left: Any, right: Any) -> Text:
        """Return the text "(left operator right)"."""
        return Text(f"({_text(left)} {operator} {_text(right)})", self.recorder)

    def __add__(self, other: Any) -> Text:
        return self._infix("+", self, other)

    def __radd__(self, other: Any) -> Text:
        return self._infix("+", other, self)

    def __mul__(self, other: Any) -> Text:
        return self._infix("*", self, other)

    def __rmul__(self, other: Any) -> Text:
        return self._infix("*", other, self)

    def __rmatmul__(self, other: Any) -> Text:
        return self._infix("@", other, self)

    def __ge__(self, other: Any) -> Text:
        return self._infix(">=", self, other)

    def __le__(self, other: Any) -> Text:
        return self._infix("<=", self, other)

    def __eq__(self, other: object) -> Text:  # type: ignore[override]
        return self._infix("==", self, other)

    def __call__(self, *arguments: Any, **named: Any) -> Text:
        parts = [_text(value) for value in arguments] + [f"{name}={_text(value)}" for name, value in named.items()]
        return Text(f"{self.text}({', '.join(parts)})", self.recorder)

    def __getattr__(self, name: str) -> Text:
        return Text(f"{self.text}.{name}", self.recorder)

    def __setattr__(self, name: str, value: Any) -> None:
        self.recorder.lines.append(f"{self.text}.{name} = {_text(value)}")


class _ProgramText(Text):
    """Program of a script; each declaration becomes an assignment to a name."""

    def _assign(self, method: str, name: str, *arguments: Any, **named: Any) -> Text:
        """Add the line "name = p.method(...)" and return the name."""
        call = Text(f"p.{method}", self.recorder)(name, *arguments, **named)
        self.recorder.lines.append(f"{name} = {call.text}")
        return Text(name, self.recorder)

    def __getattr__(self, name: str) -> Any:
        if name in ("variable", "function", "parameter"):
            return lambda *arguments, **named: self._assign(name, *arguments, **named)

        def line(*arguments: Any, **named: Any) -> None:
            self.recorder.lines.append(Text(f"p.{name}", self.recorder)(*arguments, **named).text)

        return line


class Recorder(Language):
    """Language that records calls of milopt as lines of a script."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._bags = 0

    def program(self) -> Any:
        """Add the line that creates the program."""
        self.lines.append('p = Program("fuzz")')
        return _ProgramText("p", self)

    def as_bags(self, bags: BagSet) -> Any:
        """Add the line that creates the bags."""
        name, self._bags = f"bags{self._bags}", self._bags + 1
        self.lines.append(f"{name} = Bags({_text(bags.instances)}, {list(bags.offsets)})")
        return Text(name, self)

    def kernel(self, kernel: KernelSpec) -> Any:
        """Return the text of a kernel."""
        texts = {"rbf": f"RBF({kernel.s})", "linear": "Linear()", "polynomial": f"Polynomial(2, 1.0, {kernel.s})"}
        return Text(texts[kernel.kind], self)

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the text of a function call."""
        return Text(name, self)(*arguments)
