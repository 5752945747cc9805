"""One measured body that takes known steps: ``python3 bodies.py NAME STEPS``."""

import sys
import threading

import steps as known

name, steps = sys.argv[1], int(sys.argv[2])


def alone():
    known.take_steps(steps)


def in_a_new_thread():
    thread = threading.Thread(target=alone)
    thread.start()
    thread.join()


def in_an_older_thread():
    asked.release()
    answered.acquire()


def serve():
    while True:
        asked.acquire()
        alone()
        answered.release()


def in_a_child():
    known.in_a_child(alone)


def python():
    for _ in range(steps):
        pass


if name == "in_an_older_thread":
    asked, answered = threading.Semaphore(0), threading.Semaphore(0)
    threading.Thread(target=serve, daemon=True).start()
known.measure(globals()[name])
