"""Configuration of the documentation site. CONTRIBUTING.md has the command that builds it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "_extensions"))

import matplotlib

import milopt

matplotlib.use("Agg")
# Notes of sphinx-gallery about Matplotlib's backend, which cannot show a window here.
warnings.filterwarnings("ignore", message=".*is non-interactive.*")

project = "milopt"
author = "the milopt developers"
version = release = milopt.__version__
html_title = f"milopt {version}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
    "docstring_text",
    "figure_directive",
    "program_directive",
    "repository_links",
    "reference_files",
]
exclude_patterns = [
    "_build",
    "_extensions",
    "_static",
    "_templates",
    "displays",
    "gallery/**/*.py",
    "gallery/**/*.ipynb",
]
templates_path = ["_templates"]
# A name in backticks becomes a link if the site documents it, and code otherwise. Explicit roles must resolve.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]
suppress_warnings = ["config.cache"]

# Two hyphens are those of an option.
smartquotes = False

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Types are in the numpydoc sections; annotations of the signature would name private modules.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
# The table of contents of a class lists its members without the name of the class, which would not fit.
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["milopt.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}

sphinx_gallery_conf = {
    "examples_dirs": "displays",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 600,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": True,
    "reset_modules": (),
    "image_scrapers": ("matplotlib",),
    # A display shows its picture as HTML, too, which would be a second copy of the picture.
    "capture_repr": (),
}
