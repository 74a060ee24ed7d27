"""Whisper as one program with two methods, ``encode`` and ``decode``.

The weights live in openai-whisper's own modules (``whisper.model.Whisper``, randomly
initialised), and the arithmetic is openai-whisper's; only what can't be exported or delegated is
written anew: the log-mel front end (no FFT on the backends), attention and its key/value cache
(theirs is made of forward hooks) and the dtype casts. ``tests/integration`` checks the agreement.

The batch is always one and left out inside a method: with it, every linear exports as a linear
between two copies that XNNPACK does not take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn
from whisper.model import (
    AudioEncoder,
    ModelDimensions,
    MultiHeadAttention,
    TextDecoder,
    Whisper,
)

from et_worker.inputs import WHISPER_MIN_SAMPLES
from et_worker.models import Method
from et_worker.models.log_mel import LogMel
from et_worker.models.storage import frozen, store_weights

_DIMENSIONS = tuple(ModelDimensions.__dataclass_fields__)


class CachedSelfAttention(nn.Module):  # type: ignore[misc]
    """The decoder's self-attention over a static key/value cache of ``length`` positions."""

    def __init__(self, attention: MultiHeadAttention, length: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.attention = attention
        head = attention.query.out_features // attention.n_head
        empty = torch.zeros(attention.n_head, length, head, dtype=dtype)
        self.register_buffer("keys", empty.clone(), persistent=False)
        self.register_buffer("values", empty.clone(), persistent=False)

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Attend from ``x`` ``[T, D]`` at ``positions`` ``[T]``; ``mask`` is ``[T, length]``."""
        attention, heads = self.attention, self.attention.n_head
        self.keys.index_copy_(1, positions, _split(attention.key(x), heads))
        self.values.index_copy_(1, positions, _split(attention.value(x), heads))
        query = _split(attention.query(x), heads)
        return _attend(attention, query, self.keys, self.values, mask)


class Encode(nn.Module):  # type: ignore[misc]
    """The audio encoder from the waveform on."""

    def __init__(self, encoder: AudioEncoder, n_mels: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.log_mel = LogMel(n_mels)
        self.encoder = encoder
        self.dtype = dtype

    def forward(self, waveform: Tensor) -> Tensor:
        """Map f32 ``[n]`` to f32 ``[1, 1500, n_audio_state]``."""
        encoder = self.encoder
        x = self.log_mel(waveform).to(self.dtype)
        x = F.gelu(encoder.conv1(x))
        x = F.gelu(encoder.conv2(x))
        x = x.view(x.shape[1:]).T + encoder.positional_embedding
        for block in encoder.blocks:
            normal = block.attn_ln(x)
            x = x + _attend_to(block.attn, normal, normal)
            x = x + block.mlp(block.mlp_ln(x))
        x = encoder.ln_post(x).float()
        return x.view(1, *x.shape)


class Decode(nn.Module):  # type: ignore[misc]
    """The text decoder with its cache inside; cross-attention is projected anew at every call."""

    def __init__(self, decoder: TextDecoder, max_tokens: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.decoder = decoder
        self.dtype = dtype
        self.cached = nn.ModuleList(
            CachedSelfAttention(block.attn, max_tokens, dtype) for block in decoder.blocks
        )
        self.register_buffer("slots", torch.arange(max_tokens), persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor, encoded: Tensor) -> Tensor:
        """Map i64 ``[1, T]``, i64 ``[T]``, f32 ``[1, 1500, D]`` to f32 logits ``[1, T, n_vocab]``.

        ``positions`` are absolute and below ``max_tokens``; earlier positions must have been fed.
        """
        decoder = self.decoder
        source = encoded.view(encoded.shape[1:]).to(self.dtype)
        x = decoder.token_embedding(tokens.squeeze(0))
        x = x + F.embedding(positions, decoder.positional_embedding)
        seen = self.slots[None, :] <= positions[:, None]
        mask = torch.where(seen, 0.0, float("-inf")).to(self.dtype)
        for block, cached in zip(decoder.blocks, self.cached, strict=True):
            x = x + cached(block.attn_ln(x), positions, mask)
            x = x + _attend_to(block.cross_attn, block.cross_attn_ln(x), source)
            x = x + block.mlp(block.mlp_ln(x))
        x = decoder.ln(x).unsqueeze(0)  # here, not after: the logits are 26 MB
        return F.linear(x, decoder.token_embedding.weight.to(self.dtype)).float()


def build(request: Mapping[str, Any]) -> dict[str, Method]:
    """Return ``encode`` and ``decode``; see :class:`et_worker.models.Family`.

    ``samples`` bounds the waveform, ``max_tokens`` the tokens of a call and the cache. Memory is
    planned for the bounds.
    """
    precision = request["precision"]
    stored = getattr(torch, precision["weights"])
    computed = getattr(torch, precision["compute"])
    model = random_model(request["model"], request["seed"])
    store_weights(model, stored, computed)
    encoder, decoder = model.encoder, model.decoder  # their norms are float32 always, as openai's
    encoder.positional_embedding = encoder.positional_embedding.to(computed)
    decoder.positional_embedding = frozen(decoder.positional_embedding, computed)
    decoder.mask = None  # 0.8 MB that only their forward reads, but any export would carry
    encode = Encode(encoder, model.dims.n_mels, computed).eval()
    decode = Decode(decoder, request["max_tokens"], computed).eval()
    samples, max_tokens = request["samples"], request["max_tokens"]
    return {
        "encode": Method(
            encode,
            (torch.zeros(samples),),
            {"waveform": _dynamic(0, "samples", WHISPER_MIN_SAMPLES, samples)},
        ),
        "decode": Method(
            decode,
            (
                torch.zeros(1, min(2, max_tokens), dtype=torch.int64),
                torch.arange(min(2, max_tokens)),
                torch.zeros(1, model.dims.n_audio_ctx, model.dims.n_audio_state),
            ),
            {
                "tokens": _dynamic(1, "tokens", 1, max_tokens),
                "positions": _dynamic(0, "tokens", 1, max_tokens),
                "encoded": None,
            },
        ),
    }


def random_model(dims: Mapping[str, Any], seed: int) -> Whisper:
    """Return openai-whisper's model in float32 with weights made from ``seed``.

    Args:
        dims: has the fields of ``whisper.model.ModelDimensions``, and may have others.
        seed: of torch's global generator, which the initialisers draw from.

    """
    torch.manual_seed(seed)
    model = Whisper(ModelDimensions(**{name: dims[name] for name in _DIMENSIONS})).eval()
    with torch.no_grad():  # the one parameter that openai leaves uninitialised
        model.decoder.positional_embedding.normal_(std=0.02)
    return model.requires_grad_(False)


def _dynamic(axis: int, name: str, low: int, high: int) -> dict[int, Any] | None:
    """Return the dynamic shape of one axis; None if there is but one size."""
    return {axis: torch.export.Dim(name, min=low, max=high)} if low < high else None


def _attend_to(attention: MultiHeadAttention, x: Tensor, source: Tensor) -> Tensor:
    """Attend from ``x`` ``[T, D]`` to all of ``source`` ``[S, D]``."""
    heads = attention.n_head
    return _attend(
        attention,
        _split(attention.query(x), heads),
        _split(attention.key(source), heads),
        _split(attention.value(source), heads),
    )


def _attend(
    attention: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Attend and project: openai's arithmetic, softmax in float32.

    Heads are the batch of plain three-dimensional products: a broadcasting ``matmul`` exports as
    copies of its operands, the 1500 x 1500 scores of every head among them.

    Args:
        attention: whose ``out`` projects the result.
        query: ``[heads, T, d]``.
        key: ``[heads, S, d]``.
        value: ``[heads, S, d]``.
        mask: ``[T, S]``, added to the scores.

    Returns:
        ``[T, heads * d]``.

    """
    scale = query.shape[-1] ** -0.25
    scores = torch.bmm(query * scale, (key * scale).transpose(1, 2))
    if mask is not None:
        scores = scores + mask
    weights = F.softmax(scores.float(), dim=-1).to(query.dtype)
    mixed = torch.bmm(weights, value).transpose(0, 1)
    return attention.out(mixed.flatten(1))


def _split(x: Tensor, heads: int) -> Tensor:
    """``[T, D]`` to ``[heads, T, D / heads]``."""
    return x.view(-1, heads, x.shape[-1] // heads).transpose(0, 1)
