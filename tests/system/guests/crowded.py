"""One measured body that loses its counter on the way: ``python3 crowded.py NAME STEPS``."""

import subprocess
import sys

import steps as known

name, steps = sys.argv[1], int(sys.argv[2])
occupant = subprocess.Popen([sys.executable, "occupant.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def while_counters_are_taken():
    ask(b"take")
    known.take_steps(steps)
    ask(b"give")


def in_a_child_while_counters_are_taken():
    known.in_a_child(while_counters_are_taken)


def ask(what):
    occupant.stdin.write(what + b"\n")
    occupant.stdin.flush()
    occupant.stdout.readline()


known.measure(globals()[name])
