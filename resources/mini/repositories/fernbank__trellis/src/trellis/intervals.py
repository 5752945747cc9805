"""Closed intervals on a line, as pairs (start, end)."""


def merge(intervals):
    """The union of the intervals: a sorted list of disjoint ones."""
    merged = []
    for start, end in intervals:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def total_length(intervals):
    """How much of the line the intervals cover."""
    return sum(end - start for start, end in merge(intervals))


def gaps(intervals):
    """What lies between the merged intervals."""
    merged = merge(intervals)
    return [(left[1], right[0]) for left, right in zip(merged, merged[1:])]


def contains(intervals, point):
    """Whether a point lies in one of the intervals."""
    return any(start <= point <= end for start, end in intervals)
