"""Sphinx directive `milopt-figure`: a picture that the build draws from numbers in the page.

    ```{milopt-figure} Growth of the time
    display = ScalingDisplay.from_seconds([100, 1000], {"fit": [0.1, 1.2]})
    ```

The argument is the caption. The code finds the classes of `milopt.display` and NaN as `nan`, and assigns `display`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from milopt.html import Html


def draw_figure(code: str, name: str, caption: str) -> Html:
    """Run the code of a figure, and return its picture as SVG markup; `name` makes ids in the page unique."""
    import milopt.display
    from milopt.picture import figure_svg
    from milopt.picture_style import style

    names: dict[str, Any] = {key: getattr(milopt.display, key) for key in milopt.display.__all__} | {
        "nan": float("nan")
    }
    with style(titles=False):
        exec(compile(code, name, "exec"), names)  # code of this project only
    return figure_svg(names["display"].figure_, name, caption)


class FigureDirective(SphinxDirective):
    """Show a display that is drawn from the numbers in the content."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture with its caption."""
        name = f"figure{self.env.new_serialno('milopt-figure')}"
        caption = self.arguments[0]
        markup = draw_figure("\n".join(self.content), name, caption)
        return [nodes.figure("", nodes.raw("", markup, format="html"), nodes.caption("", caption))]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("milopt-figure", FigureDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
