"""Networks in the window: their page, their picture, and the dialog that adds them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QFileDialog, QLabel
from pytestqt.qtbot import QtBot

from agents.nets.architecture import Architecture
from agents.nets.facts import architecture_diagram
from agents.nets.network import dump, load
from agents.nets.onnx.export import to_onnx
from agents.nets.onnx.model import read_model
from agents.nets.pilot import agent
from engine.registry import draw_agent, new_game
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.dialogs.add_agents import AddAgentDialog
from league_app.gui.pages.agent import AgentPage
from league_app.gui.palette import DARK
from league_app.gui.training.thumbnail import Thumbnail, texts_that_fit
from tests.plugins.networks import STACK, drawn

CASES = {
    "pong": Architecture("mlp", (64, 64)),
    "treasure-hunt": Architecture("conv", (128,), (16, 32)),
    "shogi": Architecture("resnet", (64,), (64,), 10),
}
MANY = Architecture(
    "stack", (256,) * 8, (128,) * 8, kernels=(3,) * 8, strides=(1,) * 8, activations=("silu",) * 16
)  # more layers than numbers fit below them


def shown_page(context: AppContext, qtbot: QtBot, game: str) -> AgentPage:
    network = agent("Deep", drawn(CASES[game], new_game(game), temperature=0.5))
    page = AgentPage(context)
    qtbot.addWidget(page)
    page.resize(1000, 500)
    page.show()
    page.show_item(context.league.add_agent("Deep", game, network.kind, network.payload, origin="added by hand").id)
    qtbot.waitUntil(lambda: page.name.text() == "Deep")
    return page


@pytest.mark.parametrize(
    ("game", "layers", "weights"),
    [
        ("pong", "mlp: 8, 64, 64, 3 + value", "4,996"),
        ("treasure-hunt", "conv: 16 channels, 32 channels, 128, 4 + value", "108,261"),
        ("shogi", "resnet: 10 residual blocks of 64 channels, 2,187 + value (64)", "808,996"),
    ],
)
def test_the_page_of_a_network_shows_its_layers(
    context: AppContext, qtbot: QtBot, game: str, layers: str, weights: str
) -> None:
    page = shown_page(context, qtbot, game)
    texts = [label.text() for label in page.facts.findChildren(QLabel)]
    facts = dict(zip(texts[::2], texts[1::2], strict=True))
    assert (facts["Architecture"], facts["Weights"], facts["Temperature"]) == (layers, weights, "0.5")
    assert page.payload.text().startswith("Payload: ")
    assert "\\x" not in page.payload.text()
    assert page.picture.diagram is not None
    assert page.picture.isVisible()


def test_the_page_survives_a_change_of_theme_and_of_its_facts(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Qt restyles all widgets in one loop: one that is deleted in it ends the process."""
    page = shown_page(context, qtbot, "pong")
    set_rows, before = page.facts.set_rows, theme.current()
    monkeypatch.setattr(page.facts, "set_rows", lambda facts: None)  # the page may refresh itself at any time
    for choice in ("dark", "light", "dark"):
        theme.apply(choice)
    for facts in ([("Weights", "1")], [("Weights", "1"), ("Empty", "")], []):
        set_rows(facts)
        theme.apply("light")
    theme.apply("dark" if before is DARK else "light")
    qtbot.waitUntil(lambda: not page.facts.findChildren(QLabel))


def test_a_network_is_drawn_as_layers(qtbot: QtBot) -> None:
    for game, architecture in CASES.items():
        diagram = draw_agent(agent("Deep", drawn(architecture, new_game(game))))
        assert diagram is not None
        assert [block.role for block in diagram.blocks][:: len(diagram.blocks) - 1] == ["input", "output"]
        assert all(0 < block.x < 1 and 0 < block.height <= 1 for block in diagram.blocks)
        picture, empty = Thumbnail(diagram=diagram), Thumbnail()
        for thumbnail in (picture, empty):
            qtbot.addWidget(thumbnail)
        assert picture.grab().toImage() != empty.grab().toImage()


@pytest.mark.parametrize("architecture", [STACK, MANY], ids=["few", "many"])
def test_texts_of_layers_do_not_cover_each_other(qtbot: QtBot, architecture: Architecture) -> None:
    hunt = new_game("treasure-hunt").info
    blocks = architecture_diagram(architecture, hunt.observation, hunt.actions).blocks
    image = QImage(280, 120, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    texts = texts_that_fit(painter, QRectF(0, 0, 280, 100), blocks)
    widths = {block: painter.fontMetrics().horizontalAdvance(block.text) for block in texts}
    painter.end()
    assert {blocks[0], blocks[-1]} <= texts
    assert (len(texts) == len(blocks)) == (architecture is STACK)
    places = sorted((280 * block.x - width / 2, 280 * block.x + width / 2) for block, width in widths.items())
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(places))


