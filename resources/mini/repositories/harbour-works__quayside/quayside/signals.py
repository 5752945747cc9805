"""Signals: what one part of a site tells another."""


class AlreadyConnected(ValueError):
    """A signal has one receiver."""


class Hub:
    """The receivers of a site's signals."""

    def __init__(self):
        self._receivers = {}

    def connect(self, signal, receiver):
        """Call a function whenever the signal is sent; raises AlreadyConnected if there is one already."""
        if signal in self._receivers:
            raise AlreadyConnected(signal)
        self._receivers[signal] = receiver

    def send(self, signal, **values):
        """What the receiver of the signal returns; None if nobody listens."""
        receiver = self._receivers.get(signal)
        if receiver is not None:
            return receiver(values)


hub = Hub()
