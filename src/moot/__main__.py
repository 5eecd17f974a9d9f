"""`python -m moot` is `moot`."""

from moot.cli.main import main

main()
