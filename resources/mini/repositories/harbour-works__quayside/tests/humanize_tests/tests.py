import unittest

from quayside.humanize import intcomma, ordinal


class IntcommaTests(unittest.TestCase):
    def test_small_numbers(self):
        for value in (0, 7, 42, 999):
            self.assertEqual(intcomma(value), str(value))

    def test_large_numbers(self):
        self.assertEqual(intcomma(1000), "1,000")
        self.assertEqual(intcomma(12345678), "12,345,678")

    def test_full_groups(self):
        self.assertEqual(intcomma(123456), "123,456")


class OrdinalTests(unittest.TestCase):
    def test_ends(self):
        self.assertEqual([ordinal(n) for n in (1, 2, 3, 4)], ["1st", "2nd", "3rd", "4th"])

    def test_teens(self):
        self.assertEqual([ordinal(n) for n in (11, 12, 13, 111)], ["11th", "12th", "13th", "111th"])
