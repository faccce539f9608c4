"""A plain Llama forward pass in numpy, with affine attention where the config asks for it."""

import json
from pathlib import Path

import numpy as np
from affine_convert.floats import decode
from affine_convert.safetensors_reader import read_folder


class NumpyLlama:
    """float32 throughout, no cache; for short texts."""

    def __init__(self, folder: Path):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {name: decode(t.load(), t.dtype) for name, t in read_folder(folder).items()}
        self.head_dim = self.config["head_dim"]
        self.affine = (self.config.get("attention") or {}).get("affine")

    def logits(self, tokens: list[int]) -> np.ndarray:
        """[len(tokens), vocab] for ids from position 0 on."""
        x = self.weights["model.embed_tokens.weight"][tokens]  # [t, hidden]
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            x = x + self._attention(
                self._norm(x, f"{prefix}input_layernorm"), f"{prefix}self_attn."
            )
            x = x + self._mlp(self._norm(x, f"{prefix}post_attention_layernorm"), f"{prefix}mlp.")
        head = "model.embed_tokens" if self.config["tie_word_embeddings"] else "lm_head"
        return self._norm(x, "model.norm") @ self.weights[f"{head}.weight"].T

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        mean = np.mean(x * x, axis=-1, keepdims=True)
        return (
            x
            / np.sqrt(mean + np.float32(self.config["rms_norm_eps"]))
            * self.weights[f"{name}.weight"]
        )

    def _mlp(self, x: np.ndarray, prefix: str) -> np.ndarray:
        gate = x @ self.weights[f"{prefix}gate_proj.weight"].T
        up = x @ self.weights[f"{prefix}up_proj.weight"].T
        return (gate / (1 + np.exp(-gate)) * up) @ self.weights[f"{prefix}down_proj.weight"].T

    def _rotate(self, x: np.ndarray) -> np.ndarray:
        """[heads, t, d], halves rotated against each other as Hugging Face does."""
        half = self.head_dim // 2
        frequencies = self.config["rope_theta"] ** (-np.arange(half) / half)
        angles = np.arange(x.shape[1])[:, None] * frequencies  # [t, d / 2]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        first, second = x[..., :half], x[..., half:]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    def _heads(self, x: np.ndarray, name: str) -> np.ndarray:
        """[heads, t, d]"""
        projected = x @ self.weights[f"{name}.weight"].T
        return projected.reshape(len(x), -1, self.head_dim).swapaxes(0, 1)

    def _attention(self, x: np.ndarray, prefix: str) -> np.ndarray:
        query = self._rotate(self._heads(x, f"{prefix}q_proj"))
        group = self.config["num_attention_heads"] // self.config["num_key_value_heads"]
        key = np.repeat(self._rotate(self._heads(x, f"{prefix}k_proj")), group, axis=0)
        value = np.repeat(self._heads(x, f"{prefix}v_proj"), group, axis=0)
        scores = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(self.head_dim))  # [heads, t, t]
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        output = weights @ value
        if self.affine:
            output = self._scale(output, value, x, prefix)
        return output.swapaxes(0, 1).reshape(len(x), -1) @ self.weights[f"{prefix}o_proj.weight"].T

    def _scale(
        self, output: np.ndarray, value: np.ndarray, x: np.ndarray, prefix: str
    ) -> np.ndarray:
        """alpha o + beta sum(V) over the visible keys."""
        raw = (x @ self.weights[f"{prefix}alpha_proj.weight"].T).T[..., None]  # [heads, t, 1]
        clipped = self.affine["alpha_activation"] == "linear_clipping"
        alpha = (
            np.clip(np.float32(0.1) * raw + np.float32(0.5), 0, 1)
            if clipped
            else 1 / (1 + np.exp(-raw))
        )
        visible = np.arange(1, len(x) + 1, dtype=np.float32)[:, None]
        beta = (self.weights[f"{prefix}alpha_ma"][:, None, None] - alpha) / visible
        return alpha * output + beta * value.cumsum(axis=1)
