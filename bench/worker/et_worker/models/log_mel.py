"""Whisper's log-mel front end in operators that every backend has."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from torch import Tensor, nn
from whisper.audio import HOP_LENGTH, N_FFT, N_SAMPLES, mel_filters


class LogMel(nn.Module):  # type: ignore[misc]
    """``whisper.audio.log_mel_spectrogram(pad_or_trim(waveform))`` in exportable operators.

    The short-time Fourier transform is one real convolution with the windowed cosines and sines:
    MLX and XNNPACK have no FFT.
    """

    def __init__(self, n_mels: int) -> None:
        super().__init__()
        # Row n of the transform of diag(window) is the spectrum of the window at sample n alone.
        spectrum = torch.fft.rfft(torch.diag(torch.hann_window(N_FFT)))
        basis = torch.cat([spectrum.real, spectrum.imag], dim=1).T
        self.register_buffer("basis", basis.unsqueeze(1).contiguous())  # [2 * 201, 1, 400]
        self.register_buffer("filters", mel_filters("cpu", n_mels).clone())  # [n_mels, 201]
        # torch.stft reflects half a window at each end, without repeating the edge sample.
        # Gathered, as not every backend has a reflecting pad or a flip.
        half = N_FFT // 2
        self.register_buffer("before", torch.arange(half, 0, -1))
        self.register_buffer("after", torch.arange(N_SAMPLES - 2, N_SAMPLES - 2 - half, -1))

    def forward(self, waveform: Tensor) -> Tensor:
        """Map f32 ``[n]``, n <= 480000 (30 s at 16 kHz), to f32 ``[1, n_mels, 3000]``."""
        x = F.pad(waveform, (0, N_SAMPLES - waveform.shape[0]))
        x = torch.cat([x.index_select(0, self.before), x, x.index_select(0, self.after)])
        x = F.conv1d(x.view(1, 1, N_SAMPLES + N_FFT), self.basis, stride=HOP_LENGTH)
        x = x[:, :, :-1]  # whisper drops the last frame
        power = (x * x).view(2, N_FFT // 2 + 1, -1).sum(0)
        mel = F.linear(power.T, self.filters)  # delegated, where filters @ power is not
        log = torch.clamp(mel, min=1e-10).log10()
        log = torch.maximum(log, log.max() - 8.0)
        return ((log + 4.0) / 4.0).T.unsqueeze(0)
