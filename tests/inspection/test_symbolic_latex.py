"""Hyper-parameters are printed as symbols, with their values in the last line, also in semi-infinite programs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import milopt
from milopt import RBF, BagClassifier, Kernel, Linear, Program, as_bags, bag_max
from milopt.errors import DeclarationError
from milopt.inspection.number_names import NumberNames, name_of_number, names_of_numbers
from milopt.model_registry import get_model, model_names
from milopt.models import MILES, MIORDM, MISVM, ShapeletBoost
from tests.pdflatex import MISSING, compile_latex

RNG = np.random.default_rng(0)
Y = np.repeat([-1, 1], 7)
BAGS = as_bags(RNG.normal(size=(14, 3, 2)))


def latex(model: BagClassifier) -> list[str]:
    """Return the lines of the program of a model in LaTeX."""
    return model.program(BAGS, Y).to_latex().splitlines()[1:-1]


@given(
    st.sampled_from([(1, 1), (1, 2), (2, 1), (3, 4), (1, 92), (17, 1)]),
    st.sampled_from([1, -1, 2, -2]),
    st.sampled_from([1, -1, 2, -2]),
)
def test_products_of_powers_are_recognised(fraction: tuple[int, int], first: int, second: int) -> None:
    p, q = 9.2731650412, 0.6117405989
    names = NumberNames({"C": p, r"\nu": q})
    text = names.latex_of(fraction[0] / fraction[1] * p**first * q**second)
    assert text is not None
    assert names.used == {"C", r"\nu"}
    above = [name for name, power in (("C", first), (r"\nu", second)) if power > 0]
    numerator = text.split("}{")[0].removeprefix(r"\frac{") if text.startswith(r"\frac") else text
    assert all(name in numerator for name in above)


@pytest.mark.parametrize("number", [1.0, 0.5, 3.0, math.pi, 9.2731650412 + 0.3, math.log(9.2731650412)])
def test_other_numbers_are_not_recognised(number: float) -> None:
    assert NumberNames({"C": 9.2731650412}).latex_of(number) is None


def test_one_minus_a_hyper_parameter_is_recognised() -> None:
    with names_of_numbers({r"\mu": 0.37123987}):
        assert name_of_number(1 - 0.37123987) == r"\left(1 - \mu\right)"
        assert name_of_number(0.37123987 / 5) == r"\frac{\mu}{5}"
    assert name_of_number(0.37123987) is None


def test_mi_svm_is_printed_as_in_its_paper() -> None:
    objective, margin, *_, values = latex(MISVM(C=3.0, kernel=RBF(0.5)))
    assert objective.split("& ")[1] == r"\frac{1}{2} \|f\|^2 + C \sum_{i} \xi_{i} \\"
    assert r"\left(\max_{x \in B_{i}} f(x) + b\right) \geq 1 - \xi_{i}" in margin
    assert values.startswith(r" & C = 3,\ s = \frac{1}{2} &&")


def test_a_hyper_parameter_that_equals_another_number_gets_its_own_symbol() -> None:
    assert r"+ C \sum_{i} \xi_{i}" in latex(MISVM(C=1.0))[0]
    assert r"+ C \sum_{i} \xi_{i}" in latex(MISVM(C=0.5))[0]
    assert r"C = 1" in latex(MISVM(C=1.0))[-1]


def test_powers_and_differences_of_hyper_parameters_are_printed() -> None:
    objective, lower, *_, values = latex(MIORDM(lam=16.0, theta=0.7, mu=0.25))
    assert r"\frac{\lambda}{14 \left(1 - \theta\right)^2}" in objective
    assert r"\frac{\lambda \mu}{14 \left(1 - \theta\right)^2}" in objective
    assert r"\geq \left(1 - \theta\right) - \xi_{i}" in lower
    assert r"\lambda = 16,\ \theta = \frac{7}{10},\ \mu = \frac{1}{4}" in values


def test_coefficients_with_one_value_per_class_are_defined() -> None:
    lines = latex(MILES(mu=0.25))
    definition = r"c^{\xi}_{i} = \mu \text{ if } y_{i} = 1,\ \left(1 - \mu\right) \text{ if } y_{i} = -1"
    assert any(definition in line for line in lines)


class LogarithmicModel(BagClassifier):
    """Model in which a hyper-parameter occurs in a logarithm."""

    C: float = 10.0
    D: float = 4.0
    kernel: Kernel = Linear()

    def declare(self, bags, y, weight):
        program = Program("logarithm")
        f = program.function("f", self.kernel)
        slack = program.variable("slack", len(bags), lower=0)
        program.minimize(self.D * f.norm_squared() + math.log(self.C) * slack.sum())
        program.subject_to(y * bag_max(f(bags)) >= 1 - slack, name="margin")
        program.score(lambda new: bag_max(f(new)))
        return program


def test_a_hyper_parameter_that_is_not_recognised_is_printed_by_its_effect() -> None:
    lines = latex(LogarithmicModel())
    assert "D" in lines[0]
    assert "C" not in lines[0]
    assert r"D = 4" in lines[-1]
    assert "C" not in lines[-1]


def test_a_name_that_the_program_uses_is_not_a_symbol() -> None:
    class NamesakeModel(LogarithmicModel):
        """Model with a hyper-parameter called like a variable."""

        slack: float = 2.0

    assert r"\xi =" not in "".join(latex(NamesakeModel()))


def test_a_program_without_a_model_has_no_values() -> None:
    program = Program("plain")
    x = program.variable("x", lower=0)
    program.minimize(3 * x)
    assert program.to_latex().splitlines()[1:-1] == [r"\min_{x} \quad & 3 x \\", r"\mathrm{s.t.} \quad & x \geq 0"]


def test_a_semi_infinite_program_is_printed_with_its_family_and_its_columns() -> None:
    text = "\n".join(latex(ShapeletBoost(nu=0.4, radius=2.0, atoms=5)))
    assert r"\sum_{i} y_{i} h(B_{i}) d_{i} \leq \gamma && \text{for all } h \in \mathcal{H}" in text
    assert r"0 \leq d_{i} \leq \frac{1}{14 \nu}" in text
    assert r"h(B_{i}) = \pm \max_{x \in B_{i}} u(x)" in text
    assert r"\sum_{i} \left|{a^{u}}_{i}\right| \leq \mathrm{radius}" in text
    assert r"\nu = \frac{2}{5},\ \mathrm{radius} = 2" in text


def test_rows_of_the_family_that_were_added_are_not_printed() -> None:
    model = ShapeletBoost(atoms=5)
    before = model.program(BAGS, Y).to_latex()
    shifted = as_bags([bag + 2 * (label > 0) for bag, label in zip(BAGS, Y, strict=True)])
    assert model.fit(shifted, Y).result_.program.to_latex().count("h(B_{i}) d_{i}") == before.count("h(B_{i}) d_{i}")


def test_a_declaration_without_return_is_one_sentence() -> None:
    class ForgetfulModel(LogarithmicModel):
        """Model that forgets to return its program."""

        def declare(self, bags, y, weight):
            super().declare(bags, y, weight)

    for call in (ForgetfulModel().fit, ForgetfulModel().program):
        with pytest.raises(DeclarationError, match=r"ForgetfulModel.declare returns nothing: end it with `return prog"):
            call(BAGS, Y)


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "pdflatex is there")
def test_the_programs_of_all_models_compile(tmp_path: Path) -> None:
    texts = [get_model(name)().program(BAGS, Y).to_latex() for name in model_names()]
    compile_latex("\n".join(rf"\[{text}\]" for text in texts), tmp_path, r"\usepackage{amsmath,amssymb}")


def test_large_problems_are_not_declared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milopt.inspection.symbolic_latex.MAX_REDECLARED_INSTANCES", 41)
    assert "+ 3 " in latex(MISVM(C=3.0))[0]
    monkeypatch.setattr("milopt.inspection.symbolic_latex.MAX_REDECLARED_INSTANCES", 42)
    assert "+ C " in latex(MISVM(C=3.0))[0]


def own_program():
    """Return a program of a user with a few variables."""
    program = milopt.Program("own")
    x, z, g = program.variable("x", 2), program.variable("z", 5), program.variable("g")
    eps = program.variable("eps", lower=0)
    program.minimize(g + eps)
    program.subject_to(x[0] - x[1] <= g, name="d")
    program.subject_to(z @ [1.0, 2.0, 3.0, 4.0, 0.5] >= 1 - eps, name="e")
    program.subject_to(np.arange(15.0).reshape(3, 5) @ z <= g, name="h")
    return program


def test_short_sums_are_printed_entry_by_entry_and_constants_are_defined() -> None:
    text = own_program().to_latex()
    assert r"x_{1} - x_{2} \leq g &&" in text
    assert r"\min_{x, z, g, \varepsilon}" in text
    assert r"a^{\mathrm{e},z} = \left(1,\ 2,\ 3,\ 4,\ \frac{1}{2}\right)" in text
    assert r"A^{\mathrm{h},z} \in \mathbb{R}^{3 \times 5} && \text{constants}" in text


def test_a_slack_is_not_called_xi_beside_a_variable_of_this_name() -> None:
    program = milopt.Program("both")
    program.minimize(program.variable("xi", lower=0) + 2 * program.variable("slack", lower=0))
    assert r"\xi + 2 \mathrm{slack}" in program.to_latex()


@pytest.mark.parametrize(
    ("model", "definition"),
    [
        (milopt.models.MILES(), r"M_{ij} = \max_{x \in B_{i}} K(x, z_{j}) && K(x, z) = \exp"),
        (
            milopt.models.MILES(),
            r"y_{i} \left(\sum_{j} M_{ij} u_{j} - \sum_{j} M_{ij} v_{j} + b\right) \geq 1 - \xi_{i}",
        ),
        (milopt.models.SAFE(), r"w_{i} = \frac{1}{\sum_{j} K(x_{i}, x_{j})}"),
        (milopt.models.BoxCountingSVM(), r"k'(x, z) = (\#"),
        (milopt.models.BoxCountingSVM(), r"R = (R_1, \ldots, R_{8})"),
    ],
)
def test_the_constants_of_a_model_are_defined(model, definition: str) -> None:
    data = milopt.data.toy_bags("clusters", bags=8, seed=0)
    assert definition in model.program(data.bags, data.labels).to_latex()
