"""Reads and writes `.agent` files, which transfer an agent between leagues: a zip with a manifest and a payload.

`agent.json` is the manifest. The payload is a second entry, `payload.json`, `payload.safetensors` or `payload.onnx`; if
it is none of these and small, it is part of the manifest. Its bytes are preserved. Such files are untrusted: everything
is read in memory, within limits, and nothing is unpacked to the disk or executed.
"""

from __future__ import annotations

import io
import json
import math
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize

from engine import codec
from engine.clock import LATEST
from engine.errors import BadAgentFile, BadValue, RingsideError
from engine.files import read_file, write_file
from engine.league.records import check_colour, check_name, check_tags, check_text, content_hash
from engine.protobuf import BYTES, VARINT, Reader

FORMAT = "ringside-agent"
MB = 1024 * 1024
FILE = 256 * MB
MANIFEST, JSON, WEIGHTS, ONNX = "agent.json", "payload.json", "payload.safetensors", "payload.onnx"
# By entry. The largest possible manifest, escaped, takes 0.4 MB. Weights are stored uncompressed, so they may take what
# fits into a file beside a manifest.
LIMITS = {MANIFEST: MB, JSON: 64 * MB, WEIGHTS: FILE - 2 * MB, ONNX: FILE - 2 * MB}
ONNX_FIELDS = {1: (VARINT,), 7: (BYTES,), 8: (BYTES,)}  # version, graph and operator sets: every ONNX file has them
ENTRIES = 4
DIRECTORY = 4096  # bytes of the zip's directory; two entries need about 130, and zipfile reads all of it at once
# Deflate can reach 1030:1, but only on nearly constant bytes. Trained weights stay below 2:1 and genomes below 50:1.
# An all-zero network or genome would exceed this; `save` stores it uncompressed, so files of Ringside never do.
RATIO, RATIO_FROM = 200, MB

INLINE = 64 * 1024
DEPTH = 64  # of JSON; Python's own limit depends on the depth of the call stack
DIGITS = 300  # of an integer, so that it fits a float
# Python needs up to 70 bytes for a value that takes three in the file; counted before parsing.
BRACKETS, COMMAS = 2**20, 2**22

HEADER = MB  # of safetensors: its JSON
TENSORS, TENSOR_NAME, DIMENSIONS, SIDE = 4096, 256, 8, 2**31
METADATA, METADATA_TEXT = 256, 64 * 1024
SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "U32": 4, "I32": 4, "U64": 8, "I64": 8}
SIZES |= {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}
# Exponent bits: all set means infinity or NaN. Smaller float types differ in this, and are refused.
EXPONENTS = {"F16": 0x7C00, "BF16": 0x7F80, "F32": 0x7F80_0000, "F64": 0x7FF0_0000_0000_0000}

PARENTS = 64
ORIGIN_LENGTH = 1000
IDENTIFIER = re.compile(r"[A-Za-z0-9_:.\-]{1,64}")
END = struct.Struct("<4s4H2LH")  # the zip's last record, without a comment
# Errors that zipfile raises on damaged files; OverflowError for offsets beyond 2**63.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, OverflowError, RuntimeError, ValueError)


@dataclass(frozen=True)
class AgentFile:
    """The content of an .agent file; for its fields see `engine.league.records.Agent`."""

    name: str
    game: str
    kind: str
    version: int  # of the kind's code
    payload: bytes = field(repr=False)
    notes: str = ""
    colour: str = ""
    tags: tuple[str, ...] = ()
    created: float = 0.0
    parents: tuple[str, ...] = ()
    origin: str = ""


@dataclass(frozen=True)
class AgentManifest:
    """The content of `agent.json`."""

    format: str
    version: int  # of the format
    agent: AgentFile  # its payload is empty if it has its own entry
    hash: str  # of the payload; detects mistakes, not forgeries


def save(path: Path, content: AgentFile, overwrite: bool = False) -> None:
    """Writes the file, completely or not at all; the same content gives the same bytes.

    Names are written in Unicode's composed form, and equal tags once. Content that `load` would refuse is an error.
    """
    try:
        content = _checked(content)
        data = _packed(content)
        if _parse(data) != content:
            raise BadValue("file", f"{len(data)} bytes", "read back as what was written")
    except RingsideError as error:
        raise BadAgentFile(f"{path}: {error}") from error
    write_file(path, data, overwrite)


