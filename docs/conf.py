"""Sphinx: the manual. `make docs` builds it into build/docs/html."""

import os
import pathlib
import re
import sys

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.pycode import ModuleAnalyzer

root = pathlib.Path(__file__).resolve().parent.parent

project = "blockjacobi"
copyright = "the blockjacobi authors"
version = release = ".".join(
    re.findall(r"define BLOCKJACOBI_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
               (root / "include" / "blockjacobi" / "version.hpp").read_text(encoding="utf-8")))

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
sys.path[:0] = [str(root / "python"), str(root / "docs")]
import compiled  # noqa: E402, lies beside this file

sys.modules["blockjacobi._core"] = compiled.module(root)
autodoc_typehints = "none"
napoleon_google_docstring = False
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["requirements.txt", "kernels/diary/*"]

breathe_projects = {"blockjacobi": str(root / os.environ.get("BUILD", "build") / "docs" / "doxygen" / "xml")}
breathe_default_project = "blockjacobi"
breathe_default_members = ("members",)
# Every page of a header opens the namespace anew.
suppress_warnings = ["duplicate_declaration.cpp"]

html_theme = "furo"
html_title = f"blockjacobi {release}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def headers_on_pages():
    """Every public header must be on a page of the API."""
    pages = "".join(page.read_text(encoding="utf-8") for page in (root / "docs" / "api").glob("*.md"))
    headers = (root / "include" / "blockjacobi").rglob("*.h*")
    return sorted(header.name for header in headers if not re.search(rf"[ /`]{re.escape(header.name)}\b", pages))


if missing := headers_on_pages():
    raise RuntimeError(f"no page of docs/api names {', '.join(missing)}")


# Formulas as MathML, which browsers draw without a script from elsewhere.
def visit_math(writer, node):
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_displaymath(writer, node):
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def unbroken_numbers(app, document):
    """64 000 stays on a line."""
    for text in list(document.findall(nodes.Text)):
        joined = re.sub(r"(?<=\d) (?=\d{3}(?!\d))", "\N{NO-BREAK SPACE}", text)
        if joined != text and not isinstance(text.parent, (nodes.literal, nodes.literal_block)):
            text.parent.replace(text, nodes.Text(joined))


# napoleon takes what stands before the colon of a sentence about a property for its type.
sentences = {}


def keep_sentence(app, what, name, item, options, lines):
    sentences[name] = list(lines)


def restore_sentence(app, what, name, item, options, lines):
    if what == "property":
        lines[:] = sentences[name]


def order_as_bound():
    """What is compiled has no Python source that would state an order."""
    analyzer = ModuleAnalyzer.for_module("blockjacobi")
    analyzer.analyze()
    for name, item in vars(sys.modules["blockjacobi._core"]).items():
        if isinstance(item, type):
            for member in vars(item):
                analyzer.tagorder[f"{name}.{member}"] = len(analyzer.tagorder)


def setup(app):
    order_as_bound()
    app.connect("autodoc-process-docstring", keep_sentence, priority=400)
    app.connect("autodoc-process-docstring", restore_sentence, priority=600)
    app.connect("doctree-read", unbroken_numbers)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
