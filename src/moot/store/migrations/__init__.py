"""Schema changes, in order. From an old file nothing is lost."""
