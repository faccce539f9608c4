"""The reference itself, checked: against unmodified transformers, and against the algebra of it.

Needs torch and transformers (requirements.txt).
"""

import dataclasses
import json

import numpy as np
import pytest
import tokenizers
import torch
import transformers

import make_golden
import reference
import tiny_checkpoint
from cases import (
    DENOMINATORS,
    FIXED_NORMALIZER,
    GATES,
    LINEAR_VISIBLE,
    SIGMOID_FIXED,
    all_cases,
    case_named,
)
from golden_record import read_record

CASES = all_cases()
PLAIN = [case for case in CASES if case.attention() is None]
CHANGED = [case for case in CASES if case.attention() is not None]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def visible_keys(count):
    return torch.ones(count, count, dtype=torch.bool).tril()


def random_attention(seed, heads=4, count=23, size=16):
    """float64 scores [1, heads, count, count] and values [1, heads, count, size]."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    return 3 * draw(1, heads, count, count), draw(1, heads, count, size), draw


@named(PLAIN)
def test_plain_softmax_equals_unmodified_transformers(case, tiny_checkpoints):
    folder, ids = tiny_checkpoints.folder(case), tiny_checkpoint.prompt(case)
    # In float64, so that the order in which a processor adds up does not count. Norms, angles and
    # transformers' softmax stay float32 in it.
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager"
    )
    ours = reference.load_model(folder, torch.float64)
    with torch.no_grad():
        states = [
            model(torch.tensor([ids]), output_hidden_states=True).hidden_states
            for model in (ours, theirs.eval())
        ]
    for our_layer, their_layer in zip(*states, strict=True):
        scale = their_layer.abs().max()
        assert (our_layer - their_layer).abs().max() < 1e-6 * scale
    difference = reference.log_probs(ours, ids) - reference.log_probs(theirs, ids)
    assert difference.abs().max() < 2e-5  # logits near 10 magnify what is float32


@named(PLAIN)
def test_the_identity_affine_checkpoint_equals_the_plain_one(case, tiny_checkpoints, tmp_path):
    plain = reference.load_model(tiny_checkpoints.folder(case))
    tiny_checkpoint.write_identity_affine(case, tmp_path)
    affine = reference.load_model(tmp_path)
    assert affine.model.layers[0].self_attn.spec.affine is not None
    ids = tiny_checkpoint.prompt(case)
    difference = reference.log_probs(plain, ids) - reference.log_probs(affine, ids)
    assert difference.abs().max() < 1e-6  # norms round through float32


@pytest.mark.parametrize("normalizer", ["visible", FIXED_NORMALIZER])
def test_affine_weights_sum_to_the_mean_of_alpha_when_the_normalizer_counts_the_visible(normalizer):
    scores, _, draw = random_attention(1)
    visible = visible_keys(scores.shape[-1])
    p = reference.probabilities(scores, visible, "softmax", None)
    alpha, alpha_ma = torch.sigmoid(draw(1, 4, 23)), torch.sigmoid(draw(4))
    weights = reference.affine_weights(p, visible, alpha, alpha_ma, normalizer)
    count = visible.sum(-1)
    length = count if normalizer == "visible" else normalizer
    expected = alpha + (alpha_ma.view(-1, 1) - alpha) * count / length
    torch.testing.assert_close(weights.sum(-1), expected, rtol=0, atol=1e-14)
    if normalizer == "visible":
        means = alpha_ma.view(1, -1, 1).expand_as(alpha)
        torch.testing.assert_close(weights.sum(-1), means, rtol=0, atol=1e-14)


@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_masked_keys_get_exactly_no_weight(denominator):
    scores, _, draw = random_attention(2)
    visible = visible_keys(scores.shape[-1])
    p = reference.probabilities(scores, visible, denominator, draw(4))
    alpha, alpha_ma = torch.sigmoid(draw(1, 4, 23)), torch.sigmoid(draw(4))
    weights = reference.affine_weights(p, visible, alpha, alpha_ma, "visible")
    assert (weights.masked_select(~visible) == 0).all()
    assert (weights.masked_select(visible) != 0).all()


@named([case for case in CASES if case.affine is not None])
def test_later_tokens_never_change_earlier_outputs(case, tiny_checkpoints):
    model, ids = (
        reference.load_model(tiny_checkpoints.folder(case)),
        tiny_checkpoint.prompt(case)[:48],
    )
    other = [*ids[:30], *((id + 7) % case.geometry.vocab for id in ids[30:])]
    one, two = reference.log_probs(model, ids), reference.log_probs(model, other)
    torch.testing.assert_close(one[:30], two[:30], rtol=0, atol=1e-9)
    assert (one[30:] - two[30:]).abs().max() > 0.1


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("affine", [None, LINEAR_VISIBLE, SIGMOID_FIXED], ids=str)
@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_full_weights_equal_the_epilogue_on_plain_attention(denominator, affine, gate):
    """DESIGN's table: softmax output, log-sum-exp and value sum are all that the family needs."""
    scores, values, draw = random_attention(3)
    heads, count, size = values.shape[1:]
    visible, sinks = visible_keys(count), 2 * draw(heads)
    x_alpha, alpha_ma = 6 * draw(1, heads, count), torch.sigmoid(draw(heads))
    x_gate = {"none": None, "headwise": draw(1, heads, count, 1)}.get(
        gate, draw(1, heads, count, size)
    )

    weights = reference.probabilities(scores, visible, denominator, sinks)
    if affine:
        alpha = reference.activation(x_alpha, affine["alpha_activation"])
        weights = reference.affine_weights(weights, visible, alpha, alpha_ma, affine["normalizer"])
    direct = weights @ values
    if x_gate is not None:
        direct = direct * torch.sigmoid(x_gate)

    masked = scores.masked_fill(~visible, -torch.inf)
    output = torch.softmax(masked, -1) @ values
    log_sum_exp = torch.logsumexp(masked, -1, keepdim=True)
    value_sum = values.cumsum(2)
    if denominator == "off_by_one":
        output = output * torch.sigmoid(log_sum_exp)
    elif denominator == "learned_sink":
        output = output * torch.sigmoid(log_sum_exp - sinks.view(-1, 1, 1))
    if affine:
        length = torch.arange(1, count + 1, dtype=torch.float64)
        if affine["normalizer"] != "visible":
            length = torch.full_like(length, affine["normalizer"])
        beta = (alpha_ma.view(-1, 1) - alpha) / length
        output = alpha.unsqueeze(-1) * output + beta.unsqueeze(-1) * value_sum
    if x_gate is not None:
        output = output * torch.sigmoid(x_gate)
    torch.testing.assert_close(direct, output, rtol=0, atol=1e-12)


