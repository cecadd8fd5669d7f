"""Reads what an ONNX file contains, and refuses what is not a network on its own, before onnxruntime sees the file.

The messages and the numbers of their fields are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from agents.nets.architecture import check_temperature
from engine.errors import BadValue
from engine.protobuf import BYTES, FIXED32, FIXED64, VARINT, Field, Reader, field

NOUN = "a network in ONNX"
LARGEST = 250_000_000  # bytes; an .agent file has room for it
MOST_NODES = 20_000
MOST_PORTS = 64  # inputs or outputs
MOST_DIMENSIONS = 8
DEEPEST = 4  # levels of graphs inside graphs
LONGEST_NAME = 60  # as it is shown
FIRST_OPSET, LAST_OPSET = 7, 26  # that onnxruntime can play
DOMAINS = ("", "ai.onnx")  # of operators: the standard ones
RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
TEMPERATURE, GAME = "ringside.temperature", "ringside.game"  # keys of the metadata

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip
OTHER_DTYPES = {8: "string", 14: "complex64", 15: "complex128", 16: "bfloat16"}
FLOAT_DATA, INT32_DATA, INT64_DATA, RAW_DATA, DOUBLE_DATA, UINT64_DATA = 4, 5, 7, 9, 10, 11  # where numbers are stored
METADATA_PROPS = 14

# The fields that are read of each message, with their wire types.
INTEGER, MESSAGE, INTEGERS, NUMBERS = (VARINT,), (BYTES,), (VARINT, BYTES), (FIXED32, FIXED64, BYTES)
MODEL = {1: INTEGER, 2: MESSAGE, 7: MESSAGE, 8: MESSAGE, METADATA_PROPS: MESSAGE, 20: MESSAGE, 25: MESSAGE}
OPSET, ENTRY = {1: MESSAGE, 2: INTEGER}, {1: MESSAGE, 2: MESSAGE}
GRAPH = dict.fromkeys((1, 5, 11, 12, 15), MESSAGE)
NODE = dict.fromkeys((1, 2, 4, 5, 7), MESSAGE)
ATTRIBUTE = dict.fromkeys((5, 6, 10, 11, 22, 23), MESSAGE)
TENSOR = {
    1: INTEGERS, 2: INTEGER, 3: MESSAGE, FLOAT_DATA: NUMBERS, INT32_DATA: INTEGERS, 6: MESSAGE, INT64_DATA: INTEGERS,
    8: MESSAGE, RAW_DATA: MESSAGE, DOUBLE_DATA: NUMBERS, UINT64_DATA: INTEGERS, 13: MESSAGE, 14: INTEGER,
}  # fmt: skip
VALUE_INFO, TYPE, TENSOR_TYPE = ENTRY, {1: MESSAGE}, {1: INTEGER, 2: MESSAGE}
SHAPE, DIMENSION = {1: MESSAGE}, {1: INTEGER}


@dataclass(frozen=True)
class Port:
    """An input or output of the network."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None  # None: a free size; instead of the shape: unknown
    made_by: str = ""  # operator that computes it

    def __str__(self) -> str:
        if self.shape is None:
            return f"{printable(self.name)}: {self.dtype} any shape"
        sizes = ["free" if size is None else str(size) for size in self.shape[:MOST_DIMENSIONS]]
        sizes += ["..."] * (len(self.shape) > MOST_DIMENSIONS)
        return f"{printable(self.name)}: {self.dtype} [{', '.join(sizes)}]"


