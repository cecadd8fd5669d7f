"""Models: their gradients, their normalisation, and the networks that they become."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from agents.nets.architecture import ACTIVATIONS
from agents.training.hybrid.genome import ConvGene, DenseGene, Genome
from agents.training.hybrid.layers import EPSILON, Dropout
from agents.training.hybrid.module import Model
from tests.agents.training.hybrid.model_tasks import BY_NAME, image_genomes, logits_of, plane_genomes

CPU = torch.device("cpu")
ROWS = 13


def new_model(genome: Genome, shape: tuple[int, ...], outputs: int) -> tuple[Model, Tensor]:
    """A model with initial weights, and inputs for it with their channels last."""
    generator = torch.Generator().manual_seed(3)
    with torch.inference_mode():
        model = Model(genome, shape, outputs, CPU)
        model.draw(generator)
        for name, values in model.parameters.values.items():
            if not name.endswith(".weight"):
                values.add_(torch.randn(values.shape, generator=generator), alpha=0.1)
        inputs = torch.randn(ROWS, math.prod(shape), generator=generator)
    return model, inputs


def autograd_logits(model: Model, parameters: dict[str, Tensor], inputs: Tensor, training: bool = True) -> Tensor:
    """What a model answers, by torch's functions and their gradients."""
    x = inputs
    if model.genome.convs:
        planes, height, width = model.shape
        x = x.view(-1, height, width, planes).permute(0, 3, 1, 2)
    genes = (*model.genome.convs, *model.genome.dense, None)
    for name, gene in zip(model.names, genes, strict=True):
        weight, bias = parameters[f"{name}.weight"], parameters.get(f"{name}.bias")
        if isinstance(gene, ConvGene):
            x = functional.conv2d(x, weight.permute(0, 3, 1, 2), bias, gene.stride, gene.kernel // 2)
        elif weight.ndim == 4:
            x = functional.conv2d(x, weight.permute(0, 3, 1, 2), bias).flatten(1)
        else:
            x = functional.linear(x if x.ndim == 2 else x.permute(0, 2, 3, 1).flatten(1), weight, bias)
        if gene is None:
            continue
        if gene.normalised:
            norm = model.normalisations[name]
            scale, shift = parameters[f"{name}.scale"], parameters[f"{name}.shift"]
            mean, variance = (None, None) if training else (norm.mean.clone(), norm.variance.clone())
            x = functional.batch_norm(x, mean, variance, scale, shift, training, eps=EPSILON)
        x = BY_NAME[gene.activation](x)
    return x


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize(
    ("convs", "dense", "shape", "outputs"),
    [
        ((), ((20, False), (33, True)), (7,), 5),
        ((), ((12, False),), (3, 6, 5), 5),
        (((6, 3, 1, True), (9, 5, 2, False)), ((12, False),), (3, 6, 5), 5),
        (((6, 3, 2, False), (9, 1, 2, True)), (), (1, 7, 5), 5),
        (((6, 3, 1, True), (9, 5, 1, False)), (), (3, 6, 5), 60),  # outputs are planes
        (((7, 1, 1, True),), (), (2, 1, 1), 5),
        (((6, 3, 1, True), (9, 5, 2, False)), (), (3, 6, 5), 60),
        ((), (), (4,), 5),
    ],
)
def test_gradients_are_those_of_autograd(
    name: str,
    convs: tuple[tuple[int, int, int, bool], ...],
    dense: tuple[tuple[int, bool], ...],
    shape: tuple[int, ...],
    outputs: int,
) -> None:
    genome = Genome(
        tuple(ConvGene(channels, kernel, stride, name, norm) for channels, kernel, stride, norm in convs),
        tuple(DenseGene(width, name, norm) for width, norm in dense),
    )
    model, inputs = new_model(genome, shape, outputs)
    slope = torch.randn(ROWS, outputs, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        logits = model.forward(inputs)
        model.backward(slope.clone())
    parameters = {name: values.clone().requires_grad_() for name, values in model.parameters.values.items()}
    expected = autograd_logits(model, parameters, inputs.clone())
    expected.backward(slope)  # type: ignore[no-untyped-call]
    assert torch.allclose(expected, logits.clone(), atol=1e-5)
    for key, values in parameters.items():
        assert values.grad is not None
        scale = max(float(values.grad.abs().max()), 1e-3)
        assert float((values.grad - model.parameters.slopes[key]).abs().max()) < 1e-4 * scale, key


@pytest.mark.parametrize("outputs", [4, 60])  # 60 are planes of the image
@pytest.mark.parametrize("genome", [*image_genomes(), *plane_genomes()], ids=lambda genome: genome.key[:6])
def test_the_network_that_plays_answers_as_the_model_without_its_normalisation(genome: Genome, outputs: int) -> None:
    model, inputs = new_model(genome, (2, 6, 5), outputs)
    with torch.inference_mode():
        for _ in range(3):
            model.forward(inputs)  # the means and variances of minibatches
        plain = model.plain()
        model.fold_into(plain)
        answers, tensors = plain.forward(inputs), plain.tensors()
        parameters = {name: values.clone() for name, values in model.parameters.values.items()}
        expected = autograd_logits(model, parameters, inputs, training=False)
    assert torch.allclose(answers, expected, atol=1e-5)
    images = inputs.view(-1, 6, 5, 2).permute(0, 3, 1, 2).numpy()
    assert torch.allclose(logits_of(tensors, genome, images), expected.clone(), atol=1e-5)
    assert {name: tensor.shape for name, tensor in tensors.items()} == genome.architecture.shapes((2, 6, 5), outputs)
    assert not tensors["value.weight"].any() and not tensors["value.bias"].any()  # noqa: PT018
    count = sum(values.numel() for values in model.parameters.values.values())
    assert count == genome.parameters((2, 6, 5), outputs)


def test_means_and_variances_are_never_those_of_an_untrained_model() -> None:
    model, inputs = new_model(Genome((), (DenseGene(6, normalised=True),)), (7,), 3)
    norm = model.normalisations["layers.0"]
    with torch.inference_mode():
        sums = inputs @ model.parameters.values["layers.0.weight"].t()
        model.forward(inputs)
        assert torch.allclose(norm.mean, sums.mean(0), atol=1e-6)
        model.forward(inputs + 1)
        both = torch.stack([sums.mean(0), ((inputs + 1) @ model.parameters.values["layers.0.weight"].t()).mean(0)])
        assert torch.allclose(norm.mean, both.mean(0), atol=1e-6)


def test_dropout_keeps_the_mean_and_draws_from_its_own_stream() -> None:
    before = torch.random.get_rng_state()
    streams = [Dropout(0.3, torch.Generator().manual_seed(seed)) for seed in (5, 5, 6)]
    x = torch.ones(300, 70)
    first, same, other = (stream.forward(x).clone() for stream in streams)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert float((first == 0).float().mean()) == pytest.approx(0.3, abs=0.015)
    assert float(first.mean()) == pytest.approx(1.0, abs=0.02)
    assert torch.equal(streams[0].backward(torch.ones_like(x)), first)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_share_of_dropout_that_rounds_to_nothing_still_works() -> None:
    found = Dropout(0.001, torch.Generator().manual_seed(1)).forward(torch.ones(100, 100))
    assert 0 < int((found == 0).sum()) < 200


def test_initial_weights_keep_the_size_of_signals() -> None:
    genome = Genome((), tuple(DenseGene(256, "tanh" if k else "relu") for k in range(3)))
    with torch.inference_mode():
        model = Model(genome, (256,), 10, CPU)
        model.draw(torch.Generator().manual_seed(1))
        logits = model.forward(torch.randn(64, 256, generator=torch.Generator().manual_seed(2)))
    assert 0.3 < float(logits.std()) < 3.0
    assert np.isfinite(logits.numpy()).all()
