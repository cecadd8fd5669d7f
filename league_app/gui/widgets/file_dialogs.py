"""File dialogs of the window: each opens at once, without blocking, and calls `chosen` with the path if accepted.

`chosen` is a method of a QObject. Filters are Qt's, such as "Agents (*.agent)"; the dialog deletes itself when closed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

Chosen = Callable[[str], object]


def open_file(
    parent: QWidget, title: str, chosen: Chosen, filters: str = "", folder: Path | None = None
) -> QFileDialog:
    """Asks for an existing file."""
    dialog = _dialog(parent, title, filters, folder)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.fileSelected.connect(chosen)
    dialog.open()
    return dialog


def open_files(parent: QWidget, title: str, chosen: Callable[[list[str]], object], filters: str = "") -> QFileDialog:
    """Asks for one or more existing files."""
    dialog = _dialog(parent, title, filters, None)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.filesSelected.connect(chosen)
    dialog.open()
    return dialog


def open_folder(parent: QWidget, title: str, chosen: Chosen) -> QFileDialog:
    """Asks for an existing folder."""
    dialog = _dialog(parent, title, "", None)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.fileSelected.connect(chosen)
    dialog.open()
    return dialog


def save_file(
    parent: QWidget,
    title: str,
    chosen: Chosen,
    filters: str,
    name: str,
    folder: Path | None = None,
    *,
    replaces: bool = True,
) -> QFileDialog:
    """Asks where to save; `name` is the suggested file name, whose suffix is added to names typed without one. Without
    `replaces` it does not ask whether to replace an existing file: `chosen` refuses it."""
    dialog = _dialog(parent, title, filters, folder)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite, not replaces)
    suggest_name(dialog, name)
    dialog.fileSelected.connect(chosen)
    dialog.open()
    return dialog


def suggest_name(dialog: QFileDialog, name: str) -> None:
    dialog.setDefaultSuffix(name.rpartition(".")[2])
    dialog.selectFile(name)


def _dialog(parent: QWidget, title: str, filters: str, folder: Path | None) -> QFileDialog:
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if filters:
        dialog.setNameFilter(filters)
    if folder is not None:
        dialog.setDirectory(str(folder))
    return dialog
