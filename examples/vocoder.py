"""A vocoder: a mel spectrogram of any length to a waveform, by transposed convolutions.

    nox -s bench -- model=script script=examples/vocoder.py backend=xnnpack

The file is a script of et-peak. ``METHODS`` names its methods (``forward`` without it), and
``build`` returns for each a dict of

* ``module``: a ``torch.nn.Module``;
* ``inputs``: a tuple of example tensors, best of the largest sizes. From 64 frames, lowering to
  XNNPACK narrows this model's 4 to 512 frames to 160 at the most, and the program refuses more;
* ``dynamic_shapes``, where sizes vary: as ``torch.export.export`` takes it, each with a maximum.

A method is run with inputs of the largest sizes: normal values by the seed, integers from 0 to the
largest of the example. Weights may be random, as here: memory does not depend on their values.
"""

import torch
from torch import Tensor, nn

METHODS = ["vocode"]
MELS, CHANNELS, FRAMES = 80, 128, 512
UPSAMPLING = (8, 8, 4)  # samples per frame: 256


class Residual(nn.Module):
    """Two convolutions of growing reach, added to what came in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.near = nn.Conv1d(channels, channels, 3, padding=1)
        self.far = nn.Conv1d(channels, channels, 3, padding=3, dilation=3)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``[1, channels, T]`` to the same shape."""
        return x + self.far(torch.relu(self.near(torch.relu(x))))


class Vocoder(nn.Module):
    """Upsampling by transposed convolutions, each followed by a residual block."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv1d(MELS, CHANNELS, 7, padding=3)]
        channels = CHANNELS
        for factor in UPSAMPLING:
            layers += [
                nn.ReLU(),
                nn.ConvTranspose1d(channels, channels // 2, 2 * factor, factor, factor // 2),
                Residual(channels // 2),
            ]
            channels //= 2
        layers += [nn.ReLU(), nn.Conv1d(channels, 1, 7, padding=3), nn.Tanh()]
        self.layers = nn.Sequential(*layers)

    def forward(self, mel: Tensor) -> Tensor:
        """Map f32 ``[1, 80, frames]`` to f32 ``[1, 1, 256 * frames]``."""
        return self.layers(mel)


def build(seed: int) -> dict[str, dict[str, object]]:
    """Return the methods, weights made from ``seed``."""
    torch.manual_seed(seed)
    frames = torch.export.Dim("frames", min=4, max=FRAMES)
    return {
        "vocode": {
            "module": Vocoder(),
            "inputs": (torch.zeros(1, MELS, FRAMES),),
            "dynamic_shapes": {"mel": {2: frames}},
        }
    }
