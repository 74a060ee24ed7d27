"""Write tied.pte: run by an environment of ExecuTorch 1.4.1, ``python make.py tied.pte``.

A tied embedding and head on XNNPACK: the embedding stays with the portable kernels, so that the
weight is in the program twice, once for each.

kquant.pte is the program of ``python -m bench model=kquant model.layers=2 model.width=256
model.vocab=16 commit=4753d75e2b``: one MLX delegate with named data.

parts.pte is that of ``python -m bench model=kquant-parts`` with parts of 1 layer, width 256 and
vocabs of 16, 24 and 32: three methods whose weights have the same names.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(640, 32)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return F.linear(F.embedding(tokens, self.embedding.weight), self.embedding.weight)


if __name__ == "__main__":
    torch.manual_seed(0)
    program = torch.export.export(Tied().eval(), (torch.zeros(1, 4, dtype=torch.int64),))
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    final = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=True))
    with Path(sys.argv[1]).open("wb") as file:
        final.write_to_file(file)
