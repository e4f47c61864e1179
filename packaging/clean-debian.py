"""Loads a frame as a user of the wheel would; packaging/test.sh runs it."""

import polars

import inrush

frame = polars.DataFrame({"id": range(1000), "name": [f"name {n}" for n in range(1000)]})
report = inrush.load(frame, into="demo.frames", create=True)
assert report.rows == 1000, report
print("loaded", report.rows, "rows of a frame")
