import unittest

from quayside.urls import NotFound, Router


class ResolverTests(unittest.TestCase):
    def setUp(self):
        self.router = Router()
        self.router.add("berths/", "berths")
        self.router.add("berths/<int:pk>/", "berth")
        self.router.add("ships/<str:name>/crew/", "crew")

    def test_fixed_route(self):
        self.assertEqual(self.router.resolve("/berths/"), ("berths", {}))

    def test_text_argument(self):
        self.assertEqual(self.router.resolve("/ships/aurora/crew/"), ("crew", {"name": "aurora"}))

    def test_first_route_wins(self):
        self.router.add("berths/<str:name>/", "named berth")
        self.assertEqual(self.router.resolve("/berths/7/")[0], "berth")

    def test_unknown_path(self):
        """A path without a route raises NotFound."""
        with self.assertRaises(NotFound):
            self.router.resolve("/cargo/")

    def test_longer_path(self):
        with self.assertRaises(NotFound):
            self.router.resolve("/berths/7/tides/")
