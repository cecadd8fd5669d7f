"""Reads the README and the pages of the guide: their code blocks, headings, links and pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
GUIDE = ROOT / "assets" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    language: str
    text: str


def blocks(page: Path, language: str = "") -> list[Block]:
    """The code blocks of a page in their order, all or those of one language."""
    found = [Block(match["language"], match["text"]) for match in BLOCK.finditer(page.read_text("utf-8"))]
    return [block for block in found if not language or block.language == language]


def example(page: str, words: str) -> str:
    """The Python block of a page of the guide that contains these words."""
    [found] = [block.text for block in blocks(GUIDE / page, "python") if words in block.text]
    return found


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return BLOCK.sub("", page.read_text("utf-8"))


def headings(page: Path) -> list[tuple[int, str]]:
    """Level and text of each heading."""
    return [(len(marks), text) for marks, text in re.findall(r"^(#+) +(.+)$", prose(page), re.M)]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    texts = (re.sub(r"[^\w\- ]", "", text.lower()) for _, text in headings(page))
    return {text.replace(" ", "-") for text in texts}


def links(page: Path) -> list[tuple[str, str]]:
    """Text and target of each link and picture; code spans hold none."""
    text = re.sub(r"`[^`]+`", "code", prose(page))
    return [(words, target) for words, target in re.findall(r"!?\[([^\]]*)\]\(([^)\s]+)\)", text)]


def code_spans(page: Path) -> list[str]:
    """The texts in backticks, without those of code blocks."""
    return re.findall(r"`([^`\n]+)`", prose(page))


def pictures(page: Path) -> list[tuple[str, str]]:
    """Alternative text and path of each picture."""
    return re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", prose(page))
