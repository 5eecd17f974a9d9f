"""What moot promises of its speed and size, measured beside the floor and a peer in one run."""
