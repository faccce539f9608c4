"""The decoder against the reference, on every golden case."""

import pytest
import reference
import tiny_checkpoint
import torch
from affine_convert.training.decoder import Decoder
from affine_convert.training.decoder_weights import affinized, load_weights
from cases import all_cases, case_named

#: Nats of log-probability; the reference's own float32 stays within 3e-5 of its float64.
TOLERANCE = 1e-4


def log_probs(config, weights, ids, dtype=torch.float32):
    """[len(ids), vocab] of a decoder in `dtype`."""
    decoder = Decoder(config, {n: w.to(torch.float32) for n, w in weights.items()}, dtype, len(ids))
    with torch.no_grad():
        logits = decoder.logits(decoder.hidden(torch.tensor([ids]))[0])
    return torch.log_softmax(logits, -1)


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_log_probabilities_are_those_of_the_reference(checkpoint, case):
    folder, ids = checkpoint(case.name), tiny_checkpoint.prompt(case)
    wanted = reference.log_probs(reference.load_model(folder), ids)
    found = log_probs(*load_weights(folder), ids)
    assert (found - wanted).abs().max() < TOLERANCE


@pytest.mark.parametrize("activation", ["linear_clipping", "sigmoid"])
def test_affine_in_memory_changes_no_output(plain, activation):
    ids = tiny_checkpoint.prompt(case_named("llama-softmax-unscaled-none"))
    config, weights = load_weights(plain)
    before = log_probs(config, weights, ids)
    made = affinized(plain, config, weights, activation, "visible")
    assert made[0].attention.activation == activation
    assert (log_probs(*made, ids) - before).abs().max() < 1e-5


def test_affine_in_memory_leaves_the_plain_weights_alone(plain):
    config, weights = load_weights(plain)
    before = {name: tensor.clone() for name, tensor in weights.items()}
    affinized(plain, config, weights, "linear_clipping", "visible")
    assert weights.keys() == before.keys()
    assert all(torch.equal(weights[name], before[name]) for name in before)


def test_bfloat16_stays_near_float32(checkpoint):
    case = case_named("llama-learned_sink-affine-elementwise")
    folder, ids = checkpoint(case.name), tiny_checkpoint.prompt(case)
    exact = log_probs(*load_weights(folder), ids)
    rounded = log_probs(*load_weights(folder), ids, torch.bfloat16)
    apart = (rounded - exact).abs().mean()
    assert 0 < apart < 0.2


def test_alpha_is_shown_layer_by_layer(checkpoint):
    config, weights = load_weights(checkpoint("llama-softmax-affine-none"))
    seen = {}
    decoder = Decoder(config, weights, torch.float32, 8)
    decoder.hidden(torch.tensor([[1, 2, 3], [4, 5, 6]]), seen.__setitem__)
    assert {layer: tuple(alpha.shape) for layer, alpha in seen.items()} == {
        layer: (2, config.heads, 3) for layer in range(config.layers)
    }
