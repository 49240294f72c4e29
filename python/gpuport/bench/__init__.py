"""Benchmarks with receipts: what `gpuport bench`, `compare` and `traffic` are made of.

Nothing here is loaded by `import gpuport`.
"""
