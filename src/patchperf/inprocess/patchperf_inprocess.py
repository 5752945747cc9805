"""Runs inside the measured Python: repeats one test function and writes down everything it knows of itself.

``measured`` goes outermost on the test function. ``spec.json`` beside this file says what to do when it is called:

    mode       "probe", "lines", "forked", "trial", "calibrate" or "replicate"
    warmup     calls before anything else, in a plain loop
    out        file to which one JSON line is appended when all is done
    token      echoed in the line (optional)
    socket     name of a socket beside ``out`` to connect to when done (optional): so the kernel tells the other side
               which process this is, in its own numbering
    attended   whether somebody answers there, having looked at this process: wait for that (optional)
    marker     probe, lines: what the two marker lines carry, see ``_mark``
    progress   probe, lines: file that becomes one byte longer before each call (optional)
    calls      forked: how many calls to make, each in a child process of its own
    trial_seconds              trial, calibrate: batches double until one takes this long
    min_seconds, max_seconds   calibrate: the window of the loop
    repetitions                replicate: length of the loop
    collector                  trial, calibrate, replicate: what becomes of the garbage collector after the warm-up,
                               "collected" (once, right away), "off" (collected, and off from there on), anything else
                               leaves it as it is (optional)
    counter, counter_folder    replicate: "none", "perf", "cirron", or under an emulator its name, "qemu" or
                               "callgrind"; and the folder cirron was prepared in

Where the decorator stands: outermost, so that a repetition is all that a call of the test is, with what the decorators
below do each time (patches, overridden settings, skips that are decided late). Marks and attributes are copied up, the
signature stays that of the test.

This one file is copied next to whatever Python a project needs: Python 3.5 syntax, standard library only. What it
needs of ``os`` and ``time`` is taken at import and kept in a class, because test suites fake clocks and file systems by
replacing what they find in modules.
"""

# ruff: noqa: E402  (the clock starts before the other imports)
import time

_IMPORT_STARTED = time.perf_counter()

import _thread
import errno
import fcntl
import functools
import gc
import inspect
import itertools
import json
import keyword
import math
import operator
import os
import resource
import struct
import sys
import types
import zlib

FORMAT = 1
TEXT_LIMIT = 300
ARGUMENT_LIMIT = 200
CALIBRATION_PART = 4
LINE_MARKS = 100000
ATTENDED_SECONDS = 60
WRAPPER = "<patchperf call>"


class _System:
    close = os.close
    dumps = json.dumps
    environ = os.environ
    exit = os._exit
    fork = os.fork
    getpid = os.getpid
    ioctl = fcntl.ioctl
    listdir = os.listdir
    open = os.open
    pwrite = os.pwrite
    read = os.read
    write = os.write
    usage = resource.getrusage
    wait = os.waitpid
    seconds = time.perf_counter
    thread = _thread.get_ident
    if hasattr(time, "perf_counter_ns"):
        clock, clock_name, clock_unit = time.perf_counter_ns, "perf_counter_ns", 1
    else:
        clock, clock_name, clock_unit = time.perf_counter, "perf_counter", 1000000000


_invocations = itertools.count(1)


def measured(function):
    """Make a test function run the mode of ``spec.json`` when it is called; signature and attributes stay its own.

    Coroutine functions stay coroutine functions. Refused with TypeError and a record are a generator test, and a plain
    function that returns something still to be awaited, since calling them runs nothing, and a hypothesis test, since
    each call runs it with many examples, other ones each time; also any test that a tracer or profiler watches (a
    measurement of coverage, say), since its time would be measured too. Whatever the body raises is recorded and raised
    unchanged; the value returned is the last call's. What is not callable (a decorator that makes tests under other
    names may leave None) stays as it is.
    """
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(measured(function.__func__))
    if not callable(function):
        return function
    spec = _load_spec()
    refusal = _refusal(function)

    if refusal is not None:

        def call(*args, **kwargs):
            with _Run(spec, function):
                raise refusal

    elif inspect.iscoroutinefunction(function):

        async def call(*args, **kwargs):
            value = None
            with _Run(spec, function) as run:
                loops, arguments = run.compile("async def", "await function", args, kwargs)
                for step in run.steps():
                    _refuse_watchers()
                    step.begin()
                    taken, value = await loops[step.loop](function, step.calls, _System.clock, *arguments)
                    step.end()
                    step.taken = taken
            return value

    else:

        def call(*args, **kwargs):
            value = None
            with _Run(spec, function) as run:
                loops, arguments = run.compile("def", "function", args, kwargs)
                for step in run.steps():
                    _refuse_watchers()
                    step.begin()
                    taken, value = loops[step.loop](function, step.calls, _System.clock, *arguments)
                    step.end()
                    step.taken = taken
                    if inspect.isawaitable(value) or inspect.isgenerator(value):
                        raise _RefusedError("calling the test only returned something to be awaited or iterated")
            return value

    return _in_its_file(functools.wraps(function)(call), function)


class _RefusedError(TypeError):
    stage = "refused"


