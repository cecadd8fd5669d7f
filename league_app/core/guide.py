"""The guide: Markdown pages that come with Ringside, their contents and a search through them. No Qt in here."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RingsideError
from engine.files import asset

INDEX = "index.md"
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_PAGE_LINK = re.compile(r"\]\(([\w-]+\.md)\)")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[`*]|^\|?[-:| ]+\|$|\|", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A heading of a page with the text up to the next heading."""

    page: str  # a file name, such as games.md
    title: str
    level: int
    anchor: str
    text: str  # without Markdown's signs


@dataclass(frozen=True)
class GuidePage:
    """One file of the guide."""

    name: str
    path: Path
    markdown: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        return self.sections[0].title if self.sections else self.name


@dataclass(frozen=True)
class Hit:
    """A section that a search has found, with the words around the first match."""

    section: Section
    excerpt: str


@functools.cache
def load_pages() -> dict[str, GuidePage]:
    """All pages by file name: the index first, then in the order in which the index links to them."""
    index = asset(f"guide/{INDEX}")
    if index is None:
        raise RingsideError("The guide is missing from this installation: install Ringside again")
    order = [INDEX, *_PAGE_LINK.findall(index.read_text(encoding="utf-8"))]
    files = {path.name: path for path in sorted(index.parent.glob("*.md"))}
    names = [name for name in dict.fromkeys([*order, *files]) if name in files]
    return {name: _load(files[name]) for name in names}


def _load(path: Path) -> GuidePage:
    markdown = path.read_text(encoding="utf-8")
    return GuidePage(path.name, path, markdown, tuple(_sections(path.name, markdown)))


def _sections(page: str, markdown: str) -> Iterator[Section]:
    heading: tuple[int, str] | None = None
    lines: list[str] = []
    fenced = False
    used: dict[str, int] = {}
    for line in [*markdown.splitlines(), "# "]:  # the last one ends the last section
        fenced ^= line.startswith("```")
        found = None if fenced else _HEADING.match(line) or (line == "# ")
        if not found:
            lines.append(line)
            continue
        if heading is not None:
            level, title = heading
            yield Section(page, title, level, unique_anchor(title, used), plain_text("\n".join(lines)))
        heading, lines = (None if found is True else (len(found[1]), plain_text(found[2]))), []


def plain_text(markdown: str) -> str:
    """The words of a piece of Markdown, for searching and for headings."""
    return _MARKUP.sub(lambda sign: sign[1] or "", markdown).strip()


def unique_anchor(title: str, used: dict[str, int]) -> str:
    """The anchor of a heading as repository pages make it: lower case, hyphens, a number for a repeated heading."""
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    count = used[anchor] = used.get(anchor, -1) + 1
    return f"{anchor}-{count}" if count else anchor


def search(query: str, limit: int = 50) -> list[Hit]:
    """Sections that contain every word of the query, matches in headings first."""
    words = query.casefold().split()
    if not words:
        return []
    found: list[tuple[int, int, Hit]] = []
    for page in load_pages().values():
        for section in page.sections:
            title, text = f"{page.title} {section.title}".casefold(), section.text.casefold()
            if all(word in title or word in text for word in words):
                score = sum(20 * (word in section.title.casefold()) + text.count(word) for word in words)
                found.append((-score, len(found), Hit(section, _excerpt(section.text, words))))
    return [hit for *_, hit in sorted(found)[:limit]]


def _excerpt(text: str, words: list[str]) -> str:
    """About a hundred characters around the first word that is found."""
    line = " ".join(text.split())
    places = [place for word in words if (place := line.casefold().find(word)) >= 0]
    start = max(min(places, default=0) - 30, 0)
    start = line.rfind(" ", 0, start) + 1
    return f"{'... ' if start else ''}{line[start : start + 110]}{' ...' if len(line) > start + 110 else ''}"