def test_a_network_is_added_from_a_file_at_a_chosen_temperature(
    context: AppContext, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = AddAgentDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.kind.count() > 1)
    dialog.kind.setCurrentText("net")
    dialog.name.setText("Deep")
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"no network")
    dialog.use_file(str(wrong))
    qtbot.waitUntil(lambda: "must be a network in safetensors" in dialog._payload.error.text())
    file = tmp_path / "deep.safetensors"
    file.write_bytes(dump(drawn(CASES["pong"], new_game("pong"), temperature=1.0)))
    dialog.use_file(str(file))
    qtbot.waitUntil(lambda: dialog.form is not None)
    form = dialog.form
    assert form is not None
    assert form.values() == {"temperature": 1.0}
    assert not dialog._payload.error.text()
    form.set_values({"temperature": 0.25})
    dialog.add_button.click()
    qtbot.waitUntil(lambda: any(known.name == "Deep" for known in context.league.agents()))
    league = context.league.league
    assert load(league.payload(league.agent("Deep").payload)).temperature == 0.25


def test_a_network_of_another_game_is_refused_in_the_dialog(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = AddAgentDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.kind.count() > 1)
    dialog.kind.setCurrentText("torch-net")
    dialog.name.setText("Deep")
    file = tmp_path / "deep.safetensors"
    file.write_bytes(dump(drawn(CASES["treasure-hunt"], new_game("treasure-hunt"))))
    dialog.use_file(str(file))
    qtbot.waitUntil(lambda: dialog.form is not None)
    before = len(context.league.agents())
    dialog.add_button.click()
    qtbot.waitUntil(lambda: bool(dialog._payload.error.text()))
    assert "network.game = 'treasure-hunt': must be pong" in dialog._payload.error.text()
    assert len(context.league.agents()) == before


def test_an_onnx_file_is_added_at_a_chosen_temperature(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = AddAgentDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.kind.count() > 1)
    dialog.kind.setCurrentText("onnx")
    dialog.name.setText("Guest")
    file = tmp_path / "guest.onnx"
    file.write_bytes(b"no network")
    dialog.use_file(str(file))
    qtbot.waitUntil(lambda: "must be a network in ONNX" in dialog._payload.error.text())
    file.write_bytes(to_onnx(drawn(CASES["pong"], new_game("pong"), temperature=1.0)))
    dialog.use_file(str(file))
    qtbot.waitUntil(lambda: dialog.form is not None)
    assert dialog.form is not None
    assert dialog.form.values() == {"temperature": 1.0}
    dialog.form.set_values({"temperature": 0.25})
    dialog.add_button.click()
    qtbot.waitUntil(lambda: any(known.name == "Guest" for known in context.league.agents()))
    league = context.league.league
    assert read_model(league.payload(league.agent("Guest").payload)).temperature == 0.25


def test_a_network_is_exported_as_onnx_in_the_dialog_of_its_page(
    context: AppContext, qtbot: QtBot, tmp_path: Path
) -> None:
    page = shown_page(context, qtbot, "treasure-hunt")
    page.export.click()
    [dialog] = page.window().findChildren(QFileDialog)
    assert dialog.nameFilters() == ["Agents (*.agent)", "ONNX (*.onnx)"]
    dialog.filterSelected.emit("ONNX (*.onnx)")
    assert dialog.defaultSuffix() == "onnx"
    assert Path(dialog.selectedFiles()[0]).name == "Deep.onnx"
    dialog.fileSelected.emit(str(tmp_path / "Deep.onnx"))
    dialog.close()
    qtbot.waitUntil((tmp_path / "Deep.onnx").exists)
    assert read_model((tmp_path / "Deep.onnx").read_bytes()).game == "treasure-hunt"


def test_other_agents_are_exported_as_agent_files_alone(context: AppContext, qtbot: QtBot) -> None:
    page = AgentPage(context)
    qtbot.addWidget(page)
    page.show()
    page.show_item("Lazy")
    qtbot.waitUntil(lambda: page.name.text() == "Lazy")
    page.export.click()
    [dialog] = page.window().findChildren(QFileDialog)
    assert dialog.nameFilters() == ["Agents (*.agent)"]
    dialog.close()
