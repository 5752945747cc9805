"""Text through other programs."""

import subprocess


def through(command, text):
    """What a command prints when it is given the text; raises CalledProcessError if it fails."""
    done = subprocess.run(command, input=text.encode("ascii", "replace"), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("ascii", "replace")


def quoted(command):
    """A command as one line for people to read."""
    return " ".join(repr(word) if " " in word else word for word in command)