class _SeveralError(_RefusedError):
    stage = "several"


class _WatchedError(_RefusedError):
    stage = "watched"


def _refusal(function):
    """The exception to raise instead of calling a test that cannot be repeated; None for any other."""
    if getattr(function, "is_hypothesis_test", False):
        return _SeveralError("hypothesis calls the function once for each example it makes up")
    is_async_generator = getattr(inspect, "isasyncgenfunction", lambda _: False)
    if inspect.isgeneratorfunction(function) or is_async_generator(function):
        return _RefusedError("a generator test cannot be repeated, since calling it runs nothing")
    return None


def _refuse_watchers():
    """Raise where something is called for every line or call that the test makes."""
    watchers = [_name(type(watcher)) for watcher in (sys.gettrace(), sys.getprofile()) if watcher is not None]
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        tools = [tool for tool in range(6) if monitoring.get_tool(tool) and monitoring.get_events(tool)]
        watchers += ["{} (sys.monitoring)".format(_printable(monitoring.get_tool(tool))) for tool in tools]
    if watchers:
        raise _WatchedError("the test runs under a tracer or profiler: {}".format(", ".join(watchers)))


def _in_its_file(call, function):
    """Let a wrapper's code name the test's file (from 3.8 on): some runners drop functions that come from elsewhere."""
    file = _file(function)
    if file is not None and hasattr(call.__code__, "replace"):
        call.__code__ = call.__code__.replace(co_filename=file, co_name=WRAPPER)
    return call


def _file(function):
    """The file that the code of a test, below all its decorators, says it is from; None if it is no Python function."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else code.co_filename


def _load_spec():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spec.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


# ---------------------------------------------------------------------------------------------------------- the loops

_LOOPS = """\
{define} warm(function, calls, clock{names}):
    spent = []
    note = spent.append
    value = None
    for _ in calls:
        start = clock()
        value = {call}
        note(clock() - start)
    return spent, value

{define} loop(function, calls, clock{names}):
    value = None
    start = clock()
    for _ in calls:
        value = {call}
    return clock() - start, value
"""


def compile_loops(define, call, function, args, kwargs):
    """The loops for calls of exactly this shape, their bound arguments, and the shape as text.

    A call through ``*args, **kwargs`` costs tens of nanoseconds more than the call itself, so source text for the given
    number of arguments and the given keywords is compiled. Only keywords that are no identifiers, or more arguments
    than old Pythons can spell out, go through the general form, and the shape says so.

    The loops get the globals of the function, although they use none: up to Python 3.9 a call into other globals looks
    up the built-ins anew, which takes ten nanoseconds.
    """
    keywords = sorted(kwargs)
    plain = all(name.isidentifier() and not keyword.iskeyword(name) for name in keywords)
    if plain and len(args) + len(kwargs) <= ARGUMENT_LIMIT:
        positional = ["a{}".format(index) for index in range(len(args))]
        named = ["k{}".format(index) for index in range(len(keywords))]
        passed = positional + ["{}=k{}".format(name, index) for index, name in enumerate(keywords)]
        names, arguments = positional + named, list(args) + [kwargs[name] for name in keywords]
        shape = ", ".join(["_"] * len(positional) + ["{}=_".format(name) for name in keywords])
    else:
        passed, names, arguments, shape = ["*a", "**k"], ["a", "k"], [args, kwargs], "*_, **_"
    source = _LOOPS.format(
        define=define,
        names="".join(", " + name for name in names),
        call="{}({})".format(call, ", ".join(passed)),
    )
    namespace = {}
    exec(compile(source, "<patchperf loop>", "exec"), namespace)
    home = function.__globals__ if isinstance(function, types.FunctionType) else namespace
    loops = {name: types.FunctionType(namespace[name].__code__, home, name) for name in ("warm", "loop")}
    return loops, arguments, shape


# ------------------------------------------------------------------------------------------------------------ one run


def _nothing():
    return None


class _Step:
    """Calls to make in one of the loops, what to do right before and after, and what they took (clock units)."""

    def __init__(self, stage, count, loop="loop", begin=_nothing, end=_nothing):
        self.stage = stage
        self.count = count
        self.loop = loop
        self.begin = begin
        self.end = end
        self.calls = itertools.repeat(None, count)
        self.taken = None

    @property
    def started(self):
        return self.count - operator.length_hint(self.calls)

    @property
    def ns(self):
        return _ns(self.taken)


def _ns(taken):
    return round(taken * _System.clock_unit)


class _Run:
    """One invocation of the test function: hands out steps, and appends its record however it ends."""

    def __init__(self, spec, function):
        self.entered = _System.seconds()
        self.spec = dict(spec, file=_file(function))
        self.function = function
        self.taken = []
        self.generator = None
        invocation = next(_invocations)
        self.mode = _MODES[spec["mode"]] if invocation == 1 else _again
        self.record = {
            "format": FORMAT,
            "token": spec.get("token"),
            "invocation": invocation,
            "mode": spec["mode"],
            "warmup": 0,
            "warmup_ns": [],
            "first_call_ns": None,
            "first_call_import_ns": None,
            "repetitions": 0,
            "wall_ns": None,
            "seconds_per_repetition": None,
            "batches": [],
            "steps": [],
            "counter": None,
            "children": None,
            "import_path": None,
            "announced": None,
            "before": None,
            "after": None,
            "call_shape": None,
            "asynchronous": None,
            "failed": None,
        }
        self.record.update(_identity())
        if spec["mode"] in _WITNESSED:
            self.record["witness"] = {"before": _belongings(), "after": None, "raised": None}

    def compile(self, define, call, args, kwargs):
        loops, arguments, self.record["call_shape"] = compile_loops(define, call, self.function, args, kwargs)
        self.record["asynchronous"] = define != "def"
        return loops, arguments

    def steps(self):
        self.generator = self.mode(self.spec, self.record)
        for step in self.generator:
            self.taken.append(step)
            yield step

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            self.record["failed"] = self._failure(kind, error)
        if "witness" in self.record:
            self.record["witness"]["after"] = _belongings()
            self.record["witness"]["raised"] = None if error is None else _raised(error, trace, self.spec["file"])
        if self.generator is not None:
            self.generator.close()
        self.record["after"] = self.record["after"] or _snapshot()
        self.record["harness_ns"] = self._harness_ns()
        if self.spec.get("socket"):
            folder, attended = os.path.dirname(self.spec["out"]), self.spec.get("attended")
            self.record["announced"] = _announce(folder, self.spec["socket"], attended)
        _append(self.spec["out"], self.record)
        return False

    def _failure(self, kind, error):
        earlier = sum(step.started for step in self.taken[:-1])
        last = self.taken[-1] if self.taken else None
        return {
            "stage": error.stage if isinstance(error, _RefusedError) else (last.stage if last else "start"),
            "call": earlier + last.started if last else 0,
            "call_of_stage": last.started if last else 0,
            "type": _name(kind),
            "text": _text(error),
            "error": _describe(error),
            "skipped": _is_skip(kind),
        }

    def _harness_ns(self):
        """What this module took: import and invocation, less the calls of the body (unknown if one of them raised)."""
        if any(step.taken is None for step in self.taken):
            return None
        body = sum(sum(step.taken) if step.loop == "warm" else step.taken for step in self.taken)
        return round((_IMPORT_SECONDS + _System.seconds() - self.entered) * 1e9) - _ns(body)


def _text(error):
    try:
        return _printable(str(error)[:TEXT_LIMIT])
    except Exception as problem:
        return "<text unavailable: {}>".format(type(problem).__name__)


def _printable(text):
    """Text as it is, but what no encoding takes written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _describe(error):
    """Type and text on one line."""
    text = " ".join(_text(error).split())
    return "{}: {}".format(_name(type(error)), text) if text else _name(type(error))


