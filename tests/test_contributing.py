"""The names in CONTRIBUTING.md exist: files, modules, classes, functions and constants."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

from tests.guide import ROOT, blocks, code_spans

PAGE = ROOT / "CONTRIBUTING.md"
SOURCES = [path for folder in ("engine", "agents", "league_app") for path in (ROOT / folder).rglob("*.py")]
PATH = r"[\w./-]*/[\w./-]*|[\w-]+\.(py|md|toml)"
MODULE = r"(engine|agents|league_app|tests)(\.\w+)+"
NAME = r"[A-Z]\w+(\.[a-z_]+)?|[a-z]+(_[a-z]+)+"  # Class, Class.attribute, CONSTANT, some_function
ELSEWHERE = {"__init__.py", "group/name"}  # a file of every package, and the form of a metric's name
NOT_OURS = ("Q", "RINGSIDE_")  # classes of Qt, and variables of the environment


def words() -> list[str]:
    """Everything in backticks, and the folders and files at the start of the lines of the tree."""
    tree = [line.split()[0] for block in blocks(PAGE, "text") for line in block.text.splitlines()]
    return [word for word in dict.fromkeys([*code_spans(PAGE), *tree]) if word not in ELSEWHERE]


def module_exists(name: str) -> bool:
    """Whether this is a module, or a name in one."""
    outer, _, inner = name.rpartition(".")
    package = importlib.import_module(outer)
    return hasattr(package, inner) or importlib.util.find_spec(name) is not None


def test_every_path_exists() -> None:
    paths = [word for word in words() if re.fullmatch(PATH, word) and not word.startswith(".venv/")]  # may be elsewhere
    assert len(paths) > 80
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_folder_of_the_packages_is_in_the_tree() -> None:
    folders = {path.parent.relative_to(ROOT) for path in SOURCES if path.name == "__init__.py"}
    listed = {Path(word) for block in blocks(PAGE, "text") for word in block.text.split() if word.endswith("/")}
    inner = {Path("engine/games"), Path("league_app/gui/widgets")}  # their own folders are described by one line
    assert {folder for folder in folders if folder.parent not in inner} - listed == {Path("league_app")}


def test_every_module_exists() -> None:
    modules = [word for word in words() if re.fullmatch(MODULE, word) and not (ROOT / word).exists()]
    assert modules
    assert [name for name in modules if not module_exists(name)] == []


def test_every_class_function_and_constant_exists() -> None:
    names = [word for word in words() if re.fullmatch(NAME, word) and not word.startswith(NOT_OURS)]
    names = [name for name in names if not (ROOT / name).exists()]
    assert len(names) > 60
    texts = [path.read_text("utf-8") for path in SOURCES]
    for name in names:
        owner, _, attribute = name.partition(".")
        defined = re.compile(rf"^(class | *def )?{owner}(\(|:| =)", re.M)
        places = [text for text in texts if defined.search(text)]
        assert places, f"{owner} is not defined"
        assert not attribute or any(re.search(rf"\b(def |self\.){attribute}\b", text) for text in places), name
