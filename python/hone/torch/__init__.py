"""Hone in PyTorch: `hone.torch.ops` has operators that torch.compile, autograd and CUDA graphs take; `hone.torch.replace` puts them into a
model; `hone.torch.trace` records what a model launches, for `hone tune --workload`.

docs/pytorch.md describes them.
"""

from . import ops
from .modules import LayerNorm, Linear, RMSNorm, Softmax, replace
from .tracing import Workload, trace

__all__ = ["LayerNorm", "Linear", "RMSNorm", "Softmax", "Workload", "ops", "replace", "trace"]
