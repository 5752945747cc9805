"""Records of plain text, one field a line, with an empty line between two records."""


def parse(text):
    """The records of a text as dictionaries."""
    records = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line]
        if lines:
            records.append(dict(line.split(": ", 1) for line in lines))
    return records


def load(path):
    """The records of a file."""
    with open(path, encoding="utf-8", newline="") as stream:
        return parse(stream.read())
