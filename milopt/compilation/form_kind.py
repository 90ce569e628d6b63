"""Kind of an evaluation form, such as LP or SOCP."""

from __future__ import annotations

from milopt.compilation.evaluation_form import EvaluationForm
from milopt.compilation.features import Feature, kind_name


def form_kind(form: EvaluationForm) -> str:
    """Return the kind of an evaluation form, such as "LP" or "SOCP" (see `kind_name`)."""
    o = form.objective
    features = {Feature.LINEAR}
    if o.squares or any(o.ridge):
        features.add(Feature.QUADRATIC)
    if form.integer.any():
        features.add(Feature.INTEGER)
    return kind_name(features, {block.cone.name for block in form.blocks})
