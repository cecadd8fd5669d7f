"""The payload of a NEAT agent: JSON as Ringside writes it, or a network that neat-python exported."""

from __future__ import annotations

import json

from agents.neat.genome import Genome, from_json, to_json
from agents.neat.json_import import import_network
from engine import codec
from engine.errors import BadValue

LARGEST = 64 << 20  # bytes of JSON


def dump(genome: Genome) -> bytes:
    """Writes a genome as JSON."""
    try:
        return json.dumps(to_json(genome), allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        raise BadValue("genome", "nan or inf", "made of finite numbers") from None


def load(payload: bytes | str) -> Genome:
    """Reads what `dump` or neat-python's JSON export wrote; raises BadValue for anything else."""
    raw = codec.read(payload, LARGEST)
    if isinstance(raw, dict) and "format_version" in raw:
        return import_network(raw)
    return from_json(raw)