def _name(kind):
    return kind.__name__ if kind.__module__ == "builtins" else "{}.{}".format(kind.__module__, kind.__qualname__)


def _is_skip(kind):
    return any(
        (base.__name__ == "SkipTest" and base.__module__ == "unittest.case")
        or (base.__name__ == "Skipped" and base.__module__.startswith(("builtins", "_pytest")))
        for base in kind.__mro__
    )


def _raised(error, trace, file):
    """Where an exception was raised, and the last line of the test's file on the way there; its errno's name if any.

    The first entry of a traceback that ends in ``_Run.__exit__`` is our own wrapper's.
    """
    place, line = None, None
    trace = trace.tb_next
    while trace is not None:
        code = trace.tb_frame.f_code
        place = [_printable(code.co_filename), trace.tb_lineno, code.co_name]
        if code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    number = getattr(error, "errno", None) if isinstance(error, OSError) else None
    return {"place": place, "test_line": line, "errno": errno.errorcode.get(number)}


def _announce(folder, name, attended):
    """Connect to a socket, wait until the other side lets go if it is attended; None, or why that failed."""
    import _socket  # noqa: PLC0415  (the class that test suites do not replace)

    descriptor = None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        descriptor = _System.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        connection.connect("/proc/self/fd/{}/{}".format(descriptor, name))
        if attended:
            connection.settimeout(ATTENDED_SECONDS)
            connection.recv(1)
    except OSError as problem:
        return _describe(problem)
    else:
        return None
    finally:
        connection.close()
        if descriptor is not None:
            _System.close(descriptor)


def _append(path, record):
    _append_bytes(path, (_System.dumps(record, sort_keys=True) + "\n").encode("ascii"))


def _append_bytes(path, content):
    descriptor = _System.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while content:
            content = content[_System.write(descriptor, content) :]
    finally:
        _System.close(descriptor)


# ---------------------------------------------------------------------------------------------------------- the modes


def _warm_up(spec, record):
    if not spec["warmup"]:
        return
    step = _Step("warmup", spec["warmup"], loop="warm")
    if record["warmup"]:
        yield step
    else:
        imports = _FirstImports(step)
        try:
            imports.start()
            yield step
        finally:
            imports.stop()
        record["first_call_import_ns"] = _ns(imports.taken)
    record["warmup_ns"] += [_ns(taken) for taken in step.taken]
    record["warmup"] = len(record["warmup_ns"])
    record["first_call_ns"] = record["warmup_ns"][0]


