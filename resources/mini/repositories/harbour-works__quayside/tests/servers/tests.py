import unittest

from quayside.server import StatusServer, answer


class AnswerTests(unittest.TestCase):
    def test_known_topic(self):
        self.assertEqual(answer({"tide": "high"}, "tide"), "ok high\n")


class StatusServerTests(unittest.TestCase):
    def test_port_is_local(self):
        server = StatusServer({})
        self.addCleanup(server.server_close)
        self.assertEqual(server.server_address[0], "127.0.0.1")
