"""Agent files: content is read back to the byte, and hostile files are refused."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import stat
import struct
import unicodedata
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import protobuf
from engine.errors import BadAgentFile
from engine.league.storage import agent_file
from engine.league.storage.agent_file import AgentFile

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
Changes = dict[str, object] | None
Entries = list[tuple[str | zipfile.ZipInfo, bytes]]


def weights(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


PAYLOADS = {
    "opaque": b"\x00\xff opaque",
    "empty": b"",
    "json": b' {"b": [1, 2.5e-3, null], "a": "\\u00e9 \xc3\xa9"}\n',
    "weights": weights({"w": F32, "__metadata__": {"made": "by hand"}}, struct.pack("<2f", 1.5, -2.0)),
    "onnx": protobuf.field(1, 8) + protobuf.field(7, b"graph") + protobuf.field(8, b"operators"),
}


WHOLE = AgentFile("Ada é", "pong", "neat:v1.x", 3, b"", "a\nb", "4A9BFF", ("fast", "old"), 1.75e9, ("Eve",), "trained")


def bundle(payload: bytes = b"") -> AgentFile:
    return dataclasses.replace(WHOLE, payload=payload)


def zipped(entries: Entries, method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about duplicate names
        for name, content in entries:
            archive.writestr(name, content, method)
    return target.getvalue()


def card(payload: bytes = b"", inline: bool = True, top: Changes = None, agent: Changes = None) -> bytes:
    """An agent.json with the right hash, and then some fields changed."""
    encoded = {"payload": base64.b64encode(payload if inline else b"").decode()}
    fields = dataclasses.asdict(bundle()) | encoded | (agent or {})
    right = hashlib.blake2b(payload, digest_size=16).hexdigest()
    return json.dumps({"format": "ringside-agent", "version": 1, "agent": fields, "hash": right} | (top or {})).encode()


def alone(text: bytes) -> bytes:
    return zipped([("agent.json", text)])


def carrying(name: str, payload: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    return zipped([("agent.json", card(payload, inline=False)), (name, payload)], method)


def tensors(header: object, body: bytes = b"") -> bytes:
    return carrying("payload.safetensors", weights(header, body))


def saved(folder: Path, file: AgentFile) -> bytes:
    agent_file.save(folder / "x.agent", file, overwrite=True)
    return (folder / "x.agent").read_bytes()


def entry(**attributes: object) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("agent.json")
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


def patched(data: bytes, at: int, layout: str, value: int, mark: bytes = b"PK\1\2", last: bool = False) -> bytes:
    """Writes another value at this offset after the first or last signature of a record of the zip's directory."""
    start = (data.rindex if last else data.index)(mark) + at
    return data[:start] + struct.pack(layout, value) + data[start + struct.calcsize(layout) :]


# Round trips

letters = st.characters(categories=("L", "M", "N", "P", "S"))
names = st.text(letters, min_size=1, max_size=30).map(lambda text: unicodedata.normalize("NFC", text))
identifiers = st.from_regex(r"[A-Za-z0-9_:.\-]{1,64}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t"), max_size=200)
numbers = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
trees = st.recursive(numbers, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@st.composite
def networks(draw: st.DrawFn) -> bytes:
    header, body = dict[str, object](), b""
    for name in draw(st.sets(st.text(st.characters(codec="utf-8"), min_size=1, max_size=9), max_size=4)):
        values = draw(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=9))
        end = len(body) + 4 * len(values)
        header[name] = {"dtype": "F32", "shape": [1, len(values)], "data_offsets": [len(body), end]}
        body += struct.pack(f"<{len(values)}f", *values)
    return weights(header, body)


