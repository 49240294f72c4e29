"""Packages of kernels by others: where their builds find gpuport, and which module runs."""

from __future__ import annotations

from gpuport.packages.folders import cmake_dir, include_dir, show_folder
from gpuport.packages.selection import Selection, select

__all__ = ["Selection", "cmake_dir", "include_dir", "select", "show_folder"]
