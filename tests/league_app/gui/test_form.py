"""Forms for dataclasses: every registered one, every bound, numbers of every size."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, get_type_hints

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLineEdit
from pytestqt.qtbot import QtBot

from agents.scripted.pong import Bot
from engine.errors import BadValue, UnknownName
from engine.options import items, option, validate
from engine.registry import FORMATS, GAMES, TRAINERS
from league_app.gui import theme
from league_app.gui.widgets.fields import NumberBox
from league_app.gui.widgets.form import Form

KINDS: dict[str, Any] = {
    **{f"game {name}": kind.Options for name, kind in GAMES.working().items()},
    **{f"format {name}": kind.Options for name, kind in FORMATS.working().items()},
    **{f"trainer {name}": kind for name, kind in TRAINERS.working().items()},
    "bot": Bot,
}


@dataclass(frozen=True)
class Speeds:
    """Options with a rule that combines two fields."""

    slow: float = option(1.0, low=0.0, high=100.0, help="the one")
    fast: float = option(2.0, low=0.0, high=100.0, help="the other")
    colour: str = option("red", choices=("red", "blue"), help="of both")
    loud: bool = option(False, help="or not")
    note: str = option("", help="anything")
    seed: int = option(1, low=0, high=2**64 - 1, help="whatever")

    def __post_init__(self) -> None:
        validate(self)
        if self.slow > self.fast:
            raise BadValue("slow", self.slow, "at most as fast as the other")


@pytest.fixture(scope="module", autouse=True)
def themed(qapp: QApplication) -> None:
    theme.load_fonts()
    theme.apply("light")


def shown(qtbot: QtBot, kind: Any = Speeds, **more: Any) -> Form:
    form = Form(kind, **more)
    qtbot.addWidget(form)
    form.resize(700, 400)
    form.show()
    return form


def write(form: Form, name: str, text: str) -> None:
    control = form.control(name)
    edit = control.lineEdit() if isinstance(control, NumberBox) else control
    assert isinstance(edit, QLineEdit)
    edit.setText(text)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_form_returns_the_defaults(kind: Any, qtbot: QtBot) -> None:
    form = shown(qtbot, kind)
    assert form.values() == dict(items(kind()))
    hints = get_type_hints(kind)
    assert all(type(value) is hints[name] for name, value in form.values().items())
    assert form.changed() == {}
    assert form.error == ""


@pytest.mark.parametrize("name", TRAINERS.working())
def test_every_preset_of_a_trainer_can_be_chosen(name: str, qtbot: QtBot) -> None:
    kind: Any = TRAINERS.get(name)
    form = shown(qtbot, kind, presets=kind.presets)
    for place, (preset, values) in enumerate(kind.presets.items()):
        form.preset.activated.emit(place)
        assert form.values() == dict(items(kind(**values)))
        assert form.preset.currentText() == preset


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_bound_is_inclusive(kind: Any, qtbot: QtBot) -> None:
    form, tried = Form(kind), 0
    qtbot.addWidget(form)
    for field in dataclasses.fields(kind):
        for name, beyond in (("low", -1), ("high", 1)):
            bound = field.metadata.get(name)
            if bound is None:
                continue
            tried += 1
            whole = get_type_hints(kind)[field.name] is int
            write(form, field.name, str(int(bound) + beyond) if whole else repr(bound + beyond))
            assert form.problem(field.name).startswith("Must be")
            with pytest.raises(BadValue, match=field.name):
                form.values()
            write(form, field.name, str(int(bound)) if whole else repr(bound))
            assert form.field(field.name).value == bound
            form.field(field.name).set_value(field.default)
    assert tried or not any(get_type_hints(kind)[field.name] in (int, float) for field in dataclasses.fields(kind))


def test_numbers_of_any_size_and_precision_are_kept(qtbot: QtBot) -> None:
    form = shown(qtbot)
    for seed in (0, 2**31, 2**63, 2**64 - 1):
        write(form, "seed", str(seed))
        assert form.values()["seed"] == seed
    write(form, "seed", str(2**64))
    assert form.problem("seed") == f"Must be from 0 to {2**64 - 1}"
    write(form, "seed", "9" * 400)
    assert form.problem("seed")
    write(form, "seed", "1")
    for value in (0.1, 1e-7, 1 / 3, 99.99999999999999):
        form.set_values({"fast": 100.0, "slow": value})
        assert form.values()["slow"] == value


@pytest.mark.parametrize("text", ["", "x", "1.5", "nan", "0x10", "1 2 3 apples"])
def test_invalid_integers_are_reported_at_their_field(text: str, qtbot: QtBot) -> None:
    form = shown(qtbot)
    write(form, "seed", text)
    assert form.problem("seed") == "Must be a whole number"
    assert form.control("seed").property("wrong") is True
    write(form, "seed", "7")
    assert form.problem("seed") == ""
    assert form.control("seed").property("wrong") is False


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_a_fraction_must_be_finite(text: str, qtbot: QtBot) -> None:
    form = shown(qtbot)
    write(form, "fast", text)
    assert "finite" in form.problem("fast") or "from 0" in form.problem("fast")
    with pytest.raises(BadValue):
        form.values()


def test_an_invalid_combination_is_reported_at_the_field_it_names(qtbot: QtBot) -> None:
    form = shown(qtbot)
    write(form, "slow", "5")
    assert form.problem("slow") == "Must be at most as fast as the other"
    assert "slow" in form.error
    write(form, "fast", "6")
    assert form.problem("slow") == ""


def test_a_changed_field_is_marked_and_can_be_reset(qtbot: QtBot) -> None:
    form = shown(qtbot)
    row = form._by_name["fast"]
    assert not row.reset_button.isVisible()
    write(form, "fast", "50")
    assert row.reset_button.isVisible()
    assert row.title.text() == "Fast \u2022"
    assert form.changed() == {"fast": 50.0}
    qtbot.mouseClick(row.reset_button, Qt.MouseButton.LeftButton)
    assert form.changed() == {}
    assert not row.reset_button.isVisible()


def test_invalid_values_change_nothing(qtbot: QtBot) -> None:
    form = shown(qtbot)
    with pytest.raises(BadValue):
        form.set_values({"fast": 9.0, "seed": -1})
    with pytest.raises(UnknownName, match="fast"):
        form.set_values({"fats": 1.0})
    assert form.changed() == {}


@pytest.mark.parametrize("saved", [{"slow": 1.5, "gone": 3}, {"slow": -1.0}, {"slow": "fast"}, ["slow"], None])
def test_saved_values_that_are_not_valid_any_more_leave_the_defaults(saved: object, qtbot: QtBot) -> None:
    form = shown(qtbot)
    form.restore(saved)
    assert form.values() == dataclasses.asdict(Speeds())
    form.restore({"slow": 1.5})
    assert form.values()["slow"] == 1.5


def test_each_type_has_its_control_and_signals_edits(qtbot: QtBot) -> None:
    form = shown(qtbot, values={"loud": True, "colour": "blue", "note": "<b>hello</b>"})
    assert isinstance(form.control("loud"), QCheckBox)
    assert isinstance(form.control("colour"), QComboBox)
    assert form.changed() == {"loud": True, "colour": "blue", "note": "<b>hello</b>"}
    for name in ("loud", "colour", "note", "seed"):
        assert form.control(name).accessibleName()
        assert form.control(name).accessibleDescription()
    with qtbot.waitSignal(form.edited):
        form.control("loud").toggle()  # type: ignore[attr-defined]
    assert form.values()["loud"] is False


def test_a_long_form_folds_and_can_be_searched(qtbot: QtBot) -> None:
    kind: Any = TRAINERS.get("neat")
    form = shown(qtbot, kind, presets=kind.presets, shown=5)
    assert form.control("generations").isVisible()
    assert not form.control("patience").isVisible()
    assert form.more.text() == f"More settings ({len(dataclasses.fields(kind)) - 5})"
    form.search.setText("better validation")
    assert form.control("patience").isVisible()
    assert not form.control("generations").isVisible()
    form.search.clear()
    assert not form.control("patience").isVisible()
    qtbot.mouseClick(form.more, Qt.MouseButton.LeftButton)
    assert form.control("patience").isVisible()


def test_an_invalid_value_in_a_hidden_field_unfolds_the_form(qtbot: QtBot) -> None:
    form = shown(qtbot, shown=2)
    assert not form.control("seed").isVisible()
    write(form, "seed", "many")
    assert form.control("seed").isVisible()
    assert form._by_name["seed"].error_label.isVisible()


def test_an_external_error_is_shown_at_its_field(qtbot: QtBot) -> None:
    form = shown(qtbot, shown=2)
    assert form.show_error_at_field(BadValue("seed", 3, "another one"))
    assert form.problem("seed") == "Must be another one"
    assert form.control("seed").isVisible()
    assert not form.show_error_at_field(BadValue("game", "chess", "installed"))


def test_fixed_fields_are_visible_but_disabled(qtbot: QtBot) -> None:
    form = shown(qtbot, values={"seed": 9}, fixed=("seed", "no such"))
    assert not form.control("seed").isEnabled()
    assert not form._by_name["seed"].reset_button.isVisible()
    assert form.values()["seed"] == 9


def test_an_overridden_default_is_no_change_and_ignored_by_presets(qtbot: QtBot) -> None:
    form = shown(qtbot, presets={"quick": {"fast": 9.0}}, defaults={"seed": 4})
    assert form.values()["seed"] == 4
    assert form.changed() == {}
    form.set_preset("quick")
    assert form.preset.currentText() == "quick"
    assert form.values()["seed"] == 4
    write(form, "note", "hm")
    assert form.preset.currentText() == "Custom"


def test_the_wheel_changes_only_the_focused_control(qtbot: QtBot) -> None:
    form = shown(qtbot)
    for name in ("seed", "colour"):
        control = form.control(name)
        before = form.values()
        wheel(control, 120 if name == "seed" else -120)
        assert form.values() == before, "without focus the wheel scrolls the page"
        control.setFocus()
        qtbot.waitUntil(control.hasFocus)
        wheel(control, 120 if name == "seed" else -120)
        assert form.values() != before
    assert form.values()["seed"] == 2


def wheel(control: Any, angle: int) -> None:
    at = QPointF(control.rect().center())
    event = QWheelEvent(
        at, QPointF(control.mapToGlobal(at.toPoint())), QPoint(), QPoint(0, angle), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(control, event)


def test_arrow_keys_step_within_the_range(qtbot: QtBot) -> None:
    form = shown(qtbot)
    seed, fast = form.control("seed"), form.control("fast")
    qtbot.keyClick(seed, Qt.Key.Key_Up)
    assert form.values()["seed"] == 2
    for _ in range(3):
        qtbot.keyClick(seed, Qt.Key.Key_Down)
    assert form.values()["seed"] == 0
    qtbot.keyClick(fast, Qt.Key.Key_Up)
    assert form.values()["fast"] == 2.1
    write(form, "seed", str(2**64 - 2))
    for _ in range(3):
        qtbot.keyClick(seed, Qt.Key.Key_Up)
    assert form.values()["seed"] == 2**64 - 1


def test_a_narrow_form_puts_the_help_below(qtbot: QtBot) -> None:
    form = shown(qtbot)
    row = form._by_name["fast"]
    assert row.help.x() > row.field.control.geometry().right()
    form.resize(420, 500)
    qtbot.waitUntil(lambda: row.help.y() >= row.field.control.geometry().bottom())
    assert row.help.x() == row.field.control.x()
