"""The pure part: same input, same answer. No I/O, no clock, no randomness."""
