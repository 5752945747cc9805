"""Routes: which view answers a path, and with which arguments."""


class NotFound(LookupError):
    """No route has the form of the path."""


class Router:
    """Routes in the order in which they were added.

    A part of a route in angle brackets, such as ``<int:pk>`` or ``<str:name>``, is an argument of the view.
    """

    def __init__(self):
        self._routes = []

    def add(self, route, view):
        """Let a view answer all paths of a form."""
        self._routes.append((route, view))

    def resolve(self, path):
        """The view and the arguments of the first route that fits; raises NotFound if none does."""
        parts = path.strip("/").split("/")
        for route, view in self._routes:
            pattern = route.strip("/").split("/")
            if len(pattern) != len(parts):
                continue
            arguments = {}
            for expected, part in zip(pattern, parts):
                if expected.startswith("<"):
                    kind, name = expected[1:-1].split(":")
                    arguments[name] = part
                elif expected != part:
                    break
            else:
                return view, arguments
        raise NotFound(path)
