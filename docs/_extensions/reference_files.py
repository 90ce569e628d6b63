"""Sphinx extension that writes the generated pages of the reference into `docs/reference` before a build.

Every page is made from the code: the registries of models, solvers and schemes, the commands with their help texts, the
JSON schemas, and the public names. The folder is not under version control.
"""

from __future__ import annotations

from pathlib import Path

import reference_api
import reference_commands
import reference_methods
import reference_models
from sphinx.application import Sphinx
from sphinx.config import Config

FOLDER = "reference"
INDEX = """\
Reference
=========

The pages of this section are made from the code when the site is built.

.. toctree::
   :maxdepth: 1

   models/index
   kernels
   schemes/index
   solvers/index
   api/index
   errors
   commands/index
   schemas

The formats of :doc:`data files </formats>` and of :doc:`models and programs </files>` have pages in the user guide.
"""


def reference_pages() -> dict[str, str]:
    """Return the text of every generated page by its path below the folder of the reference."""
    return {
        "index.rst": INDEX,
        **reference_models.pages(),
        **reference_methods.pages(),
        **reference_api.pages(),
        **reference_commands.pages(),
    }


def write_pages(folder: Path, pages: dict[str, str]) -> None:
    """Write the pages whose text has changed, and delete files of earlier builds that are no longer made."""
    for path in folder.rglob("*.rst"):
        # Pages of single names are written by autosummary.
        if str(path.relative_to(folder)) not in pages and path.parent.name != "api":
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def write_reference(app: Sphinx, config: Config) -> None:
    """Write the reference into the source folder of the site."""
    write_pages(Path(app.srcdir) / FOLDER, reference_pages())


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages after the configuration is known, and before autosummary looks for its tables."""
    app.connect("config-inited", write_reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
