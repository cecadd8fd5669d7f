"""The devices on which models are trained, by torch's names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.errors import BadValue

CPU = "cpu"
NAME = re.compile(r"cpu|cuda(:\d+)?")
KNOWN = "cpu, cuda:0, cuda:1 and so on, separated by commas"


def device_names(text: str) -> tuple[str, ...]:
    """The devices that a setting names. Raises BadValue for one that torch does not know."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise BadValue("devices", text, KNOWN)
    for name in names:
        if not NAME.fullmatch(name):
            raise BadValue("devices", name, KNOWN)
    return names


def check_available(names: Sequence[str]) -> None:
    """Raise BadValue for a device that this machine lacks."""
    if all(name == CPU for name in names):
        return
    import torch  # takes a second

    count = torch.cuda.device_count()
    known = ", ".join([CPU, *(f"cuda:{k}" for k in range(count))])
    for name in names:
        if name != CPU and int(name.partition(":")[2] or 0) >= count:
            raise BadValue("devices", name, f"a device of this machine: {known}")
