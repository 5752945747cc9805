import unittest

from quayside.signals import AlreadyConnected, Hub


class HubTests(unittest.TestCase):
    def test_nobody_listens(self):
        self.assertIsNone(Hub().send("docked", ship="aurora"))

    def test_receiver_gets_values(self):
        hub = Hub()
        hub.connect("docked", lambda values: values["ship"])
        self.assertEqual(hub.send("docked", ship="aurora"), "aurora")

    def test_one_receiver(self):
        hub = Hub()
        hub.connect("docked", len)
        with self.assertRaises(AlreadyConnected):
            hub.connect("docked", len)
