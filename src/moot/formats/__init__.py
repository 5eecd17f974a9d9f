"""The built-in formats, one data file each."""
