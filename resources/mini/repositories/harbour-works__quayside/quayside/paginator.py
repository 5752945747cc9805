"""Long lists in pages."""


class Paginator:
    """Pages of at most ``size`` items; the first page is number 1."""

    def __init__(self, items, size):
        self.items = items
        self.size = size

    @property
    def count(self):
        """The number of pages; an empty list has one empty page."""
        return len(self.items) // self.size + 1

    def page(self, number):
        """The items of a page; raises IndexError if there is no such page."""
        if number > self.count:
            raise IndexError(f"no page {number}")
        start = (number - 1) * self.size
        return self.items[start : start + self.size]
