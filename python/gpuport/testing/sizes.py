"""The sizes that every kernel is swept over, and why each is there."""

from typing import Final

SIZES: Final = (
    *(0, 1, 2),  # nothing, one element, one pair
    *(31, 32, 33, 63, 64, 65),  # around one warp of 32 and of 64 lanes
    *(127, 128, 129, 255, 256, 257),  # around small blocks
    *(511, 512, 513, 1023, 1024, 1025),  # around one tile of 512 elements, the largest block
    4099,  # a prime: several tiles and a ragged tail
    *(262143, 262144, 262145),  # 512 * 512, then one more: a further level of partials
)

SMALL_SIZES: Final = tuple(size for size in SIZES if size <= 4099)

# One element more than 32 bits can index signed, with a tail that is no multiple of anything.
HUGE: Final = 2**31 + 9

# What arrays are benchmarked at: from a launch's own cost to far past any cache.
BENCHMARK_SIZES: Final = tuple(2**k for k in (16, 20, 22, 24, 26, 28))

# (rows, columns) for kernels that work on rows.
ROW_SHAPES: Final = (
    *((0, 0), (0, 5), (5, 0), (1, 1)),  # no rows, no columns, neither
    *((2, 1), (33, 2), (257, 3), (65, 31), (31, 32), (33, 33)),  # rows shorter than a warp
    *((5, 63), (9, 64), (7, 65), (3, 127), (130, 129)),  # rows of one or two wide warps
    *((3, 255), (2, 257), (5, 1000), (3, 1023)),  # rows of about one tile
    *((2, 1024), (4, 1025), (3, 4099)),  # rows of several tiles
)

# More rows than a grid has blocks in y or z (65,535): a grid that maps rows there refuses or wraps.
MANY_ROWS: Final = ((65537, 3), (70001, 1))

# Few rows that are worth several blocks each.
LONG_ROWS: Final = ((3, 70001),)

# Rows of which a thread of reduce.single_pass and argmax.single_pass loads more than it does at
# once: one row, of which there is a kernel, and several.
LONG_LOADS: Final = ((4_300_013,), (100, 20_003))

# Rows side by side, reduced along the first axis: more elements than a thread, a warp and a block
# take, and rows enough for a lane each.
COLUMN_SHAPES: Final = ((70, 33), (1023, 65), (4099, 33), (70001, 17))

# The same of few elements, of which a lane takes several rows where a vector divides their number.
FEW_SHAPES: Final = (
    *((2, 264), (3, 1032), (4, 40), (3, 77), (8, 136), (9, 72)),
    *((16, 66), (16, 136), (21, 70), (32, 33)),
)

# Positions at which one element decides: the edges of warps of either width, of blocks and of the
# range.
EDGES: Final = (0, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1022, 1023)
