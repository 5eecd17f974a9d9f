"""The protocols: what the engine needs of the world, and Moot, the single entry point."""