_IMPORTING = """\
def _find_and_load(*arguments):
    entered = enter()
    try:
        return original(*arguments)
    finally:
        leave(entered)
"""


class _FirstImports:
    """Times what the first call of a step imports that was not there, in the thread that makes the call (clock units).

    Stands in for ``_find_and_load`` of importlib, which an import statement comes to where the module is not there yet.
    Its code says that it is importlib's, so that tracebacks and warnings leave it out as they do the real one.
    """

    def __init__(self, step):
        self.step = step
        self.home = sys.modules["_frozen_importlib"].__dict__
        self.original = self.home["_find_and_load"]
        self.thread = _System.thread()
        self.depth = 0
        self.taken = 0

    def start(self):
        names = {"enter": self.enter, "leave": self.leave, "original": self.original}
        exec(compile(_IMPORTING, "<frozen importlib._bootstrap>", "exec"), names)
        self.home["_find_and_load"] = names["_find_and_load"]

    def stop(self):
        self.home["_find_and_load"] = self.original

    def enter(self):
        """When this import began; None for one of another thread or of a later call."""
        if self.step.started != 1 or _System.thread() != self.thread:
            return None
        self.depth += 1
        return _System.clock()

    def leave(self, entered):
        if entered is not None:
            self.depth -= 1
            if not self.depth:
                self.taken += _System.clock() - entered


def _probe(spec, record):
    for descriptor in (1, 2):
        _mark(spec["marker"], "output", descriptor)
    for _ in range(spec["warmup"]):
        for step in _warm_up(dict(spec, warmup=1), record):
            _note_call(spec)
            yield step
    record["before"] = _snapshot()
    begin, end = [functools.partial(_mark, spec["marker"], word) for word in ("begin", "end")]
    step = _Step("marked", 1, begin=begin, end=end)
    _note_call(spec)
    yield step
    record["repetitions"], record["wall_ns"] = step.started, step.ns
    record["import_path"] = sorted(_printable(str(path)) for path in sys.path_importer_cache)


def _mark(nonce, word, descriptor=2):
    """Write ``PATCHPERF <nonce> <word>`` to a descriptor, at an offset that the kernel refuses.

    So the line shows in a log of system calls, with what the descriptor refers to, and nowhere else: a test that reads
    its captured output does not find it.
    """
    try:
        _System.pwrite(descriptor, "PATCHPERF {} {}\n".format(nonce, word).encode("ascii"), -1)
    except OSError:
        pass


def _note_call(spec):
    """Make the progress file one byte longer: should this call never end, it is known which one it was."""
    if spec.get("progress"):
        _append_bytes(spec["progress"], b".")


def _lines(spec, record):
    """As a probe, with a mark for every line of the test's file that the marked call comes to."""
    marks = _LineMarks(spec["marker"], spec["file"])
    try:
        for step in _probe(spec, record):
            if step.stage == "marked":
                step.begin, step.end = _both(step.begin, marks.start), _both(marks.stop, step.end)
            yield step
    finally:
        marks.stop()


def _both(first, second):
    def act():
        first()
        second()

    return act


class _LineMarks:
    """A tracer of one file: before each line it writes ``PATCHPERF <nonce> line <n>`` to descriptor -1.

    The kernel refuses that write, so it does nothing but show in a log of system calls. After ``LINE_MARKS`` marks one
    for line 0 says that lines are not known any more.
    """

    def __init__(self, nonce, file):
        self.form = "PATCHPERF {} line {{}}\n".format(nonce)
        self.file = file
        self.left = LINE_MARKS
        self.last = None
        self.before = []

    def start(self):
        """Trace this thread and those it starts."""
        threads = sys.modules.get("threading")
        self.before.append((sys.settrace, sys.gettrace()))
        if threads is not None:
            self.before.append((threads.settrace, getattr(threads, "gettrace", _nothing)()))
            threads.settrace(self.enter)
        sys.settrace(self.enter)

    def stop(self):
        """Trace as before; nothing happens the second time."""
        while self.before:
            restore, tracer = self.before.pop(0)
            restore(tracer)

    def enter(self, frame, event, argument):
        return self.step if self.covers(frame.f_code) else None

    def step(self, frame, event, argument):
        if event == "line":
            self.mark(frame.f_lineno)
        elif event == "return" and frame.f_back is not None and self.covers(frame.f_back.f_code):
            self.mark(frame.f_back.f_lineno)
        return self.step

    def covers(self, code):
        return code.co_filename == self.file and code.co_name != WRAPPER

    def mark(self, line):
        if line == self.last or not self.left:
            return
        self.last = line
        self.left -= 1
        try:
            _System.write(-1, self.form.format(line if self.left else 0).encode("ascii"))
        except OSError:
            pass