@dataclass(frozen=True)
class Model:
    """What an ONNX file says about its network."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operators: tuple[tuple[str, int], ...]  # with the number of their nodes, the most frequent first
    weights: int
    opset: int
    producer: str
    game: str  # that it was made for; empty if the file does not say
    temperature: float


def printable(text: str) -> str:
    """A text of a file as it is shown: without control characters, and not too long."""
    safe = "".join(letter if letter.isprintable() else "?" for letter in text[: LONGEST_NAME + 1])
    return safe if len(safe) <= LONGEST_NAME else safe[: LONGEST_NAME - 3] + "..."


@lru_cache(8)
def read_model(payload: bytes) -> Model:
    """Reads and checks a file; raises BadValue with a sentence for one that cannot be played."""
    if len(payload) > LARGEST:
        raise BadValue("file", f"{len(payload):,} bytes", f"{NOUN} of at most {LARGEST:,} bytes")
    return _ModelReader().read(payload)


def with_metadata(payload: bytes, key: str, value: str) -> bytes:
    """The same file with another value of this key in its metadata."""
    read_model(payload)
    reader, kept, at = Reader(NOUN), [], 0
    for part in reader.fields(payload, {METADATA_PROPS: MESSAGE}):
        if _entry(reader, part)[0] == key:  # the bytes of this field are left out
            kept.append(payload[at : part.start])
            at = part.end
    return b"".join([*kept, payload[at:], metadata(key, value)])


def metadata(key: str, value: str) -> bytes:
    """A field of the file with an entry of its metadata."""
    return field(METADATA_PROPS, field(1, key) + field(2, value))


def _entry(reader: Reader, entry: Field) -> tuple[str, str]:
    """Key and value of an entry of the metadata."""
    found = {part.number: part.text() for part in reader.fields(entry.content, ENTRY)}
    return found.get(1, ""), found.get(2, "")


class _ModelReader:
    """Reads one file."""

    def __init__(self) -> None:
        self._reader = Reader(NOUN)
        self._operators: Counter[str] = Counter()
        self._weights = 0

    def read(self, payload: bytes) -> Model:
        graphs: list[Field] = []
        opsets: dict[str, int] = {}
        entries: dict[str, str] = {}
        ir_version, producer = 0, ""
        for part in self._reader.fields(payload, MODEL):
            match part.number:
                case 1:
                    ir_version = part.value
                case 2:
                    producer = part.text()
                case 7:
                    graphs.append(part)
                case 8:
                    domain, version = self._opset(part)
                    opsets[domain] = version
                case 14:
                    key, value = _entry(self._reader, part)
                    entries[key] = value
                case 20:
                    raise BadValue("file", "a network with instructions for training", f"{NOUN} for inference alone")
                case 25:
                    raise BadValue("file", "a network with functions of its own", f"{NOUN} of standard operators")
        if len(graphs) != 1 or graphs[0].type != BYTES or not ir_version:
            raise BadValue("file", f"{len(payload):,} bytes without one graph", NOUN)
        opset = opsets.get("", opsets.get("ai.onnx", 0))
        if not FIRST_OPSET <= opset <= LAST_OPSET:
            raise BadValue("opset", opset, f"from {FIRST_OPSET} to {LAST_OPSET}: export it again with another opset")
        inputs, outputs = self._graph(graphs[0], 1)
        return Model(
            inputs, outputs, tuple(self._operators.most_common()), self._weights, opset, printable(producer),
            entries.get(GAME, ""), _temperature(entries.get(TEMPERATURE, "0")),
        )  # fmt: skip

    def _opset(self, message: Field) -> tuple[str, int]:
        domain, version = "", 0
        for part in self._reader.fields(message.content, OPSET):
            if part.number == 1:
                domain = part.text()
            elif part.number == 2:
                version = part.integer()
        return domain, version

    def _graph(self, message: Field, depth: int) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Checks a graph; its inputs without those that have a value in the file, and its outputs."""
        if depth > DEEPEST:
            raise BadValue("graph", f"more than {DEEPEST} graphs inside each other", f"{NOUN} of at most that depth")
        inputs, outputs, values = [], [], set()
        made_by: dict[str, str] = {}
        for part in self._reader.fields(message.content, GRAPH):
            match part.number:
                case 1:
                    operator, results = self._node(part, depth)
                    made_by |= dict.fromkeys(results, operator)
                case 5:
                    values.add(self._tensor(part))
                case 11:
                    inputs.append(part)
                case 12:
                    outputs.append(part)
                case 15:
                    raise BadValue("graph", "sparse weights", f"{NOUN} with dense weights")
        if len(outputs) > MOST_PORTS:
            raise BadValue("outputs", len(outputs), f"at most {MOST_PORTS}")
        ports = [port for port in map(self._port, inputs) if port.name not in values]
        if len(ports) > MOST_PORTS:
            raise BadValue("inputs", len(ports), f"at most {MOST_PORTS}")
        return tuple(ports), tuple(self._port(output, made_by) for output in outputs)

    def _node(self, message: Field, depth: int) -> tuple[str, list[str]]:
        """Checks a node; its operator and the names of its outputs."""
        operator, domain, attributes, inputs, results = "", "", [], [], []
        for part in self._reader.fields(message.content, NODE):
            match part.number:
                case 1:
                    inputs.append(part.text())
                case 2:
                    results.append(part.text())
                case 4:
                    operator = part.text()
                case 5:
                    attributes.append(part)
                case 7:
                    domain = part.text()
        if domain not in DOMAINS:
            shown = f"{printable(domain)}::{printable(operator)}"
            raise BadValue("operator", shown, "a standard ONNX operator: custom operators are refused")
        if operator in RANDOM or (operator == "Dropout" and len(inputs) > 2 and inputs[2]):
            needed = "a function of its inputs: export the network for deterministic evaluation"
            raise BadValue("operator", f"{operator}, which draws random numbers", needed)
        self._operators[printable(operator)] += 1
        if self._operators.total() > MOST_NODES:
            raise BadValue("nodes", f"more than {MOST_NODES:,}", f"{NOUN} of at most that many")
        for attribute in attributes:
            self._attribute(attribute, depth)
        return operator, results

    def _attribute(self, message: Field, depth: int) -> None:
        """Checks the tensors and graphs of an attribute."""
        for part in self._reader.fields(message.content, ATTRIBUTE):
            if part.number in (5, 10):
                self._tensor(part)
            elif part.number in (6, 11):
                self._graph(part, depth + 1)
            elif part.number in (22, 23):
                raise BadValue("attribute", "sparse numbers", f"{NOUN} with dense weights")

    def _tensor(self, message: Field) -> str:
        """Checks a tensor, whose numbers must be in the file; its name."""
        name, code, sizes, stored = "", 0, [], []
        for part in self._reader.fields(message.content, TENSOR):
            match part.number:
                case 1:
                    sizes += self._reader.integers(part, MOST_DIMENSIONS)
                case 2:
                    code = part.value
                case 3:
                    raise BadValue("tensor", "a part of a tensor", "whole")
                case 8:
                    name = part.text()
                case 13:
                    raise _external()
                case 14 if part.value:
                    raise _external()
                case 4 | 5 | 6 | 7 | 9 | 10 | 11:
                    stored.append(part)
        shown = printable(name) or "without a name"
        if code not in DTYPES:
            raise BadValue(
                f"tensor {shown}", OTHER_DTYPES.get(code, f"type {code}"), f"one of {', '.join(DTYPES.values())}"
            )
        if len(sizes) > MOST_DIMENSIONS or min(sizes, default=0) < 0:
            raise BadValue(f"tensor {shown}", tuple(sizes[:16]), f"at most {MOST_DIMENSIONS} sizes of 0 or more")
        needed, found = math.prod(sizes), sum(_count(numbers, DTYPES[code]) for numbers in stored)
        if needed != found:
            has = f"{tuple(sizes)}, but it has {found:,} numbers"
            raise BadValue(f"tensor {shown}", has, f"as large as its shape says: {needed:,} numbers")
        self._weights += needed
        return name

    def _port(self, message: Field, made_by: dict[str, str] | None = None) -> Port:
        name, dtype, shape = "", "not a tensor", None
        for part in self._reader.fields(message.content, VALUE_INFO):
            if part.number == 1:
                name = part.text()
            else:
                dtype, shape = self._type(part)
        return Port(name, dtype, shape, (made_by or {}).get(name, ""))

    def _type(self, message: Field) -> tuple[str, tuple[int | None, ...] | None]:
        """Type and shape of a tensor."""
        dtype, shape = "not a tensor", None
        for tensor in self._reader.fields(message.content, TYPE):
            for part in self._reader.fields(tensor.content, TENSOR_TYPE):
                if part.number == 1:
                    dtype = DTYPES.get(part.value) or OTHER_DTYPES.get(part.value, f"type {part.value}")
                elif part.number == 2:
                    shape = tuple(self._size(size) for size in self._reader.fields(part.content, SHAPE))
        return dtype, shape

    def _size(self, message: Field) -> int | None:
        """The size of a dimension; None if it is free."""
        found = None
        for part in self._reader.fields(message.content, DIMENSION):
            found = part.integer()
        return None if found is None or found < 0 else found


def _external() -> BadValue:
    needed = "weights inside the file: export it in one file (torch.onnx.export: external_data=False)"
    return BadValue("file", "weights in another file", needed)


def _count(stored: Field, dtype: str) -> int:
    """How many numbers of this type a field of a tensor holds."""
    size = len(stored.content)
    if stored.number == RAW_DATA:
        width = np.dtype(dtype).itemsize
        return size // width if size % width == 0 else -1
    if stored.number in (FLOAT_DATA, DOUBLE_DATA):
        width = 4 if stored.number == FLOAT_DATA else 8
        return size // width if size % width == 0 else -1
    if stored.number in (INT32_DATA, INT64_DATA, UINT64_DATA):  # varints end with a byte below 128
        return 1 if stored.type == VARINT else int((np.frombuffer(stored.content, np.uint8) < 0x80).sum())
    return -1  # text


def _temperature(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise BadValue(TEMPERATURE, printable(text), "a number") from None
    check_temperature(found)
    return found
