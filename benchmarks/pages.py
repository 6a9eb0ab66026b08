"""The documentation site: gather the pages, generate the references, build with Sphinx, check every link.

``make docs`` runs it.  The pages of ``docs/`` are copied to a folder beside the site, together with the notebooks as
pages, a page for each command of the program, one for each public name, and the files at the root that readers look
for.  A block of code marked ``graph`` is drawn.  Sphinx treats warnings as errors; afterwards every address in the site
is followed, and nothing may be loaded from elsewhere.
"""

from __future__ import annotations

import argparse
import base64
import inspect
import json
import re
import shutil
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import whichdo as wd
from whichdo.graph.mixed import MixedGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["broken_links", "build", "gather"]

ROOT = Path(__file__).resolve().parents[1]
AT_THE_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md")
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Graphs and problems": (
        "CausalGraph", "read_graph", "write_graph", "graph_from", "gallery", "project", "draw_svg", "Problem",
        "read_problem", "write_problem", "propose", "do", "Arm", "Goal", "bins", "Bins",
    ),
    "What looking can settle": (
        "Verdict", "Route", "identify", "Estimand", "confounding_path", "minimal_sets", "possibly_optimal",
    ),
    "Estimates and checks": (
        "rank", "Ranking", "ArmRank", "count", "check", "Check", "what_if", "WhatIf", "EditOutcome",
    ),
    "Campaigns": ("Campaign", "Ticket", "Receipt", "Status", "Advice", "write_report", "Session"),
    "Policies and simulation": (
        "policy", "available_policies", "simulate", "Outcomes", "compare", "Comparison", "CausalNetwork", "Mechanism",
        "bernoulli", "network", "World",
    ),
    "Write a policy": (
        "Policy", "Objective", "Play", "Recommendation", "Batch", "Tally", "Detail", "observe", "pull", "spread",
        "equal_pulls", "best_arm", "refuse_below", "unit_costs", "register",
    ),
}  # fmt: skip
"""The public names by subject; errors have their own page, and what is not listed comes last."""
COMMANDS = """# Command line

Every command has `--help`, and most print JSON for programs with `-f json`.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the logs contradict the graph (`check`) |
| 2 | the command asks for something that does not exist or does not go together |
| 3 | a file or a value that cannot be used |
| 4 | conflict with what is on record |
| 5 | a database or a folder that cannot be read or written |
| 6 | busy, or tell open tickets first |
"""
NAMES = """# Python

`import whichdo as wd`, then `wd.rank` and so on. These names are the public interface; all of them
have types. What can go wrong is in [errors](errors.md).
"""
HIDDEN_TREE = "```{toctree}\n:hidden:\n:glob:\n\n[0-9]*\n```\n"
ALONE = "---\norphan: true\n---\n\n"
"""Of pages that are reached by the table of their index, and would make the list at the side long."""
ERRORS = """# Errors

Every error of the package is one of these; the message says what was found and what to do about it.
"""


# ------------------------------------------------------------------------------------------------------------ gathering


