"""The visible part of a time that grows at its end: zooming, scrolling and following."""

from __future__ import annotations

SHORTEST = 2e-5  # seconds that can be seen at once, at least


class VisibleTime:
    """From `left` to `right`, within `first` to `last`, in seconds."""

    def __init__(self) -> None:
        self.first, self.last = self.left, self.right = 0.0, 1.0
        self.whole = True  # everything is visible
        self.follow = False  # `right` stays at `last`

    @property
    def seconds(self) -> float:
        return self.right - self.left

    def set_extent(self, first: float, last: float) -> None:
        """The visible part stays where it is, unless it is everything or follows."""
        self.first, self.last = first, last
        if self.whole:
            self.show_all()
        elif self.follow:
            self._show(last - self.seconds, self.seconds)
        else:
            self._show(self.left, self.seconds)

    def show_all(self) -> None:
        self._show(self.first, self.last - self.first)

    def show(self, left: float, right: float) -> None:
        """Shows these seconds; it follows no longer if the newest ones are out of sight."""
        self._show(left, right - left)
        self.follow = self.follow and self.right >= self.last

    def _show(self, left: float, seconds: float) -> None:
        seconds = min(max(seconds, SHORTEST), self.last - self.first)
        self.whole = seconds >= self.last - self.first
        self.right = max(min(left + seconds, self.last), self.first + seconds)
        self.left = self.first if self.whole else self.right - seconds

    def set_follow(self, on: bool) -> None:
        self.follow = on
        if on:
            self._show(self.last - self.seconds, self.seconds)

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Shows less time if `factor` is above 1. The time `at` stays in its place; if it follows, the newest does."""
        fixed = self.right if self.follow else self.left + self.seconds / 2 if at is None else at
        left = fixed - (fixed - self.left) / factor
        self.show(left, left + self.seconds / factor)

    def move(self, share: float) -> None:
        """Moves by a share of the visible seconds."""
        self.show(self.left + self.seconds * share, self.right + self.seconds * share)