def load(path: Path) -> AgentFile:
    """Reads an .agent file; raises BadAgentFile if anything in it is wrong."""
    try:
        data = read_file(path, FILE, "agent file")
    except BadValue as error:  # it names the file
        raise BadAgentFile(str(error)) from error
    try:
        return _parse(data)
    except RingsideError as error:
        raise BadAgentFile(f"{path}: {error}") from error


def read(data: bytes) -> AgentFile:
    """Like `load`, from memory."""
    try:
        return _parse(data)
    except RingsideError as error:
        raise BadAgentFile(str(error)) from error


def _parse(data: bytes) -> AgentFile:
    entries = _entries(data)
    if MANIFEST not in entries:
        raise BadValue("entry", sorted(entries), f"{MANIFEST} and a payload")
    manifest = codec.load(AgentManifest, entries.pop(MANIFEST), format=FORMAT, version=1)
    if len(entries) > 1 or (entries and manifest.agent.payload):
        raise BadValue("payload", sorted(entries), f"either in {MANIFEST} or in one entry of its own")
    place, payload = entries.popitem() if entries else (MANIFEST, manifest.agent.payload)
    if manifest.hash != content_hash(payload):
        raise BadValue("hash", manifest.hash, f"that of the payload, {content_hash(payload)}")
    if place != (right := _place(payload)):
        raise BadValue(place, f"content for {right}", "content that matches the name of its entry")
    return _checked(replace(manifest.agent, payload=payload))


def _checked(content: AgentFile) -> AgentFile:
    for name in ("game", "kind"):
        value = getattr(content, name)
        if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
            raise BadValue(name, value, "1 to 64 letters, digits or any of -_:.")
    if type(content.version) is not int or not 1 <= content.version <= 2**31:
        raise BadValue("version", content.version, "a whole number from 1 to 2**31")
    if type(content.created) not in (int, float) or not 0 <= content.created <= LATEST:
        raise BadValue("created", content.created, f"seconds since 1970, from 0 to {LATEST:g}")
    if not isinstance(content.parents, tuple) or len(content.parents) > PARENTS:
        raise BadValue("parents", content.parents, f"at most {PARENTS} names")
    if not isinstance(content.payload, bytes):
        raise BadValue("payload", content.payload, "bytes")
    return replace(
        content,
        name=check_name("name", content.name),
        notes=check_text("notes", content.notes),
        colour=check_colour(content.colour),
        tags=check_tags(content.tags),
        created=float(content.created),
        parents=tuple(check_name("parents", parent) for parent in content.parents),
        origin=check_text("origin", content.origin, ORIGIN_LENGTH),
    )


def _check_size(what: str, size: int, cap: int) -> None:
    if size > cap:
        raise BadValue(what, f"{size} bytes", f"at most {cap:,} bytes")


# The zip


def _packed(content: AgentFile) -> bytes:
    place = _place(content.payload)
    agent = content if place == MANIFEST else replace(content, payload=b"")
    manifest = AgentManifest(FORMAT, 1, agent, content_hash(content.payload))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        _add(archive, MANIFEST, codec.dump(manifest).encode())
        if place != MANIFEST:
            _add(archive, place, content.payload)
    return target.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Adds an entry without date and system, so that equal content gives equal files."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
    # Weights hardly shrink, and content beyond RATIO is stored too. Six bytes are zlib's own and not in a zip.
    deflate = name not in (WEIGHTS, ONNX) and (len(zlib.compress(content)) - 6) * RATIO >= len(content)
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED)