def gather(folder: Path) -> None:
    """Copy and generate all pages into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"))
    for name in AT_THE_ROOT:
        if (ROOT / name).exists():
            text = (ROOT / name).read_text(encoding="utf-8")
            (folder / name.lower()).write_text(text.replace("](docs/", "]("), encoding="utf-8")
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        (folder / "tutorials" / f"{path.stem}.md").write_text(notebook_page(path, folder), encoding="utf-8")
    tutorials = folder / "tutorials" / "index.md"
    (folder / "tutorials" / "README.md").rename(tutorials)
    tutorials.write_text(f"{tutorials.read_text(encoding='utf-8')}\n{HIDDEN_TREE}", encoding="utf-8")
    for path in (folder / "images").glob("*.svg"):  # on white: the reader chooses the theme of the site, not the screen
        text = re.sub(r"<style>@media[^<]*</style>", "", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    _divide(folder / "reproduction.md")
    _list_decisions(folder / "decisions")
    _list_all(folder)
    for path in folder.rglob("*.md"):
        text = _with_drawings(path.read_text(encoding="utf-8"), path, folder)
        path.write_text(_as_gathered(text), encoding="utf-8")
    commands(folder / "cli")
    names(folder / "api")


def _divide(page: Path) -> None:
    """Give each experiment of the long page of results a page, with links where it stood."""
    head, *parts = re.split(r"^## (?=Experiment \d)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    last, _, rest = parts.pop().partition("\n## ")
    links = ""
    for part in (*parts, last):
        title, _, body = part.partition("\n")
        name = "-".join(title.partition(":")[0].lower().split())
        text = f"{ALONE}[Reproduction](reproduction.md)\n\n# {title}\n{body}"
        page.with_name(f"{name}.md").write_text(text, encoding="utf-8")
        links += f"- [{title}]({name}.md)\n"
    page.write_text(f"{head}## The experiments\n\n{links}\n## {rest}", encoding="utf-8")


def _list_decisions(folder: Path) -> None:
    """Decisions that their index does not name yet, at its end."""
    text = (folder / "index.md").read_text(encoding="utf-8")
    left = [path for path in sorted(folder.glob("0*.md")) if f"({path.name})" not in text]
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in left]
    rows = "".join(f"- [{title}]({path.name})\n" for title, path in zip(titles, left, strict=True))
    (folder / "index.md").write_text(f"{text}\n## Newest\n\n{rows}" if rows else text, encoding="utf-8")


def _list_all(folder: Path) -> None:
    """Pages that no list of the index names, at the end of its last."""
    index = folder / "index.md"
    text = index.read_text(encoding="utf-8").rstrip()
    listed = {
        line.strip() for tree in re.findall(r"```{toctree}(.*?)```", text, re.DOTALL) for line in tree.splitlines()
    }
    pages = {path.stem for path in folder.glob("*.md") if not path.read_text(encoding="utf-8").startswith(ALONE)}
    left = sorted(pages - {"index", *listed})
    index.write_text("\n".join([text.removesuffix("\n```"), *left, "```"]) + "\n", encoding="utf-8")


def _with_drawings(text: str, page: Path, folder: Path) -> str:
    """The drawing of each graph of a page above its source."""
    up = "../" * (len(page.relative_to(folder).parts) - 1)

    def drawn(found: re.Match[str]) -> str:
        name = f"{page.stem}-{found.start()}.svg"
        (folder / "images" / name).write_text(wd.draw_svg(wd.CausalGraph.parse(found[1]), adapts=False), "utf-8")
        return f"![The graph]({up}images/{name})\n\n```text\n{found[1]}\n```"

    return re.sub(r"```graph\n(.*?)\n```", drawn, text, flags=re.DOTALL)


def _as_gathered(text: str) -> str:
    """Links as they are in the site: to pages of notebooks, and to the files of the root beside the others."""
    text = re.sub(r"(\]\([^)]*)\.ipynb", r"\1.md", text)
    text = re.sub(r"\]\(tutorials/?(README\.md)?\)", "](tutorials/index.md)", text)
    text = re.sub(r"\]\(decisions/?\)", "](decisions/index.md)", text)
    return re.sub(r"\]\((?:\.\./)*([A-Z_]+\.md)", lambda found: f"]({found[1].lower()}", text)


def notebook_page(path: Path, folder: Path) -> str:
    """A notebook as a page: its words, its code, and what it showed when it was last run."""
    parts = []
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source.strip():
            parts.append(f"```python\n{source}\n```")
            parts += _shown(cell["outputs"], f"{path.stem}-{number}", folder)
    note = f"*A notebook: `docs/tutorials/{path.name}` of a clone.*"
    head, _, rest = "\n\n".join(parts).partition("\n\n")
    return f"{head}\n\n{note}\n\n{rest}\n"


def _shown(outputs: list[dict[str, Any]], name: str, folder: Path) -> Iterator[str]:
    """What a cell of a notebook showed: pictures as files, the rest as HTML without its own styles."""
    for number, each in enumerate(outputs):
        data = each.get("data", {})
        if "image/png" in data:
            target = folder / "images" / f"{name}-{number}.png"
            target.write_bytes(base64.b64decode("".join(data["image/png"])))
            yield f"![What the cell draws](../images/{target.name})"
            continue
        text = "".join(each["text"] if each["output_type"] == "stream" else data.get("text/plain", ""))
        html = "".join(data.get("text/html", f"<pre>{escape(text)}</pre>"))
        html = re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)
        yield f'````{{raw}} html\n<div class="shown">{html}</div>\n````'


def commands(folder: Path) -> None:
    """A page for each verb of the command line, from what its help says."""
    import typer

    from whichdo.cli.app import CAMPAIGNS, make_app

    folder.mkdir()
    group: Any = typer.main.get_command(make_app())
    rows: dict[str, list[str]] = {"Data and graphs": [], CAMPAIGNS: []}
    for verb, command in group.commands.items():
        said = " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
        rows[command.rich_help_panel or "Data and graphs"].append(f"| [`whichdo {verb}`]({verb}.md) | {said} |")
        (folder / f"{verb}.md").write_text(_command_page(verb, command), encoding="utf-8")
    tables = "".join(
        f"## {title}\n\n| command | what it does |\n|---|---|\n" + "\n".join(lines) + "\n\n"
        for title, lines in rows.items()
    )
    (folder / "index.md").write_text(f"{COMMANDS}\n{tables}", encoding="utf-8")


def _command_page(verb: str, command: Any) -> str:
    usage = f"whichdo {verb} [OPTIONS]"
    rows: dict[str, list[str]] = {"Arguments": [], "Options": []}
    for each in command.params:
        if each.param_type_name == "argument":
            name = f"{each.name.upper()}{'...' if each.nargs == -1 else ''}"
            usage += f" {name}" if each.required else f" [{name}]"
            rows["Arguments"].append(f"| `{name}` | {_cell(each.help)} |")
        elif not each.hidden:
            spelled = ", ".join(f"`{name}`" for name in (*each.opts, *each.secondary_opts))
            rows["Options"].append(f"| {spelled} | {_cell(each.help)} | {_default(each)} |")
    heads = {
        "Arguments": "| argument | meaning |\n|---|---|\n",
        "Options": "| option | meaning | default |\n|---|---|---|\n",
    }
    tables = "".join(f"\n## {name}\n\n{heads[name]}" + "\n".join(found) + "\n" for name, found in rows.items() if found)
    said = inspect.cleandoc(command.help or "")
    return f"{ALONE}[Command line](index.md)\n\n# whichdo {verb}\n\n{said}\n\n```text\n{usage}\n```\n{tables}"


def _cell(text: str | None) -> str:
    """A sentence in a cell of a table."""
    return (text or "").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _default(option: Any) -> str:
    """The default of an option, where it says something."""
    value = getattr(option.default, "value", option.default)
    if option.is_flag:
        return "yes" if value is True else ""
    return f"`{value}`" if isinstance(value, (str, int, float)) else ""


def names(folder: Path) -> None:
    """A page for each public name, from its docstring; errors together on one."""
    folder.mkdir()
    public = {name: getattr(wd, name) for name in wd.__all__ if not name.startswith("__")}
    errors = [name for name, found in public.items() if _is_error(found)]
    levels = [name for name, found in public.items() if isinstance(found, wd.Detail)]
    listed = {name for group in GROUPS.values() for name in group}
    rest = tuple(name for name in public if name not in {*listed, *errors, *levels})
    groups = {**GROUPS, **({"More": rest} if rest else {})}
    tables = ""
    for title, group in groups.items():
        rows = "\n".join(f"| [`{name}`]({name}.md) | {_first_sentence(public[name])} |" for name in group)
        tables += f"## {title}\n\n| name | |\n|---|---|\n{rows}\n\n"
        for name in group:
            page = f"{ALONE}[Python](index.md)\n\n# {name}\n\n{_documented(_directive(name, public[name]))}"
            (folder / f"{name}.md").write_text(page, encoding="utf-8")
    tree = "\n".join(f".. autoexception:: {name}\n   :show-inheritance:\n" for name in errors)
    (folder / "errors.md").write_text(f"{ALONE}{ERRORS}\n{_documented(tree)}", encoding="utf-8")
    (folder / "index.md").write_text(f"{NAMES}\n{tables}", encoding="utf-8")


def _is_error(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Exception)


def _first_sentence(found: object) -> str:
    if not callable(found):
        return "Graphs by name, for examples and tests."
    words = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    words = re.split(r"(?<=[.;:])\s", f"{words} ")[0].rstrip(";: ")
    return _cell(re.sub(r"``(.+?)``", r"`\1`", words))


def _directive(name: str, found: object) -> str:
    if isinstance(found, type):
        has_parts = hasattr(found, "plot") or issubclass(found, MixedGraph)  # of which users see what they inherit
        inherited = "\n   :inherited-members: Mapping" if has_parts else ""
        return f".. autoclass:: {name}\n   :members:{inherited}"
    return f".. autofunction:: {name}" if callable(found) else f".. autodata:: {name}\n   :no-value:"


def _documented(directives: str) -> str:
    return f"```{{eval-rst}}\n.. currentmodule:: whichdo\n\n{directives}\n```\n"


# ------------------------------------------------------------------------------------------------------------- checking


class _Addresses(HTMLParser):
    """Where a page leads, what it loads, and its own anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(filter(None, (found.get("id"), found.get("name"))))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") != "canonical":
            self.loaded.append(found.get("href", ""))
        self.loaded += [found[name] for name in ("src", "srcset", "data", "poster") if found.get(name)]