everything = st.builds(
    AgentFile, name=names, game=identifiers, kind=identifiers, version=st.integers(1, 2**31), notes=texts, origin=texts,
    payload=st.binary(max_size=300) | networks() | trees.map(lambda tree: json.dumps([tree]).encode()),
    colour=st.just("") | st.from_regex("[0-9A-F]{6}", fullmatch=True), created=st.floats(0, 1e11),
    tags=st.lists(names, max_size=5, unique=True).map(tuple), parents=st.lists(names, max_size=64).map(tuple),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bundles")  # shared by all examples of hypothesis


@given(file=everything)
def test_an_agent_file_is_read_back_to_the_byte(folder: Path, file: AgentFile) -> None:
    data = saved(folder, file)
    assert agent_file.load(folder / "x.agent") == file == agent_file.read(data)
    assert saved(folder, agent_file.read(data)) == data, "the same content gives the same bytes"


PLACES = [
    ("opaque", []),
    ("empty", []),
    ("json", ["payload.json"]),
    ("weights", ["payload.safetensors"]),
    ("onnx", ["payload.onnx"]),
]


@pytest.mark.parametrize(("payload", "entries"), PLACES)
def test_a_payload_is_stored_in_the_entry_for_its_format(tmp_path: Path, payload: str, entries: list[str]) -> None:
    data = saved(tmp_path, bundle(PAYLOADS[payload]))
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["agent.json", *entries]
    assert agent_file.read(data) == bundle(PAYLOADS[payload])


ZEROS = {"w": {"dtype": "F64", "shape": [2**20], "data_offsets": [0, 2**23]}}
UNUSUAL = {
    "zeros in JSON": b"[" + b"0," * 2**19 + b"0   ]" + b" " * 2**20,
    "zeros as weights": weights(ZEROS, bytes(2**23)),
    "most inline": bytes(agent_file.INLINE),
    "half JSON": b"[not JSON, but small",
    "half safetensors": struct.pack("<2Q", 5, 123),
    "half ONNX": protobuf.field(1, 8) + protobuf.field(7, b"graph"),
    "a large ONNX file": protobuf.field(1, 8) + protobuf.field(7, bytes(2**20)) + protobuf.field(8, b""),
    "a word": b"NaN",
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_unusual_but_valid_content_is_accepted(tmp_path: Path, what: str) -> None:
    assert agent_file.read(saved(tmp_path, bundle(UNUSUAL[what]))) == bundle(UNUSUAL[what])


def test_names_are_composed_and_duplicate_tags_removed(tmp_path: Path) -> None:
    found = agent_file.read(saved(tmp_path, dataclasses.replace(WHOLE, name="e\u0301", tags=("a", "b", "a"))))
    assert (found.name, found.tags) == ("\u00e9", ("a", "b"))


def test_a_file_from_another_zip_program_loads() -> None:
    payload = PAYLOADS["weights"]
    entries: Entries = [("payload.safetensors", payload), ("agent.json", card(payload, inline=False))]
    assert agent_file.read(zipped(entries, zipfile.ZIP_DEFLATED)) == bundle(payload)


# Refused files

GOOD = carrying("payload.json", PAYLOADS["json"])
BOMB = carrying("payload.json", b"[" + b" " * 2**21 + b"]", zipfile.ZIP_DEFLATED)
SMALL = patched(BOMB, 24, "<L", 9, last=True)
FAR = zipped([(entry(extra=struct.pack("<HHQ", 1, 8, 2**64 - 1)), card())])  # the place of a 64-bit offset
EMPTIES: Entries = [("payload.json", b""), ("payload.safetensors", b"")]
HOSTILE: dict[str, tuple[bytes, str]] = {
    "an empty file": (b"", "file ="),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(99), "file ="),
    "a database": (b"SQLite format 3\0" + bytes(99), "file ="),
    "a zip of nothing": (zipped([]), "file ="),
    "a truncated zip": (GOOD[:-30], "file ="),
    "something before it": (b"#!/bin/sh\n" + GOOD, "file ="),
    "a zip before it": (alone(b"") + GOOD, "file ="),
    "something after it": (GOOD + b"\0", "file ="),
    "a comment": (GOOD[:-2] + b"\3\0abc", "file ="),
    "an offset beyond everything": (patched(FAR, 42, "<L", 2**32 - 1), "file ="),
    "a broken checksum": (patched(GOOD, 16, "<L", 1), "file ="),
    "too many entries": (zipped([("agent.json", card())] * 5), "entry ="),
    "a huge directory": (zipped([("agent.json", card())] * 99), "at most 4,096"),
    "no card": (zipped([("payload.json", b"{}")]), "agent.json"),
    "a name twice": (zipped([("agent.json", card())] * 2), "entry ="),
    "a folder in disguise": (zipped([(entry(external_attr=0x10), card())]), "folder"),
    "a name cut by a zero": (zipped([("agent.jsonX", card())]).replace(b"agent.jsonX", b"agent.json\0"), "entry ="),
    "a link": (zipped([(entry(external_attr=(stat.S_IFLNK | 0o777) << 16), b"/etc/passwd")]), "link"),
    "a device": (zipped([(entry(external_attr=stat.S_IFCHR << 16), card())]), "regular file"),
    "an encrypted entry": (patched(GOOD, 8, "<H", 1), "= 'encrypted'"),
    "bzip2": (zipped([("agent.json", card())], zipfile.ZIP_BZIP2), "compression"),
    "an unknown compression": (patched(GOOD, 10, "<H", 77), "compression"),
    "a bomb": (BOMB, "200:1"),
    "a bomb that says it is small": (patched(SMALL, 22, "<L", 9, b"PK\3\4", last=True), "file ="),
    "an entry that says it is larger": (patched(GOOD, 24, "<L", 9999, last=True), "payload.json"),
    "an entry that says it is huge": (patched(GOOD, 24, "<L", 2**31, last=True), "payload.json"),
    "a huge card": (alone(card() + b" " * agent_file.MB), "agent.json"),
    "two payloads": (zipped([("agent.json", card()), *EMPTIES]), "payload ="),
    "a payload in both places": (zipped([("agent.json", card(b"{}")), ("payload.json", b"{}")]), "payload ="),
    "JSON in the card": (alone(card(b"{}")), "agent.json"),
    "weights named JSON": (carrying("payload.json", PAYLOADS["weights"]), "payload.json"),
    "an empty payload entry": (carrying("payload.json", b""), "payload.json"),
    "an opaque payload that is too long": (carrying("payload.json", b"x" * (agent_file.INLINE + 1)), "payload ="),
    "another hash": (alone(card(top={"hash": "0" * 32})), "hash ="),
    "a card that is no JSON": (alone(b"\xff\xfe\0"), "file ="),
    "a card that is a list": (alone(b"[]"), "file.format ="),
    "a key twice in the card": (alone(b'{"format": 1, "format": 1}'), "format"),
    "a deep card": (alone(b"[" * 100_000), "file ="),
    "a long number in the card": (alone(b'{"format": ' + b"9" * 100_000 + b"}"), "file ="),
    "another format": (alone(card(top={"format": "ringside-replay"})), "format"),
    "a newer version": (alone(card(top={"version": 2})), "version"),
    "a key too many": (alone(card(top={"code": "x"})), "code"),
    "a field too many": (alone(card(agent={"pickle": "gASVAAAA"})), "pickle"),
}
NAMES = ["x.txt", "payload/", "../payload.json", "/payload.json", "..\\payload.json", "C:payload.json", "CON"]
HOSTILE |= {f"entry {name}": (zipped([("agent.json", card()), (name, b"")]), f"entry = {name!r}") for name in NAMES}
FIELDS: list[tuple[str, object]] = [
    ("name", ""), ("name", " Ada"), ("name", "a\nb"), ("name", "x" * 121), ("name", "a\u202eb"), ("name", 5),
    ("game", ""), ("game", "a b"), ("game", "x" * 65), ("game", "pong\n"), ("game", "../pong"), ("game", None),
    ("kind", "k/x"), ("kind", "\u00e9"), ("kind", []),
    ("version", 0), ("version", 2**31 + 1), ("version", 1.0), ("version", True), ("version", "1"),
    ("notes", "x" * 10_001), ("notes", "\x1b[2J"), ("notes", None),
    ("colour", "red"), ("colour", "4a9bff"), ("colour", 0x4A9BFF),
    ("tags", ["x"] * 33), ("tags", [""]), ("tags", [7]), ("tags", "fast"),
    ("created", -1.0), ("created", 1.1e11), ("created", "now"), ("created", True),
    ("parents", ["x"] * 65), ("parents", [""]), ("parents", [None]), ("parents", "Eve"),
    ("origin", "x" * 1001), ("origin", 1),
]  # fmt: skip
HOSTILE |= {f"{key} {str(bad)[:12]!r}": (alone(card(agent={key: bad})), key) for key, bad in FIELDS}
NO_BASE64 = ("?", "AAA", "\u00e9", 5, None)
HOSTILE |= {f"base64 {bad!r}": (alone(card(agent={"payload": bad})), "file.agent.payload =") for bad in NO_BASE64}

JSONS = [
    ("finite", b'{"w": [NaN]}'), ("finite", b'{"w": [-Infinity]}'), ("finite", b'{"w": [1e999]}'),
    ("duplicate", b'{"a": {"k": 1, "k": 1}}'), ("deep", b"[" * 65 + b"]" * 65), ("deep", b"[" * 100_000),
    ("digits", b"[" + b"9" * 100_000 + b"]"), ("brackets", b"[" + b"[]," * 2**20 + b"[]]"),
    ("commas", b"[" + b"0," * (2**22 + 1) + b"0]"), ("payload =", b"[" + b"x" * agent_file.INLINE),
]  # fmt: skip
HOSTILE |= {f"JSON {text[:12]!r} {len(text)}": (carrying("payload.json", text), word) for word, text in JSONS}


def tensor(**changes: object) -> bytes:
    return tensors({"w": F32 | changes}, bytes(8))


METADATA = ({"a": 1}, None, {"a": "x" * 2**17}, {str(i): "" for i in range(agent_file.METADATA + 1)})
HOSTILE |= {f"weights: {str(bad)[:9]}": (tensors({"__metadata__": bad}), "__metadata__ =") for bad in METADATA}
EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
TENSORS: list[tuple[str, dict[str, object]]] = [
    ("dtype", {"dtype": "F8_E4M3", "shape": [8]}), ("dtype", {"dtype": ["F32"]}), ("dtype", {"code": "x"}),
    ("shape", {"shape": [3]}), ("shape", {"shape": [-1, -2]}), ("shape", {"shape": [2**62, 2**62]}),
    ("shape", {"shape": [1] * 8 + [2]}), ("shape", {"shape": [2.0]}), ("shape", {"shape": 2}),
    ("data_offsets", {"shape": [4], "data_offsets": [0, 16]}), ("data_offsets", {"data_offsets": [8, 0]}),
    ("data_offsets", {"data_offsets": [-8, 0]}), ("data_offsets", {"data_offsets": [0, 4, 8]}),
    ("data_offsets", {"shape": [1], "data_offsets": [4, 8]}), ("data_offsets", {"data_offsets": None}),
]  # fmt: skip
HOSTILE |= {f"weights: {changes}": (tensor(**changes), word) for word, changes in TENSORS}
HOSTILE |= {
    "weights: a huge shape of nothing": (tensors({"w": EMPTY | {"shape": [0, 2**40]}}), "shape"),
    "weights: overlap": (tensors({"a": F32, "b": F32}, bytes(8)), "data_offsets"),
    "weights: bytes left over": (tensors({"w": F32}, bytes(9)), "data_offsets"),
    "weights: a tensor that is none": (tensors({"w": 5}), "dtype"),
    "weights: a name twice": (tensors(b'{"w": 1, "w": 1}'), "duplicate"),
    "weights: a long name": (tensors({"w" * 257: EMPTY}), "name"),
    "weights: NaN in the header": (tensors(b'{"w": NaN}'), "finite"),
    "weights: too many tensors": (tensors({str(i): EMPTY for i in range(agent_file.TENSORS + 1)}), "tensors"),
    "weights: a huge size": (patched(tensor(), 24, "<L", agent_file.FILE, last=True), "at most"),
    "weights: a huge header": (tensors(b"{" + b" " * agent_file.HEADER + b"}"), "header"),
    "weights: a header that is no JSON": (tensors(b"{oops}", bytes(8)), "payload.safetensors"),
    "weights: a half surrogate": (tensors(b'{"__metadata__": {"a": "\\ud800"}}'), "payload.safetensors"),
}
NOT_FINITE = [("F16", "007c"), ("F16", "01fe"), ("BF16", "80ff"), ("BF16", "c17f"), ("F32", "0000c07f")]
NOT_FINITE += [("F32", "000080ff"), ("F64", "000000000000f07f"), ("F64", "010000000000f0ff")]
for kind, digits in NOT_FINITE:
    body = bytes(8) + bytes.fromhex(digits)
    changes = {"dtype": kind, "shape": [len(body) // agent_file.SIZES[kind]], "data_offsets": [0, len(body)]}
    HOSTILE[f"weights: {kind} {digits}"] = (tensors({"w": changes}, body), "finite")


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_with_an_error_that_names_the_fault(tmp_path: Path, what: str) -> None:
    data, word = HOSTILE[what]
    (path := tmp_path / "x.agent").write_bytes(data)
    with pytest.raises(BadAgentFile) as caught:
        agent_file.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert word in message.removeprefix(str(path))
    assert "must be" in message
    with pytest.raises(BadAgentFile):
        agent_file.read(data)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x.agent", data)], "nothing is written"


def test_the_hostile_files_are_derived_from_files_that_load() -> None:
    """Each is refused for its change, not because it was never a valid file."""
    assert agent_file.read(GOOD) == bundle(PAYLOADS["json"])
    assert agent_file.read(alone(card())) == bundle()
    assert agent_file.read(zipped([(entry(), card())])) == bundle()
    assert agent_file.read(tensor()).payload
    assert agent_file.read(tensor(dtype="F16", shape=[2, 2])).payload
    assert agent_file.read(carrying("payload.json", b"[" * 64 + b"]" * 64)).payload


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "x.agent").open("wb") as file:
        file.truncate(agent_file.FILE + 1)  # a sparse file
    with pytest.raises(BadAgentFile, match="must be a file of at most 268,435,456 bytes"):
        agent_file.load(tmp_path / "x.agent")


PIPE = getattr(os, "mkfifo", Path.mkdir)  # a folder where there are no named pipes


@pytest.mark.parametrize("make", [Path.mkdir, PIPE, Path.exists], ids=["folder", "pipe", "nothing"])
def test_a_path_that_is_not_a_regular_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "x.agent")
    with pytest.raises(BadAgentFile, match=r"^agent file = '.*': must be a regular file"):
        agent_file.load(tmp_path / "x.agent")


UNSAVED = [(key, tuple(bad) if isinstance(bad, list) else bad) for key, bad in FIELDS]
UNSAVED += [("created", float("nan")), ("created", float("inf")), ("notes", "\ud800"), ("payload", "text")]
UNSAVED += [("name", "\u0958" * 100)]  # composed, it is twice as long
UNSAVED += [
    ("payload", b"[NaN]"),
    ("payload", bytes(agent_file.INLINE + 1)),
    ("payload", weights({"w": F32}, bytes(9))),
]


@pytest.mark.parametrize(("key", "bad"), UNSAVED, ids=lambda value: repr(value)[:20])
def test_content_that_would_not_load_is_not_saved(tmp_path: Path, key: str, bad: object) -> None:
    changes: dict[str, object] = {key: bad}
    with pytest.raises(BadAgentFile, match=rf"x\.agent: {key}"):
        agent_file.save(tmp_path / "x.agent", dataclasses.replace(bundle(), **changes))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_refused_content_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    before = saved(tmp_path, bundle(b"old"))
    with pytest.raises(BadAgentFile, match="colour"):
        agent_file.save(tmp_path / "x.agent", dataclasses.replace(bundle(), colour="red"))
    assert (tmp_path / "x.agent").read_bytes() == before


# Damaged files

edits = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4)
Damage = tuple[list[tuple[float, int]], float, bytes]
damages = st.tuples(edits, st.just(0.0) | st.floats(0, 1), st.binary(max_size=3))


