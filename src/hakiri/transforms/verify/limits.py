"""How large a plan may be, and how much of anything one of its numbers may ask for.

The limits hold for what the plan itself says. How much a join, a regular expression or a string that is
doubled again and again makes of the rows it meets is not written in a plan: that is bounded by the memory
and the time that the engine gives a run.
"""

from __future__ import annotations

# Messages inside messages; one step of a DataFrame is two. Reading JSON takes a few frames of Python's stack
# for each, and Spark's own server stops at 1024.
DEEPEST_PLAN = 200
DEEPEST_TYPE = 50
MOST_NODES = 100_000
MOST_RELATIONS = 2_000  # Spark plans them all before the first row
LARGEST_PLAN_BYTES = 8 * 1024 * 1024
LONGEST_TEXT_BYTES = 100_000
DEEPEST_SUBQUERY = 8

MOST_ELEMENTS = 100_000  # letters or elements that a number in the plan asks for
MOST_REPEATS = 10_000  # of a value that may itself be large
MOST_DIGITS = 1_000  # after the point: Spark computes them all, however many are asked for
WIDEST_FORMAT = 1_000
MOST_GROWTH = 1_000_000  # all that multiplies, multiplied, on one way through the plan
MOST_COLUMNS_OF_ONE = 1_024  # of each column that a `*` stands for
MOST_OVERLAPS = 500  # of sliding windows: Spark plans every one of them

MOST_PARTITIONS = 2_000
MOST_PIVOT_VALUES = 1_000
MOST_PIVOT_COLUMNS = 10_000
MOST_UNPIVOTED = 100_000  # values times the columns that go with each
MOST_CUBE_COLUMNS = 8  # a cube of n columns is 2**n groupings, all planned before the first row
MOST_GROUPINGS = 256

LEAST_RELATIVE_ERROR = 0.01  # Spark's state at 0.001 is some 200,000 columns: enough to end the server
LEAST_SKETCH_ERROR = 0.0001
MOST_SKETCH_CONFIDENCE = 0.9999
MOST_ACCURACY = 1_000_000
LARGEST_SKETCH_LOG2 = 21
MOST_BINS = 10_000