def broken_links(site: Path) -> list[str]:
    """Addresses of a site that lead nowhere, anchors included, and what it loads from elsewhere."""
    pages = {}
    for path in site.resolve().rglob("*.html"):
        pages[path] = _Addresses()
        pages[path].feed(path.read_text(encoding="utf-8"))
    wrong = []
    for path, found in pages.items():
        where = path.relative_to(site.resolve())
        wrong += [f"{where} loads {address}" for address in found.loaded if _is_elsewhere(address)]
        for address in (*found.links, *found.loaded):
            parts = urlsplit(address)
            if parts.scheme or _is_elsewhere(address):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                wrong.append(f"{where} leads to {address}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{where} leads to {address}, which has no such anchor")
    for path in site.rglob("*.css"):
        loaded = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")\s]+)", path.read_text(encoding="utf-8"))
        wrong += [f"{path.name} loads {address}" for address in loaded if _is_elsewhere(address)]
    return wrong


def _is_elsewhere(address: str) -> bool:
    return urlsplit(address).scheme in {"http", "https"} or address.startswith("//")


def build(source: Path, site: Path) -> list[str]:
    """Gather the pages and make the site; what is wrong with it, where something is."""
    gather(source)
    shutil.rmtree(site, ignore_errors=True)
    options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(source / ".doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(site)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        return [line for line in ran.stderr.splitlines() if line.strip()]
    return broken_links(site)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "docs", help="where the site goes")
    out: Path = parser.parse_args().out
    wrong = build(out.with_name(f"{out.name}-source"), out)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sum(1 for _ in out.rglob('*.html')):,} pages; begin at {out / 'index.html'}")


if __name__ == "__main__":
    main()