def test_activations_reach_exactly_zero_and_one_where_they_should():
    x = torch.tensor([-1e9, -5.0, -2.5, 0.0, 2.5, 5.0, 1e9], dtype=torch.float64)
    clipped = reference.activation(x, "linear_clipping")
    torch.testing.assert_close(clipped, torch.tensor([0, 0, 0.25, 0.5, 0.75, 1, 1]).double())
    assert reference.activation(x, "sigmoid")[3] == 0.5
    with pytest.raises(ValueError, match="linear_clipping, sigmoid"):
        reference.activation(x, "relu")


@named([case for case in CASES if case.affine == LINEAR_VISIBLE])
def test_the_checkpoints_make_alpha_exactly_zero_one_and_in_between(case, tiny_checkpoints):
    model = reference.load_model(tiny_checkpoints.folder(case))
    reference.log_probs(model, tiny_checkpoint.prompt(case))
    layers = [layer.self_attn for layer in model.model.layers]
    alpha = torch.stack([layer.alpha(layer.layer_input) for layer in layers])
    shares = [(alpha == 0), (alpha == 1), (alpha > 0) & (alpha < 1)]
    assert all(share.double().mean() > 0.05 for share in shares)


@named(CHANGED)
def test_each_part_of_the_attention_moves_the_log_probabilities(case, tiny_checkpoints):
    """A model that forgot one part of the spec would fail the golden test by a wide margin."""
    model, ids = reference.load_model(tiny_checkpoints.folder(case)), tiny_checkpoint.prompt(case)
    right = reference.log_probs(model, ids)
    layers = [layer.self_attn for layer in model.model.layers]
    spec = layers[0].spec
    forgotten = [{"denominator": "softmax"}, {"affine": None}, {"gate": "none"}]
    if spec.affine:
        other = FIXED_NORMALIZER if spec.affine["normalizer"] == "visible" else "visible"
        forgotten.append({"affine": {**spec.affine, "normalizer": other}})
    for change in forgotten:
        wrong_spec = dataclasses.replace(spec, **change)
        if wrong_spec == spec:
            continue
        for layer in layers:
            layer.spec = wrong_spec
        wrong = reference.log_probs(model, ids)
        assert (wrong - right).abs().max() > 0.1, change


@pytest.mark.parametrize("change", ["missing", "unexpected"])
def test_a_checkpoint_with_the_wrong_tensors_is_refused(change, tmp_path):
    case = case_named("llama-softmax-affine-none")
    tiny_checkpoint.write(case, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    if change == "missing":
        config["attention"]["gate"] = "headwise"
    else:
        config["attention"]["affine"] = None
    (tmp_path / "config.json").write_text(json.dumps(config))
    name = "gate_proj" if change == "missing" else "alpha_ma"
    with pytest.raises(RuntimeError, match=f"self_attn.{name}"):
        reference.load_model(tmp_path)


@named(CASES)
def test_golden_data_regenerates_to_the_same_numbers(case, tmp_path):
    stored, made = read_record(case), make_golden.golden(case, tmp_path)
    assert stored.keys() == made.keys()
    for field in ("case", "fingerprint", "prompt", "greedy_ids"):
        assert stored[field] == made[field], field
    for field in ("logprobs", "top_logprobs", "greedy_logprobs"):
        np.testing.assert_allclose(stored[field], made[field], rtol=0, atol=1e-5, err_msg=field)
    swapped = np.array(stored["top_ids"]) != np.array(made["top_ids"])
    rounds = np.abs(np.diff(np.array(stored["top_logprobs"]), axis=1)) < 1e-5
    assert not swapped[~rounds.any(axis=1)].any(), "top_ids"


@named(CASES)
def test_float32_stays_well_inside_the_tolerance_asked_of_a_model(case, tiny_checkpoints):
    stored = read_record(case)
    model = reference.load_model(tiny_checkpoints.folder(case), torch.float32)
    rows = reference.log_probs(model, stored["prompt"])[:-1]
    values = rows.gather(1, torch.tensor(stored["prompt"][1:]).unsqueeze(1)).squeeze(1)
    assert (values - torch.tensor(stored["logprobs"])).abs().max() < 3e-5


@pytest.mark.parametrize("vocab_size", sorted({case.geometry.vocab for case in CASES}))
def test_the_tiny_tokenizer_is_one_that_tokenizers_reads(vocab_size):
    content = json.dumps(tiny_checkpoint.tokenizer_json(vocab_size))
    tokenizer = tokenizers.Tokenizer.from_str(content)
    assert tokenizer.get_vocab_size() == vocab_size
    text = "the cat and the hat: 42 ünïcode 漢字 🙂<|im_end|>"
    ids = tokenizer.encode(text).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert len(ids) < len(text.encode()) - 10  # merges were used
    assert ids[-1] == 2