def damaged(data: bytes, damage: Damage) -> bytes:
    """Changes some bytes, and inserts some or cuts off the end."""
    changed, (changes, share, inserted) = bytearray(data), damage
    for place, value in changes:
        changed[int(place * len(changed))] = value
    at = int(share * len(changed))
    return bytes(changed[:at] + inserted + changed[at:]) if inserted else bytes(changed[: len(changed) - at])


def taken(data: bytes) -> AgentFile | None:
    """The content, or None if it is refused; any other error fails the test."""
    with contextlib.suppress(BadAgentFile):
        return agent_file.read(data)
    return None


@given(which=st.sampled_from(sorted(PAYLOADS)), damage=damages)
@settings(max_examples=400)
def test_a_damaged_file_has_the_same_content_or_is_refused(folder: Path, which: str, damage: Damage) -> None:
    whole = bundle(PAYLOADS[which])
    assert taken(damaged(saved(folder, whole), damage)) in (None, whole)


FORGED = [("json", "payload.json"), ("weights", "payload.safetensors"), ("onnx", "payload.onnx")]


@given(st.sampled_from(FORGED), damages)
@settings(max_examples=400)
def test_a_payload_forged_with_its_hash_is_read_unchanged_or_refused(which: tuple[str, str], damage: Damage) -> None:
    payload = damaged(PAYLOADS[which[0]], damage)
    assert taken(carrying(which[1], payload)) in (None, bundle(payload))


@given(damages)
@settings(max_examples=400)
def test_a_forged_manifest_is_read_or_refused(damage: Damage) -> None:
    found = taken(alone(damaged(card(b"opaque"), damage)))
    assert found is None or found.payload == b"opaque"
