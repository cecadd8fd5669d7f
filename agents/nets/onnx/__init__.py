"""Networks in ONNX files, from any library: `model` reads and checks a file, `signature` compares it with a game,
`session` evaluates it by onnxruntime, and `pilot` plays it. `export` writes our own networks as ONNX files.
"""
