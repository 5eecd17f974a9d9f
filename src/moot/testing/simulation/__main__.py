"""`python -m moot.testing.simulation SEED…`, or `--seeds 10000 --jobs 2`."""

from moot.testing.simulation.runner import main

main()