def _forked(spec, record):
    """Each call in a child process of its own, one after the other until one fails: none finds what is in memory.

    A child whose call raises appends a record of its own; the parent's ``children`` are their exit statuses.
    """
    record["children"] = []
    asyncio = sys.modules.get("asyncio")
    loop = asyncio and asyncio._get_running_loop()
    while len(record["children"]) < spec["calls"] and not any(record["children"]):
        child = _System.fork()
        if child == 0:
            if loop is not None:
                asyncio._set_running_loop(loop)  # which runs in one process only, says the loop
            try:
                yield _Step("forked", 1, end=functools.partial(_System.exit, 0))
            finally:
                record["call"] = len(record.pop("children")) + 1
                _append(spec["out"], record)
                _System.exit(1)
        record["children"].append(_System.wait(child, 0)[1])


def _trial(spec, record):
    for step in _warm_up(spec, record):
        yield step
    with _Collector(spec.get("collector")):
        record["before"] = _snapshot()
        for step in _batches(spec, record):
            yield step


class _Collector:
    """The garbage collector while a loop is measured; it is as before afterwards."""

    def __init__(self, policy):
        self.collects = policy in ("collected", "off")
        self.switches = policy == "off" and gc.isenabled()

    def __enter__(self):
        if self.collects:
            gc.collect()
        if self.switches:
            gc.disable()

    def __exit__(self, *_):
        if self.switches:
            gc.enable()


def _batches(spec, record):
    count = 1
    while True:
        step = _Step("trial", count)
        yield step
        record["batches"].append([count, step.ns])
        if step.ns >= spec["trial_seconds"] * 1e9:
            break
        count *= 2
    record["repetitions"], record["wall_ns"] = step.started, step.ns
    record["seconds_per_repetition"] = seconds_per_repetition(record["batches"])


def seconds_per_repetition(batches):
    """The best of the last three of a trial's doubling batches, (count, ns): one of them may have been disturbed."""
    return min(max(ns, 1) / 1e9 / count for count, ns in batches[-3:])


def _calibrate(spec, record):
    for step in _trial(spec, record):
        yield step
    low, high = spec["min_seconds"], spec["max_seconds"]
    timed = []
    count = first_count(record["seconds_per_repetition"], low, high)
    with _Collector(spec.get("collector")):
        while count is not None:
            step = _Step("calibrate", part_of(count))
            yield step
            timed.append((count, step.ns / 1e9 * count / step.count))
            record["steps"].append([step.count, step.ns])
            count = next_count(timed, low, high)
    record["repetitions"] = settled_count(timed, low, high)
    record["wall_ns"] = [round(seconds * 1e9) for count, seconds in timed if count == record["repetitions"]][-1]


