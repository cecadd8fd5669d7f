"""ONNX files written by hand, so that tests can make them wrong in one place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.protobuf import field

CODES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float64": 11}
Shape = Sequence[int | str] | None


def port(name: str, shape: Shape, dtype: str = "float32") -> bytes:
    """An input or output; a text is a free size, None an unknown shape."""
    tensor = field(1, CODES[dtype])
    if shape is not None:
        tensor += field(2, b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in shape))
    return field(1, name) + field(2, field(1, tensor))


def tensor(name: str, values: np.ndarray, extra: bytes = b"") -> bytes:
    sizes = b"".join(field(1, size) for size in values.shape)
    return sizes + field(2, CODES[values.dtype.name]) + field(8, name) + field(9, values.tobytes()) + extra


def node(operator: str, inputs: Sequence[str], outputs: Sequence[str], *attributes: bytes, domain: str = "") -> bytes:
    names = [field(1, name) for name in inputs] + [field(2, name) for name in outputs]
    return b"".join([*names, field(4, operator), *(field(5, attribute) for attribute in attributes), field(7, domain)])


def integer(name: str, value: int) -> bytes:
    return field(1, name) + field(3, value) + field(20, 2)


def subgraph(name: str, content: bytes) -> bytes:
    return field(1, name) + field(6, content) + field(20, 5)


def graph(
    nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], tensors: Sequence[bytes] = ()
) -> bytes:
    parts = [(1, nodes), (5, tensors), (11, inputs), (12, outputs)]
    return field(2, "g") + b"".join(field(number, part) for number, many in parts for part in many)


def model(content: bytes, opset: int = 17, extra: bytes = b"") -> bytes:
    return field(1, 8) + field(7, content) + field(8, field(1, "") + field(2, opset)) + extra


def linear(
    inputs: int = 8,
    outputs: int = 3,
    shape: Shape = ("batch", 8),
    ends: Sequence[bytes] = (),
    output: bytes = b"",
    tensors: Sequence[bytes] = (),
    more_inputs: Sequence[bytes] = (),
    seed: int = 1,
) -> bytes:
    """A graph with one layer, named `y`; `ends` are nodes after it, and `output` what the file gives."""
    weights = np.random.default_rng(seed).standard_normal((inputs, outputs)).astype(np.float32)
    nodes = [node("Flatten", ["x"], ["flat"], integer("axis", 1)), node("MatMul", ["flat", "w"], ["y"]), *ends]
    given = [output or port("y", ["batch", outputs])]
    return graph(nodes, [port("x", shape), *more_inputs], given, [tensor("w", weights), *tensors])
