"""The command ``patchperf``: one module per subcommand."""