def _entries(data: bytes) -> dict[str, bytes]:
    """The entries by name; each is known, unique and within its size limit."""
    _check_size("file", len(data), FILE)
    _check_frame(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
            if len(listed) > ENTRIES:
                raise BadValue("entry", f"{len(listed)} of them", f"at most {ENTRIES}")
            for entry in listed:
                _check_entry(entry)
            if len(names := {entry.filename for entry in listed}) < len(listed):
                raise BadValue("entry", sorted(names), "listed once each")
            return {entry.filename: _content(archive, entry) for entry in listed}
    except ZIP_ERRORS as error:
        raise BadValue("file", str(error), "an undamaged zip archive") from None


def _check_frame(data: bytes) -> None:
    """No bytes before or after the archive: a file that other programs take for a picture or a script is refused."""
    if len(data) < END.size or data[:4] != b"PK\3\4":
        raise BadValue("file", data[:16], "an agent file, which is a zip archive from its first byte on")
    mark, _, _, _, _, length, start, comment = END.unpack(data[-END.size :])
    if mark != b"PK\5\6" or comment:
        raise BadValue("file", data[-END.size :], "a whole zip archive with nothing after its end")
    if start + length + END.size != len(data):
        raise BadValue("file", f"{len(data)} bytes", "a zip archive with no bytes before its parts")
    _check_size("entry", length, DIRECTORY)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.orig_filename  # as in the file; zipfile sanitises `filename`
    if name not in LIMITS:  # excludes folders, paths and reserved names
        raise BadValue("entry", name, f"one of {', '.join(LIMITS)}")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or entry.external_attr & 0x10:
        raise BadValue(f"entry {name}", stat.filemode(kind), "a regular file, no link and no folder")
    if entry.flag_bits & 0x2041:  # encrypted, strongly encrypted, or with hidden headers
        raise BadValue(f"entry {name}", "encrypted", "readable without a password")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadValue(f"entry {name}", f"compression {entry.compress_type}", "stored or deflated")
    _check_size(f"entry {name}", entry.file_size, LIMITS[name])
    if entry.file_size > max(RATIO_FROM, RATIO * entry.compress_size):
        size = f"{entry.file_size} bytes out of {entry.compress_size}"
        raise BadValue(f"entry {name}", size, f"compressed at most {RATIO}:1")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The entry's bytes, counted while reading: the size in the directory may be wrong."""
    chunks, size = [], 0
    with archive.open(entry) as file:
        while chunk := file.read(MB):
            size += len(chunk)
            _check_size(f"entry {entry.filename}", size, entry.file_size)
            chunks.append(chunk)
    if size != entry.file_size:
        raise BadValue(f"entry {entry.filename}", f"{size} bytes", f"{entry.file_size} bytes, as it is listed")
    return b"".join(chunks)


# The payload


def _place(payload: bytes) -> str:
    """The entry for a payload; raises BadValue for JSON or safetensors that break the rules."""
    length, reason = int.from_bytes(payload[:8], "little"), "none of them"
    try:
        if payload[8:9] == b"{" and length <= len(payload) - 8:  # safetensors: length of the header, then the header
            _check_weights(payload, length)
            return WEIGHTS
        if re.match(rb"[ \t\r\n]*[\[{]", payload):
            _check_size(JSON, len(payload), LIMITS[JSON])
            _strict(JSON, payload)
            return JSON
    except ValueError as error:  # it only begins like JSON or safetensors
        reason = str(error)
    if _is_onnx(payload):
        _check_size(ONNX, len(payload), LIMITS[ONNX])
        return ONNX
    if len(payload) > INLINE:
        found = f"{len(payload)} bytes: {reason}"
        raise BadValue("payload", found, f"JSON, safetensors or ONNX, or at most {INLINE:,} bytes")
    return MANIFEST


def _is_onnx(payload: bytes) -> bool:
    """Whether the payload has the fields of an ONNX file. Its kind checks what is in them."""
    try:
        return {field.number for field in Reader("ONNX").fields(payload, ONNX_FIELDS)} == set(ONNX_FIELDS)
    except BadValue:
        return False


def _strict(where: str, data: bytes) -> Any:
    """The JSON value; raises ValueError if it is not JSON, BadValue if it breaks stricter rules."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        unique = dict(found)
        if len(unique) < len(found):
            duplicates = Counter(name for name, _ in found).most_common(1)
            raise BadValue(where, duplicates[0][0], "without duplicate keys")
        return unique

    def number(text: str) -> float:
        if not math.isfinite(value := float(text)):
            raise BadValue(where, text, "finite numbers")
        return value

    def whole(text: str) -> int:
        if len(text) > DIGITS:
            raise BadValue(where, text[:20] + "...", f"whole numbers of at most {DIGITS} digits")
        return int(text)

    if data.count(b"[") + data.count(b"{") > BRACKETS or data.count(b",") > COMMAS:
        raise BadValue(where, f"{data.count(b',')} commas", f"of at most {BRACKETS:,} brackets and {COMMAS:,} commas")
    hooks: Any = {"object_pairs_hook": pairs, "parse_float": number, "parse_int": whole, "parse_constant": number}
    try:
        value = json.loads(data.decode(), **hooks)
        level = [value]
        for _ in range(DEPTH):
            inside = (child for one in level for child in (one.values() if isinstance(one, dict) else one))
            level = [child for child in inside if isinstance(child, dict | list)]
        if level:
            raise RecursionError
    except RecursionError:
        raise BadValue(where, "too deep", f"at most {DEPTH} levels deep") from None
    return value


def _check_weights(payload: bytes, length: int) -> None:
    """Checks the header before the library reads the tensors, because the library copies every tensor.

    Raises ValueError if the header is not JSON: then the payload only begins like safetensors.
    """
    _check_size(WEIGHTS, len(payload), LIMITS[WEIGHTS])
    _check_size(f"{WEIGHTS} header", length, HEADER)
    header = _strict(WEIGHTS, payload[8 : 8 + length])
    _check_metadata(header.pop("__metadata__", {}))
    if len(header) > TENSORS:
        raise BadValue(WEIGHTS, f"{len(header)} tensors", f"at most {TENSORS} tensors")
    end = 0
    for first, last in sorted(_span(name, tensor) for name, tensor in header.items()):
        if first != end:
            raise BadValue(f"{WEIGHTS} data_offsets", [first, last], f"without gaps or overlaps, here from {end} on")
        end = last
    if end != len(payload) - 8 - length:
        raise BadValue(f"{WEIGHTS} data_offsets", end, f"up to the end at {len(payload) - 8 - length}")
    try:
        tensors = deserialize(payload)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise BadValue(WEIGHTS, str(error), "safetensors") from None
    for name, tensor in tensors:
        if tensor["dtype"] in EXPONENTS:
            _check_finite(name, tensor["dtype"], tensor["data"])


def _check_metadata(metadata: object) -> None:
    where = f"{WEIGHTS} __metadata__"
    if not isinstance(metadata, dict) or len(metadata) > METADATA:
        raise BadValue(where, metadata, f"an object of at most {METADATA} keys")
    if not all(isinstance(text, str) for text in metadata.values()):
        raise BadValue(where, metadata, "text values")
    _check_size(where, sum(len(name) + len(text) for name, text in metadata.items()), METADATA_TEXT)


def _span(name: str, tensor: object) -> tuple[int, int]:
    """The byte range of a tensor; raises BadValue unless its size fits shape and type."""
    where = f"{WEIGHTS} {name[:40]!r}"
    if not 1 <= len(name) <= TENSOR_NAME:
        raise BadValue(where, f"{len(name)} characters", f"a name of 1 to {TENSOR_NAME} characters")
    if not isinstance(tensor, dict) or set(tensor) != {"dtype", "shape", "data_offsets"}:
        raise BadValue(where, tensor, "an object of dtype, shape and data_offsets")
    dtype, shape, offsets = tensor["dtype"], tensor["shape"], tensor["data_offsets"]
    if not isinstance(dtype, str) or dtype not in SIZES:
        raise BadValue(f"{where} dtype", dtype, f"one of {', '.join(SIZES)}")
    if not isinstance(shape, list) or len(shape) > DIMENSIONS or not all(_within(side, SIDE) for side in shape):
        raise BadValue(f"{where} shape", shape, f"at most {DIMENSIONS} whole numbers from 0 to {SIDE}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_within(one, LIMITS[WEIGHTS]) for one in offsets):
        raise BadValue(f"{where} data_offsets", offsets, "two places in the file")
    if offsets[1] - offsets[0] != math.prod(shape) * SIZES[dtype]:
        raise BadValue(f"{where} shape", shape, f"one that takes the bytes of data_offsets = {offsets}")
    return offsets[0], offsets[1]


def _within(number: object, most: int) -> bool:
    return type(number) is int and 0 <= number <= most


def _check_finite(name: str, dtype: str, data: bytes) -> None:
    bits = np.frombuffer(data, f"<u{SIZES[dtype]}")
    exponent = bits.dtype.type(EXPONENTS[dtype])
    for start in range(0, len(bits), MB):  # in pieces, because each needs two arrays of its size
        if np.any(bits[start : start + MB] & exponent == exponent):
            raise BadValue(f"{WEIGHTS} {name[:40]!r}", "infinity or not a number", "finite numbers")
