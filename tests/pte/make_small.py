"""How ``small.pte`` beside this was made, by ExecuTorch 1.4.1: python tests/pte/make_small.py."""

from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch.export import Dim, export


class Encode(torch.nn.Module):
    """A convolution: one delegate, a tensor of one size."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)

    def forward(self, image):
        return self.conv(image).relu()


class LookUp(torch.nn.Module):
    """An embedding: kernels, a dynamic size, plain values in and out, a logarithm of noise."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 4)

    def forward(self, ids, flag: bool, factor: int):
        return self.embedding(ids).log() * factor, ids.shape[0], ids > 3


torch.manual_seed(0)
image, ids = torch.randn(1, 3, 32, 32), torch.arange(5)
sizes = {"ids": {0: Dim("n", min=1, max=9)}, "flag": None, "factor": None}
programs = {
    "encode": export(Encode().eval(), (image,)),
    "look_up": export(LookUp().eval(), (ids, True, 3), dynamic_shapes=sizes),
}
edge = to_edge_transform_and_lower(programs, partitioner=[XnnpackPartitioner()])
edge.to_executorch().save(str(Path(__file__).with_name("small.pte")))
