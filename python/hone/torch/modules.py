"""Layers that run Hone's kernels, and how they get into a model."""

from __future__ import annotations

import torch
from torch import nn

from . import ops

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _is_ours(first: torch.Tensor, *others: torch.Tensor | None) -> bool:
    """Whether Hone has kernels for these tensors; else PyTorch's own run."""
    return (
        first.dtype in _DTYPES
        and first.device.type in ("cuda", "cpu")
        and first.dim() >= 2
        and all(one is None or one.dtype == first.dtype for one in others)
    )


class Linear(nn.Linear):
    """nn.Linear by hone.torch.ops.linear; `activation` ("relu", "gelu", "silu") is applied by the same kernel."""

    activation = "none"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if _is_ours(x, self.weight, self.bias):
            return ops.linear(x, self.weight, self.bias, self.activation)
        y = super().forward(x)
        return y if self.activation == "none" else getattr(nn.functional, self.activation)(y)


class LayerNorm(nn.LayerNorm):
    """nn.LayerNorm over the last axis by hone.torch.ops.layernorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(self.normalized_shape) == 1 and self.weight is not None and self.bias is not None and _is_ours(x, self.weight, self.bias):
            return ops.layernorm(x, self.weight, self.bias, self.eps)
        return super().forward(x)


class RMSNorm(nn.RMSNorm):
    """nn.RMSNorm over the last axis by hone.torch.ops.rmsnorm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # Without eps it is that of the type in which the mean is computed: f32 for all of ours.
        if len(self.normalized_shape) == 1 and self.weight is not None and _is_ours(x, self.weight):
            return ops.rmsnorm(x, self.weight, torch.finfo(torch.float32).eps if self.eps is None else self.eps)
        return super().forward(x)


class Softmax(nn.Softmax):
    """nn.Softmax over the last axis by hone.torch.ops.softmax."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.dim in (-1, x.dim() - 1) and _is_ours(x):
            return ops.softmax(x)
        return super().forward(x)


_REPLACED = {nn.Linear: Linear, nn.LayerNorm: LayerNorm, nn.RMSNorm: RMSNorm, nn.Softmax: Softmax}


def replace(model: nn.Module, *, only: tuple[type, ...] = tuple(_REPLACED)) -> nn.Module:
    """Makes the model's nn.Linear, nn.LayerNorm, nn.RMSNorm and nn.Softmax run Hone's kernels, in place; returns the model.

    Parameters, hooks and names stay as they are. Subclasses of those layers are left alone, and so are those of other types than `only`.
    Tensors of other dtypes, and axes other than the last, go to PyTorch's kernels.
    """
    for module in model.modules():
        if type(module) in only and type(module) in _REPLACED:
            module.__class__ = _REPLACED[type(module)]
    return model
