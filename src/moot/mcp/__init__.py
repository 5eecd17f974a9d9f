"""moot as tools of an agent: the Model Context Protocol."""
