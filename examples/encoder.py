"""A small transformer encoder over tokens of any number.

    nox -s bench -- model=script script=examples/encoder.py precision=fp32,int8 backend=xnnpack

See vocoder.py for what a script is. This one has the one method ``forward``, so no ``METHODS``.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn

WORDS, WIDTH, HEADS, LAYERS, LONGEST = 4000, 256, 4, 2, 256


class Block(nn.Module):
    """Self-attention and a feed-forward network, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mixed = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[T, WIDTH]`` to the same shape."""
        heads = self.mixed(self.first(x)).view(-1, 3, HEADS, WIDTH // HEADS)
        query, key, value = heads.permute(1, 2, 0, 3).unbind(0)  # [HEADS, T, WIDTH / HEADS] each
        scores = torch.bmm(query, key.transpose(1, 2)) * (WIDTH // HEADS) ** -0.5
        mixed = torch.bmm(F.softmax(scores, dim=-1), value)
        x = x + self.out(mixed.transpose(0, 1).flatten(1))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


class Encoder(nn.Module):
    """Token and position embeddings, blocks, a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Map i64 ``[T]`` and i64 ``[T]`` to f32 ``[T, WIDTH]``."""
        x = self.words(tokens) + self.places(positions)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def build(seed: int) -> dict[str, dict[str, object]]:
    """Return the methods, weights made from ``seed``."""
    torch.manual_seed(seed)
    tokens = torch.arange(WORDS - 16, WORDS)  # the largest index says how far a run may draw
    positions = torch.arange(LONGEST - 16, LONGEST)
    length = torch.export.Dim("length", min=2, max=LONGEST)
    return {
        "forward": {
            "module": Encoder(),
            "inputs": (tokens, positions),
            "dynamic_shapes": {"tokens": {0: length}, "positions": {0: length}},
        }
    }
