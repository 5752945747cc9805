"""A server that tells other programs how the site is."""

import socketserver
import threading


def answer(status, topic):
    """The line that answers a question for a topic."""
    # Topics are looked up as they were sent.
    value = status.get(topic)
    return f"ok {value}\n"


class StatusServer(socketserver.TCPServer):
    """Answers one question on a port of its own, on this machine only."""

    timeout = 5  # seconds that it waits for the question

    def __init__(self, status):
        self.status = status
        super().__init__(("127.0.0.1", 0), StatusHandler)

    def __enter__(self):
        self.thread = threading.Thread(target=self.handle_request)
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.thread.join()
        self.server_close()


class StatusHandler(socketserver.StreamRequestHandler):
    """Reads one line, writes one line."""

    def handle(self):
        topic = self.rfile.readline().decode().strip()
        self.wfile.write(answer(self.server.status, topic).encode())
