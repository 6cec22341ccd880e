"""Hone's winners beside PyTorch, torch.compile and cuBLAS, in one process; see bench/vendor.py."""
