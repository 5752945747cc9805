"""Words and how near they are to each other."""


def initials(name):
    """The first letters of the words of a name."""
    return "".join(word[0].upper() for word in name.split())


def edit_distance(a, b):
    """How many single-letter edits turn one word into the other."""
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            if x == y:
                current.append(previous[j - 1])
            else:
                current.append(1 + min(previous[j], current[j - 1]))
        previous = current
    return previous[-1]


def closest(word, candidates):
    """The candidate with the smallest edit distance; the first one of several."""
    return min(candidates, key=lambda candidate: edit_distance(word, candidate))
