"""Arrays of numbers as text within expressions; long arrays are shortened."""

from __future__ import annotations

from milopt.arrays import Integers, Vector
from milopt.declaration.programs.linear_maps import Shape

MAX_SHOWN_ENTRIES = 5
"""Maximum number of entries of a leaf, or numbers of a constant, that are written out."""


def format_array(numbers: Vector, shape: Shape) -> str:
    """Return numbers as text: one number if all are equal, "[1, 2]", "[[1, 2], [3, 4]]", or "[9 x 9]" if many."""
    if not numbers.size or (numbers == numbers[0]).all():
        return f"{(float(numbers[0]) if numbers.size else 0.0) + 0.0:.6g}"  # + 0.0 turns -0.0 into 0.0
    if len(shape) < 2:
        return format_numbers(numbers)
    if numbers.size > MAX_SHOWN_ENTRIES:
        return f"[{' x '.join(map(str, shape))}]"
    return f"[{', '.join(map(format_numbers, numbers.reshape(-1, shape[-1])))}]"


def format_numbers(numbers: Vector | Integers) -> str:
    """Return numbers as text, shortened if there are many."""
    if len(numbers) > MAX_SHOWN_ENTRIES:
        shown = [*(f"{number:.6g}" for number in numbers[: MAX_SHOWN_ENTRIES - 2]), "...", f"{numbers[-1]:.6g}"]
    else:
        shown = [f"{number:.6g}" for number in numbers]
    return f"[{', '.join(shown)}]"


def format_product(factor: float, name: str) -> str:
    """Return the text of a number times a name; the factors 1 and -1 are not written as numbers."""
    if name.startswith("-"):
        factor, name = -factor, name[1:]
    if abs(factor) == 1.0:
        return name if factor > 0 else f"-{name}"
    return f"{factor:.6g}*{name}"
