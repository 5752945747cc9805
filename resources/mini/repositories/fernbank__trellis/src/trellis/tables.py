"""Tables of text as comma-separated files."""


def format_row(cells):
    """One line of the file, without its end."""
    return ",".join(cells)


def save(rows, path):
    """Write the rows to a new file; raises FileExistsError rather than replace one."""
    with open(path, "x", encoding="utf-8", newline="") as stream:
        for cells in rows:
            stream.write(format_row(cells) + "\r\n")