def part_of(count):
    """Repetitions that are run to time ``count`` of them: a quarter, since a loop's time is linear in its length.

    What calibration runs measures nothing; whether the loop lies in the window, every replicate tells again.
    """
    return -(-count // CALIBRATION_PART)


def first_count(seconds_per_repetition, low, high):
    """Repetitions to start from (int, >= 1): by the estimate, those that take the geometric middle of the window.

    A loop that lands there at once is the whole calibration: every step more is paid for and measures nothing.
    """
    return max(1, int(math.sqrt(low * high) / seconds_per_repetition))


def next_count(timed, low, high):
    """The count to time next, or None when settled; ``timed`` has (count, seconds) of every step so far.

    Doubled while the loop is too short. After a step beyond the window, the middle between the largest count that was
    too short and the smallest that was too long, until no count is left between them.
    """
    count, seconds = timed[-1]
    if low <= seconds <= high:
        return None
    too_long = [n for n, taken in timed if taken > high]
    if not too_long:
        return 2 * count
    too_short = max([0] + [n for n, taken in timed if taken < low])
    middle = (too_short + min(too_long)) // 2
    return middle if too_short < middle < min(too_long) else None


def settled_count(timed, low, high):
    """The last count if its loop fell into the window, else the smallest whose loop was too long."""
    count, seconds = timed[-1]
    return count if low <= seconds <= high else min(n for n, taken in timed if taken > high)


def _replicate(spec, record):
    counter = open_counter(spec["counter"], spec.get("counter_folder"))
    children = _children()
    try:
        for step in _warm_up(spec, record):
            yield step
        with _Collector(spec.get("collector")):
            record["before"] = _snapshot()
            if counter.marks:
                yield _Step("empty", 0, begin=counter.start, end=counter.stop)
            steps = [
                _Step("loop", count, begin=counter.start, end=counter.stop)
                for count in parts_of(spec["repetitions"], counter.marks)
            ]
            for step in steps:
                yield step
            record["after"] = _snapshot()
        record["children"] = None if children is None else _children() - children
        record["counter"] = counter.reading()
        record["steps"] = [[step.started, step.ns] for step in steps]
        record["repetitions"] = sum(step.started for step in steps)
        record["wall_ns"] = sum(step.ns for step in steps)
    finally:
        counter.close()


def parts_of(count, marks):
    """How a loop is divided: in halves where each part is counted by itself, which tells whether calls are alike."""
    return [count // 2, count - count // 2] if marks and count > 1 else [count]


def _again(spec, record):
    """A further invocation in one process (a parameter, a rerun): one plain call and a line that tells of it."""
    step = _Step("again", 1)
    yield step
    record["repetitions"], record["wall_ns"] = step.started, step.ns


_MODES = {
    "probe": _probe,
    "lines": _lines,
    "forked": _forked,
    "trial": _trial,
    "calibrate": _calibrate,
    "replicate": _replicate,
}
_WITNESSED = ("probe", "lines", "forked")


# --------------------------------------------------------------------------------------- what a process knows of itself


def _read(path):
    """Text of a file in /proc or /sys; None where the sandbox or the kernel does not show it."""
    content = _read_bytes(path)
    return None if content is None else content.decode("utf-8", "backslashreplace")


def _read_bytes(path):
    chunks = []
    try:
        descriptor = _System.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        while not chunks or chunks[-1]:
            chunks.append(_System.read(descriptor, 65536))
    except OSError:
        return None
    finally:
        _System.close(descriptor)
    return b"".join(chunks)


def _status(name):
    for line in (_read("/proc/self/status") or "").splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return None


def _stat_fields():
    """Fields of /proc/self/stat from the third (state) on, after the command name that may hold blanks."""
    return (_read("/proc/self/stat") or "").rpartition(")")[2].split()


def _identity():
    fields = _stat_fields()
    start_ticks = int(fields[19]) if fields else None
    uptime = _read("/proc/uptime")
    startup = None
    if uptime and start_ticks is not None:
        startup = round(float(uptime.split()[0]) - start_ticks / float(os.sysconf("SC_CLK_TCK")), 2)
    environment, arguments = [_read_bytes("/proc/self/{}".format(name)) for name in ("environ", "cmdline")]
    return {
        "pid": _System.getpid(),
        "start_ticks": start_ticks,
        "startup_seconds": startup,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "implementation": sys.implementation.name,
        "hash_seed": _System.environ.get("PYTHONHASHSEED"),
        "hash_randomization": int(sys.flags.hash_randomization),
        "environment_bytes": None if environment is None else len(environment),
        "environment_crc32": None if environment is None else zlib.crc32(environment),
        "arguments_bytes": None if arguments is None else len(arguments),
        "arguments_crc32": None if arguments is None else zlib.crc32(arguments),
        "address_randomization": (_read("/proc/sys/kernel/randomize_va_space") or "").strip() or None,
        "clock": _System.clock_name,
        "gc_enabled": gc.isenabled(),
    }


def _snapshot():
    usage = _System.usage(resource.RUSAGE_SELF)
    return {
        "voluntary_switches": usage.ru_nvcsw,
        "involuntary_switches": usage.ru_nivcsw,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "user_seconds": usage.ru_utime,
        "system_seconds": usage.ru_stime,
        "threads": _threads(),
        "children_faults": _System.usage(resource.RUSAGE_CHILDREN).ru_minflt,
        "last_task": _last_task(),
        "gc_counts": list(gc.get_count()) if hasattr(gc, "get_count") else None,
        "gc_collections": [stat["collections"] for stat in gc.get_stats()] if hasattr(gc, "get_stats") else None,
        "cpus_allowed": _status("Cpus_allowed_list"),
        "mems_allowed": _status("Mems_allowed_list"),
        "cgroup": (_read("/proc/self/cgroup") or "").strip() or None,
        "steal_seconds": _steal_seconds(),
        "frequency_khz": _frequency_khz(),
    }


def _belongings():
    """What a process has that may outlive a call: threads, child processes (dead ones not yet waited for too), files.

    A number is None where /proc does not tell.
    """
    return {"threads": _threads(), "children": _children(), "descriptors": _descriptors()}


def _children():
    try:
        processes = [name for name in _System.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    parents = [(_read("/proc/{}/stat".format(pid)) or "").rpartition(")")[2].split()[1:2] for pid in processes]
    return parents.count([str(_System.getpid())])


def _descriptors():
    try:
        return len(_System.listdir("/proc/self/fd"))
    except OSError:
        return None


def _threads():
    try:
        return len(_System.listdir("/proc/self/task"))
    except OSError:
        return None


def _last_task():
    """Number of the thread or process that was started last in this pid namespace."""
    fields = (_read("/proc/loadavg") or "").split()
    return int(fields[4]) if len(fields) > 4 else None


def _steal_seconds():
    """Time that the hypervisor took from all CPUs together since boot."""
    line = (_read("/proc/stat") or "").split("\n", 1)[0].split()
    return int(line[8]) / float(os.sysconf("SC_CLK_TCK")) if len(line) > 8 else None


def _frequency_khz():
    fields = _stat_fields()
    if len(fields) < 37:
        return None
    text = _read("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq".format(fields[36]))
    return int(text) if text else None


# ------------------------------------------------------------------------------------------------------------- counters

PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS = 0, 1
_PERF_EVENT_OPEN = {"x86_64": 298, "i686": 336, "aarch64": 241, "riscv64": 241, "s390x": 331}
_FORMAT_TOTAL_TIMES = 1 | 2
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1, 1 << 1, 1 << 5, 1 << 6
_ATTR_SIZE, _CLOEXEC = 64, 8
_ENABLE, _DISABLE, _WHOLE_GROUP = 0x2400, 0x2401, 1
_PARANOID, _PARANOID_USER_MODE = "/proc/sys/kernel/perf_event_paranoid", 2
QEMU_MARK = 28769
_VALGRIND_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_RUNNING_ON_VALGRIND = 0x1001
_DUMP_STATS, _START_INSTRUMENTATION, _STOP_INSTRUMENTATION = [0x43540000 + number for number in (0, 4, 5)]
_PERF_ERRORS = {
    "ENOENT": "this machine has no such hardware counter (no PMU)",
    "ENODEV": "this machine has no such hardware counter (no PMU)",
    "EOPNOTSUPP": "this machine has no such hardware counter (no PMU)",
    "EACCES": "the kernel does not permit it",
    "EPERM": "a system call filter does not permit it, as containers have one: let the call through",
    "ENOSYS": "the kernel or a system call filter does not know it",
}


def open_counter(backend, folder=None):
    """The counter of that name, off; where it cannot be had, one whose reading says why."""
    try:
        return _COUNTERS[backend](folder)
    except Exception as problem:
        return _Broken(backend, problem)


class _Counter:
    """``marks``: what is counted is read outside of the process, region by region: an empty one is marked first."""

    backend = "none"
    problem = None
    marks = False

    def start(self):
        pass

    def stop(self):
        pass

    def close(self):
        pass

    def reading(self):
        return self._reading()

    def _reading(self, value=None, enabled=None, running=None, events=0):
        return {
            "backend": self.backend,
            "value": value,
            "time_enabled_ns": enabled,
            "time_running_ns": running,
            "events": events,
            "problem": self.problem,
        }


class _Broken(_Counter):
    def __init__(self, backend, problem):
        self.backend = backend
        self.problem = getattr(problem, "strerror", None) or _describe(problem)


class PerfCounter(_Counter):
    """A kernel event in user mode, over every thread there is and every thread or child process to come.

    One event per existing thread, each inherited by what that thread starts; values and times are summed. Whoever finds
    no hardware counter free then has been enabled for longer than running. Pinned events would not say so: one that a
    child process has inherited stops for good, and both of its times stand still.
    """

    backend = "perf"

    def __init__(self, kind=PERF_TYPE_HARDWARE, event=PERF_COUNT_HW_INSTRUCTIONS):
        self.descriptors = []
        machine = os.uname().machine
        if machine not in _PERF_EVENT_OPEN:
            raise OSError("no system call number known for {}".format(machine))
        for thread in sorted(map(int, _System.listdir("/proc/self/task"))):
            try:
                self.descriptors.append(_perf_event_open(_PERF_EVENT_OPEN[machine], kind, event, thread))
            except ProcessLookupError:
                continue
            except OSError:
                self.close()
                raise

    def start(self):
        """Count from here."""
        for descriptor in self.descriptors:
            _System.ioctl(descriptor, _ENABLE, 0)

    def stop(self):
        """Count no more."""
        for descriptor in self.descriptors:
            _System.ioctl(descriptor, _DISABLE, 0)

    def reading(self):
        """What was counted between start and stop."""
        values = [struct.unpack("=QQQ", _System.read(descriptor, 24)) for descriptor in self.descriptors]
        value, enabled, running = (sum(column) for column in zip(*values))  # noqa: B905
        return self._reading(value, enabled, running, len(values))

    def close(self):
        """Give the descriptors back."""
        while self.descriptors:
            _System.close(self.descriptors.pop())


def _perf_event_open(number, kind, event, thread):
    import ctypes  # noqa: PLC0415  (only the processes that count pay for it)

    flags = _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV
    attributes = struct.pack("=IIQQQQQIIQ", kind, _ATTR_SIZE, event, 0, 0, _FORMAT_TOTAL_TIMES, flags, 0, 0, 0)
    buffer = ctypes.create_string_buffer(attributes, _ATTR_SIZE)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    descriptor = libc.syscall(
        ctypes.c_long(number),
        buffer,
        ctypes.c_long(thread),
        ctypes.c_long(-1),
        ctypes.c_long(-1),
        ctypes.c_ulong(_CLOEXEC),
    )
    if descriptor < 0:
        code = ctypes.get_errno()
        name = errno.errorcode.get(code, str(code))
        raise OSError(code, "perf_event_open: {} ({})".format(_perf_error(name, code, _paranoid()), name))
    return int(descriptor)


def _perf_error(name, code, paranoid):
    """What an error of the system call means; ``paranoid`` is the kernel's setting, None where it is not shown."""
    if name == "EACCES" and paranoid is not None and paranoid > _PARANOID_USER_MODE:
        strict = "kernel.perf_event_paranoid is {}, which permits it with CAP_SYS_ADMIN only: set it to {} or less"
        return strict.format(paranoid, _PARANOID_USER_MODE)
    return _PERF_ERRORS.get(name, os.strerror(code))


def _paranoid():
    text = (_read(_PARANOID) or "").strip()
    return int(text) if text else None


class CirronCounter(_Counter):
    """One cirron Collector around the whole loop: it counts the calling thread; each Collector leaks descriptors.

    It does not say for how long its events were on the hardware, so its group is stopped and read here first.
    """

    backend = "cirron"

    def __init__(self, folder):
        self.collector = load_cirron(folder).Collector(measure_overhead=False)
        self.running = None

    def start(self):
        """Count from here."""
        try:
            self.collector.__enter__()
        except Exception as problem:
            self.problem = _describe(problem)

    def stop(self):
        """Count no more."""
        if self.problem is not None:
            return
        try:
            _System.ioctl(self.collector._fd, _DISABLE, _WHOLE_GROUP)
            _, _, self.running = struct.unpack_from("=QQQ", _System.read(self.collector._fd, 128))
            self.collector.__exit__(None, None, None)
        except Exception as problem:
            self.problem = _describe(problem)

    def reading(self):
        """What was counted between start and stop."""
        if self.problem is not None:
            return self._reading()
        counters = self.collector.counters
        return self._reading(int(counters.instruction_count), int(counters.time_enabled_ns), self.running, 1)


class QemuMarks(_Counter):
    """Marks for our plugin of QEMU: a system call that no kernel has, so that natively it only fails."""

    backend = "qemu"
    marks = True

    def __init__(self):
        import ctypes  # noqa: PLC0415  (only the processes that count pay for it)

        self.call = ctypes.CDLL(None).syscall
        self.number, self.begin, self.end = [ctypes.c_long(value) for value in (QEMU_MARK, 1, 2)]
        self.call(self.number, ctypes.c_long(0))

    def start(self):
        """Count from here."""
        self.call(self.number, self.begin)

    def stop(self):
        """Count no more."""
        self.call(self.number, self.end)


class CallgrindMarks(_Counter):
    """Client requests to callgrind: instructions that do nothing on a processor and that valgrind looks for.

    The numbers and the code are those of valgrind.h and callgrind.h for x86_64; the code takes the address of six
    words, the request and its arguments, and returns the answer, 0 without valgrind.
    """

    backend = "callgrind"
    marks = True

    def __init__(self):
        import ctypes  # noqa: PLC0415
        import mmap  # noqa: PLC0415

        if os.uname().machine != "x86_64":
            raise OSError("no requests to valgrind known for {}".format(os.uname().machine))
        self.page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.page.write(_VALGRIND_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(address)
        self.running, self.begin, self.end, self.dump = [
            (ctypes.c_long * 6)(number)
            for number in (_RUNNING_ON_VALGRIND, _START_INSTRUMENTATION, _STOP_INSTRUMENTATION, _DUMP_STATS)
        ]
        if not self.call(self.running):
            raise OSError("the program did not run under valgrind")

    def start(self):
        """Count from here."""
        self.call(self.begin)

    def stop(self):
        """Count no more, and have what was counted written down."""
        self.call(self.end)
        self.call(self.dump)


def load_cirron(folder):
    """The module ``cirron/cirron.py`` of a folder; compiles its library with c++ if that is not there yet.

    Loaded by its path, without the package: its other modules need Python 3.8 and are not used. It asks
    ``pkg_resources``, which new setuptools no longer have, for one path; for the time of the import a stand-in answers.
    """
    import importlib.util  # noqa: PLC0415

    path = os.path.join(folder, "cirron", "cirron.py")
    stand_in = types.ModuleType("pkg_resources")
    stand_in.resource_filename = lambda _, name: os.path.join(os.path.dirname(path), name)
    spec = importlib.util.spec_from_file_location("cirron_collector", path)
    module = importlib.util.module_from_spec(spec)
    real = sys.modules.get("pkg_resources")
    sys.modules["pkg_resources"] = stand_in
    try:
        spec.loader.exec_module(module)
    finally:
        if real is None:
            del sys.modules["pkg_resources"]
        else:
            sys.modules["pkg_resources"] = real
    return module


_COUNTERS = {
    "none": lambda _: _Counter(),
    "perf": lambda _: PerfCounter(),
    "cirron": CirronCounter,
    "qemu": lambda _: QemuMarks(),
    "callgrind": lambda _: CallgrindMarks(),
}


def try_counter(backend, folder=None):
    """Readings of two loops, the second four times the first: what really counts grows in that proportion."""
    readings = []
    for repetitions in (100000, 400000):
        counter = open_counter(backend, folder)
        try:
            counter.start()
            for _ in itertools.repeat(None, repetitions):
                pass
            counter.stop()
            readings.append(counter.reading())
        finally:
            counter.close()
    return readings


_IMPORT_SECONDS = time.perf_counter() - _IMPORT_STARTED

if __name__ == "__main__":
    print(json.dumps(try_counter(*sys.argv[1:])))
