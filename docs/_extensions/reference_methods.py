"""Pages of solvers, schemes and kernels."""

from __future__ import annotations

import inspect
import sys

import rst
from reference_models import own_solvers

import milopt
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.kernels.kernel import Kernel
from milopt.model_registry import model_names
from milopt.schemes.registered import scheme_class, scheme_names
from milopt.solving import registry
from milopt.solving.solver import Solver

FORM = """\
A solver gets a flat program,

.. math::

   \\min_x \\; \\tfrac12 x^\\top P x + q^\\top x \\quad \\mathrm{s.t.} \\quad F x + g \\in K, \\; l \\leq x \\leq u,

with multipliers z of the rows and reduced costs r such that P x + q = F'z + r. How a solver is chosen, and how a
new one is written: :doc:`/solvers`.

"""
SCHEMES = """\
A scheme is an algorithm that solves a program in convex steps. How schemes are chosen and written: :doc:`/schemes`.

"""
KERNELS = """\
A kernel between instances is a similarity K(x, z); a function of a program lives in its space. A kernel between bags is
a similarity of whole bags. Semidefinite kernels have such a space; the others are used as similarities, for example
over a dictionary with a 1-norm. In the formulas of kernels between bags, x and z are bags.

"""


def pages() -> dict[str, str]:
    """Return the pages of solvers, schemes and kernels."""
    classes = solver_classes()
    made = {"solvers/index.rst": solver_index(classes), "schemes/index.rst": scheme_index(), "kernels.rst": kernels()}
    made |= {f"solvers/{name}.rst": solver_page(name, cls) for name, cls in classes.items()}
    made |= {f"schemes/{name}.rst": scheme_page(name) for name in scheme_names()}
    return made


def solver_classes() -> dict[str, type[Solver]]:
    """Return the classes of the registered solvers and families by name."""
    classes = {}
    for name in registry.solver_names():
        family, colon, _ = name.partition(":")
        variant = registry.family_variants(family)[0] if colon else name
        classes[family] = type(registry.get_solver(variant))
    return classes


def solver_index(classes: dict[str, type[Solver]]) -> str:
    """Return the page that lists the solvers."""
    rows = [(f":doc:`{name}`", rst.escape(first_line(cls)), licence_of(name, cls)) for name, cls in classes.items()]
    text = rst.title("Solvers") + FORM
    return (
        text
        + rst.table(("solver", "problem classes", "licence"), rows, "15 65 20")
        + rst.contents(classes, hidden=True)
    )


def solver_page(name: str, cls: type[Solver]) -> str:
    """Return the page of a solver: its facts, the text at the top of its module, and its class."""
    is_family = getattr(cls, "family", False)
    features = "those of the solver behind" if is_family else ", ".join(sorted(str(f) for f in cls.features))
    facts = [
        ("name", rst.code(f"{name}:NAME" if is_family else name)),
        ("features", features),
        ("cones", "those of the solver behind" if is_family else ", ".join(sorted(cls.cones))),
        ("package", rst.code(cls.package)),
        ("installed by", rst.code(f"pip install 'milopt[{cls.extra}]'" if cls.extra else "pip install milopt")),
        ("licence", licence_of(name, cls)),
        ("starts from the last solution", "yes" if cls.supports_warm_start else "no"),
        ("remark", rst.escape(cls.remark)),
        ("time limit", "" if is_family else rst.escape(str(cls.time_limit_note))),
    ]
    text = rst.title(name) + rst.table(("property", "value"), [fact for fact in facts if fact[1]], "30 70")
    if is_family:
        text += f"Installed here: {rst.codes(registry.family_variants(name))}.\n\n"
    else:
        text += f"Models whose default program it supports: {supported_models(name)}.\n\n"
    module = sys.modules[cls.__module__]
    text += rst.title("Description", "-") + rst.plain_text(module.__doc__ or "")
    return (
        text + rst.title("Class", "-") + f".. autoclass:: {cls.__module__}.{cls.__name__}\n   :no-inherited-members:\n"
    )


def supported_models(solver: str) -> str:
    """Return links to the models whose default program a solver supports."""
    from program_directive import example_program

    from milopt.solving.explain import explain

    names = [name for name in model_names() if solver in own_solvers(explain(example_program(name)))]
    return ", ".join(f":doc:`/reference/models/{name}`" for name in names) or "none"


def first_line(cls: type) -> str:
    """Return the first sentence of a class docstring, without a name before a colon."""
    first = (cls.__doc__ or "").strip().partition("\n")[0]
    text = first.partition("`: ")[2] or first
    return text[:1].upper() + text[1:]


def licence_of(name: str, cls: type[Solver]) -> str:
    """Return the licence of a solver; a family has that of each solver behind."""
    return "that of the solver behind" if getattr(cls, "family", False) else cls.licence


def scheme_index() -> str:
    """Return the page that lists the schemes."""
    rows = [(f":doc:`{name}`", rst.escape(first_line(scheme_class(name)))) for name in scheme_names()]
    text = rst.title("Schemes") + SCHEMES + rst.table(("scheme", "algorithm"), rows, "20 80")
    return text + rst.contents(scheme_names(), hidden=True)


def scheme_page(name: str) -> str:
    """Return the page of a scheme."""
    return rst.title(name) + f".. autoclass:: milopt.{scheme_class(name).__name__}\n"


def kernels() -> str:
    """Return the page of the kernels, with the formula of each."""
    shown = {name: getattr(milopt, name) for name in milopt.__all__}
    kernels = {name: value for name, value in shown.items() if isinstance(value, type) and issubclass(value, Kernel)}
    between_bags = [name for name, value in kernels.items() if issubclass(value, BagKernel)]
    instances = [name for name in kernels if name not in between_bags]
    text = rst.title("Kernels") + KERNELS
    for heading, names in (("Between instances", instances), ("Between bags", between_bags)):
        text += rst.title(heading, "-") + rst.table(("kernel", "formula"), [kernel_row(n) for n in names], "30 70")
    return text


def kernel_row(name: str) -> tuple[str, str]:
    """Return a link to a kernel, and its formula; the first line of a class that has no instance without arguments."""
    cls = getattr(milopt, name)
    parameters = inspect.signature(cls).parameters.values()
    is_complete = all(parameter.default is not parameter.empty for parameter in parameters)
    has_formula = is_complete and not inspect.isabstract(cls)
    return f":class:`milopt.{name}`", f":math:`{cls().latex()}`" if has_formula else rst.escape(first_line(cls))
