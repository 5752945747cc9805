"""``python3 paranoid.py LEVEL COMMAND...``: runs a command under that kernel.perf_event_paranoid."""

import os
import sys
from pathlib import Path

Path("/proc/sys/kernel/perf_event_paranoid").write_text(sys.argv[1])
os.execvp(sys.argv[2], sys.argv[2:])
