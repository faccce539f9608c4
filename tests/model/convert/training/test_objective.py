"""What training minimises."""

import pytest
import torch
import torch.nn.functional as functional
from affine_convert.training.decoder import Decoder
from affine_convert.training.decoder_weights import load_weights
from affine_convert.training.objective import Objective


@pytest.fixture
def student(checkpoint):
    return Decoder(*load_weights(checkpoint("llama-softmax-affine-none")), torch.float32, 16)


@pytest.fixture
def teacher(student):
    weights = {
        n: w * 1.1 if "lm_head" in n or "embed" in n else w for n, w in student.weights.items()
    }
    return Decoder(student.config, weights, torch.float32, 16)


@pytest.fixture
def windows():
    return torch.randint(0, 300, (3, 13), generator=torch.Generator().manual_seed(5))


def log_probs(decoder, windows):
    return torch.log_softmax(decoder.logits(decoder.hidden(windows[:, :-1])), -1)


def test_next_token_is_the_mean_surprise_of_the_text(student, windows):
    picked = log_probs(student, windows).gather(2, windows[:, 1:, None])
    torch.testing.assert_close(Objective().loss(student, None, windows), -picked.mean())


def test_distillation_is_the_divergence_from_the_teacher(student, teacher, windows):
    wanted, got = log_probs(teacher, windows), log_probs(student, windows)
    away = (wanted.exp() * (wanted - got)).sum(-1).mean()
    found = Objective(1.0).loss(student, teacher, windows)
    assert away > 1e-4
    torch.testing.assert_close(found, away, rtol=1e-4, atol=1e-6)


def test_a_student_that_is_its_teacher_has_nothing_to_learn(student, windows):
    assert Objective(1.0).loss(student, student, windows).abs() < 1e-6


def test_a_mixture_is_the_weighted_sum_of_both(student, teacher, windows):
    text, taught, both = (Objective(x).loss(student, teacher, windows) for x in (0.0, 1.0, 0.25))
    torch.testing.assert_close(both, 0.75 * text + 0.25 * taught)


def test_gradients_reach_alpha_in_every_layer(student, windows):
    projections = [w for n, w in student.weights.items() if "alpha_proj" in n]
    for weight in projections:
        weight.requires_grad_(True)
    Objective().loss(student, None, windows).backward()
    assert len(projections) == student.config.layers
    assert all(functional.normalize(w.grad.flatten(), dim=0).norm() > 0.99 for w in projections)
