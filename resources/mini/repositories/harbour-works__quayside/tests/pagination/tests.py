import unittest

from quayside.paginator import Paginator


class PaginatorTests(unittest.TestCase):
    def test_last_page_is_shorter(self):
        self.assertEqual(Paginator("abcde", 2).page(3), "e")

    def test_count_of_a_list_that_ends_within_a_page(self):
        self.assertEqual(Paginator("abcde", 2).count, 3)

    def test_empty_list_has_an_empty_page(self):
        self.assertEqual(Paginator("", 2).page(1), "")

    def test_no_page_after_the_last(self):
        with self.assertRaises(IndexError):
            Paginator("abcde", 2).page(4)
