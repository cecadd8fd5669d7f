"""The Qt style sheet of the window, filled in with the colours of a palette: flat, with hairlines."""

from __future__ import annotations

from string import Template

from league_app.gui.palette import Palette

TEMPLATE = Template("""
* { outline: none; }
QMainWindow, QDialog { background: #$window; }
QToolTip { background: #$raised; color: #$text; border: 1px solid #$hairline; padding: 4px 8px; }
QMenuBar { background: #$window; padding: 0 4px; border-bottom: 1px solid #$hairline; }
QMenuBar::item { padding: 6px 10px; background: transparent; border-radius: 4px; }
QMenuBar::item:selected { background: #$selection; }
QMenu { background: #$surface; border: 1px solid #$hairline; padding: 4px; }
QMenu::item { padding: 6px 28px 6px 12px; border-radius: 4px; }
QMenu::item:selected { background: #$selection; color: #$text; }
QMenu::item:disabled { color: #$border; }
QMenu::separator { height: 1px; background: #$hairline; margin: 4px 8px; }
QMenu::icon { padding-left: 8px; }
QMenu::icon:checked { background: #$selection; border: 1px solid #$accent; border-radius: 4px; }
QToolBar { background: #$window; border: 0; border-bottom: 1px solid #$hairline; spacing: 4px; padding: 7px; }
QToolBar > QComboBox { margin-left: 5px; }
QToolBar > QToolButton { max-height: 28px; }
QToolBar::separator { width: 1px; background: #$hairline; margin: 6px 8px; }
QStatusBar { background: #$window; border-top: 1px solid #$hairline; color: #$muted; min-height: 24px; }
QStatusBar::item { border: 0; }
QDockWidget { font-weight: 600; titlebar-close-icon: url("$icons/cross-$name.svg"); titlebar-normal-icon: none; }
QDockWidget::close-button { border: 0; background: transparent; top: 2px;
  subcontrol-origin: padding; subcontrol-position: right center; right: 10px; width: 20px; height: 20px; }
QDockWidget::close-button:hover { background: #$selection; border-radius: 4px; }
QDockWidget::float-button { width: 0; height: 0; border: 0; }
QDockWidget::title { background: #$window; padding: 9px 8px 7px; border-bottom: 1px solid #$hairline; }
QMainWindow::separator { background: #$hairline; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: #$accent; }

QPushButton, QToolButton { border: 1px solid #$border; border-radius: 6px; padding: 0 14px; min-height: 28px;
  background: #$surface; color: #$text; }
QPushButton:hover, QToolButton:hover { background: #$raised; border-color: #$accent; }
QPushButton:pressed, QToolButton:pressed { background: #$selection; }
QPushButton:focus, QToolButton:focus { border: 2px solid #$accent; padding: 0 13px; min-height: 26px; }
QPushButton:disabled, QToolButton:disabled { color: #$border; border-color: #$hairline; background: transparent; }
QPushButton[primary="true"] { background: #$accent; color: #$on_accent; border-color: #$accent; font-weight: 600; }
QPushButton[primary="true"]:hover { border-color: #$text; }
QPushButton[primary="true"]:focus { border: 2px solid #$text; }
QPushButton[primary="true"]:disabled { background: #$hairline; color: #$muted; border-color: #$hairline; }
QPushButton[danger="true"]:enabled { color: #$bad; border-color: #$bad; }
QPushButton[link="true"] { border: 0; background: transparent; color: #$accent; padding: 0; text-align: left; }
QPushButton[link="true"]:hover, QPushButton[link="true"]:focus { text-decoration: underline; border: 0;
  padding: 0; min-height: 28px; }
QToolButton { padding: 0 8px; }
QToolButton:focus { padding: 0 7px; }
QToolBar QToolButton, QToolButton[flat="true"] { border: 1px solid transparent; background: transparent; }
QToolBar QToolButton:hover, QToolButton[flat="true"]:hover { background: #$raised; border-color: #$hairline; }
QToolBar QToolButton:focus, QToolButton[flat="true"]:focus { border: 2px solid #$accent; }
QToolBar QToolButton:disabled, QToolButton[flat="true"]:disabled { border-color: transparent; }
QToolBar QToolButton:checked, QToolButton:checked { background: #$selection; border-color: #$accent; }
QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit, QTextEdit, QAbstractSpinBox {
  border: 1px solid #$border; border-radius: 6px; background: #$surface; color: #$text; padding: 0 8px;
  min-height: 28px; selection-background-color: #$accent; selection-color: #$on_accent; }
QAbstractSpinBox { max-height: 28px; }
QPlainTextEdit, QTextEdit { padding: 6px 8px; }
QPlainTextEdit[readOnly="true"], QTextEdit[readOnly="true"] { border-color: #$hairline; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus, QTextEdit:focus {
  border: 2px solid #$accent; padding: 0 7px; min-height: 26px; }
QPlainTextEdit:focus, QTextEdit:focus { padding: 5px 7px; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { color: #$border; border-color: #$hairline; }
QLineEdit[wrong="true"], QAbstractSpinBox[wrong="true"], QComboBox[wrong="true"] { border: 2px solid #$bad; }
QComboBox::drop-down { border: 0; width: 24px; }
QComboBox::down-arrow { image: url("$icons/down-$name.svg"); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: #$surface; border: 1px solid #$hairline; padding: 4px;
  selection-background-color: #$selection; selection-color: #$text; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { width: 18px; border: 0; background: transparent; }
QAbstractSpinBox::up-arrow { image: url("$icons/up-$name.svg"); width: 10px; height: 10px; }
QAbstractSpinBox::down-arrow { image: url("$icons/down-$name.svg"); width: 10px; height: 10px; }
QCheckBox, QRadioButton { spacing: 8px; min-height: 24px; border: 1px solid transparent; border-radius: 4px;
  padding: 0 2px; }
QCheckBox:focus, QRadioButton:focus { border-color: #$accent; }
QCheckBox::indicator, QTableView::indicator, QListView::indicator, QTreeView::indicator { width: 14px; height: 14px;
  border: 1px solid #$border; border-radius: 4px; background: #$surface; }
QCheckBox::indicator:checked, QTableView::indicator:checked, QListView::indicator:checked,
QTreeView::indicator:checked { background: #$accent; border-color: #$accent;
  image: url("$icons/check-$name.svg"); }
QRadioButton::indicator { width: 12px; height: 12px; border: 1px solid #$border; border-radius: 7px;
  background: #$surface; }
QRadioButton::indicator:checked { background: #$accent; border: 3px solid #$surface; }

QTableView, QListView, QTreeView { background: #$surface; border: 1px solid transparent; color: #$text;
  gridline-color: transparent;  selection-background-color: #$selection; selection-color: #$text; }
QTableView::item { border-bottom: 1px solid #$hairline; padding: 0 5px; }
QTableView::item:selected, QListView::item:selected, QTreeView::item:selected { background: #$selection;
  color: #$text; }
QListView::item { padding: 4px 8px; border-radius: 4px; }
QListView:focus, QTableView:focus, QTreeView:focus { border-color: #$accent; }
QHeaderView { background: #$surface; }
QHeaderView::section { background: #$surface; color: #$muted; border: 0; border-bottom: 1px solid #$hairline;
  padding: 6px 8px; font-size: 11px; }
QHeaderView::section:hover { color: #$text; }
QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-origin: border; subcontrol-position: top center;
  width: 10px; height: 10px; }
QHeaderView::up-arrow { image: url("$icons/up-$name.svg"); }
QHeaderView::down-arrow { image: url("$icons/down-$name.svg"); }
QTableCornerButton::section { background: #$surface; border: 0; border-bottom: 1px solid #$hairline; }

QTabBar { background: #$window; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; border: 0; border-bottom: 2px solid transparent; padding: 8px 14px;
  color: #$muted; }
QTabBar::tab:selected { color: #$text; border-bottom: 2px solid #$accent; }
QTabBar::tab:hover { color: #$text; }
QTabBar::tab:focus { color: #$accent; }
QTabWidget::pane { border: 0; border-top: 1px solid #$hairline; }
QProgressBar { border: 0; border-radius: 4px; background: #$hairline; text-align: center; max-height: 8px;
  min-height: 8px; }
QProgressBar::chunk { background: #$accent; border-radius: 4px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: #$hairline; }
QSlider::sub-page:horizontal { background: #$accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -5px 0; border-radius: 7px; background: #$accent; }
QSlider::handle:horizontal:focus { border: 2px solid #$text; }
QScrollBar { background: transparent; border: 0; }
QScrollBar:vertical { width: 10px; } QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: #$border; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; } QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page { background: transparent;
  width: 0; height: 0; border: 0; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: 0; }
QSplitter::handle { background: #$hairline; } QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QGroupBox { border: 0; margin-top: 24px; font-weight: 600; }
QGroupBox::title { subcontrol-origin: margin; left: 0; top: 2px; }

QLabel { background: transparent; }
QLabel[role="caption"] { font-size: 11px; color: #$muted; }
QLabel[role="muted"] { color: #$muted; }
QLabel[role="section"] { font-size: 15px; font-weight: 600; }
QLabel[role="title"] { font-size: 20px; font-weight: 600; }
QLabel[role="score"] { font-size: 32px; font-weight: 600; }
QLabel[tone="good"] { color: #$good; } QLabel[tone="warn"] { color: #$warn; } QLabel[tone="bad"] { color: #$bad; }
QFrame[card="true"] { background: #$surface; border: 1px solid #$hairline; border-radius: 6px; }
QFrame[line="true"] { background: #$hairline; max-height: 1px; min-height: 1px; border: 0; }
QWidget[surface="true"] { background: #$surface; }
""")


def stylesheet(palette: Palette, icons: str) -> str:
    """`icons` is the folder of the SVG files."""
    return TEMPLATE.substitute({**vars(palette), "icons": icons})
