"""The template that timed processes are forked from: Python with torch, warm,
and nothing else. A reference and a candidate are then measured in processes of
the same kind.

usage: timing_template.py FD LIBRARY

FD is a socket as in judge.py, LIBRARY is libswage_sandbox.so. Requests:

  candidate  (fds: artifact, inputs, data, control)  -> {pid}
  reference  (fds: data, control, specification, results)  -> {pid}
  ended      pid          -> {status, cpu_s} of one that ended by itself
  end        pid                                   -> {}, it was killed

Both forks serve requests over a control file. The candidate's gives up every
right first. The reference's specification is a file that only its own process
reads, since this one's memory is inherited by candidates: JSON with source,
seed, state, facts, threads and the offsets of results. What it does for a request
depends on the case: 0 prepares that case's inputs and takes over its state, 1
calls the module on them, 2 does nothing, 3 stores the last results in their own
file.
"""

import ctypes
import gc
import json
import os
import signal
import sys

import torch

from judge_channel import Channel, Mapping
from judge_reference import Reference
from judge_settings import limit_memory
from judge_task import describe

PREPARE, CALL, NOTHING, STORE = range(4)

FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_uint32,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
)

TYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "bool": torch.bool,
}


class View(ctypes.Structure):
    """swage_sandbox_view of sandbox.hpp."""

    _fields_ = [
        ("visible", ctypes.POINTER(ctypes.c_char_p)),
        ("scratch_bytes", ctypes.c_uint64),
        ("new_pids", ctypes.c_int),
    ]


def keep_only(fds):
    """Moves descriptors to 3, 4, ... and closes all others."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
    low = [os.dup2(fd, 3 + i) for i, fd in enumerate(high)]
    os.closerange(3 + len(low), 1 << 16)
    return low


def tensor_at(address, spec):
    """The tensor that lies at an address, without a copy."""
    dtype = TYPES[spec["dtype"]]
    shape, strides = spec["shape"], spec["strides"]
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    if strides:
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    else:
        span = count
    size = span * torch.empty((), dtype=dtype).element_size()
    memory = (ctypes.c_char * size).from_address(address)
    flat = torch.frombuffer(memory, dtype=dtype)
    if strides:
        return flat.as_strided(shape, strides)
    return flat.view(shape)


class TimedReference:
    """Calls the task's own module on the inputs in a data file."""

    def __init__(self, specification, results):
        # First, since it is what torch is restored to later.
        torch.set_num_threads(int(specification["threads"]))
        self.reference = Reference(
            specification["source"],
            int(specification["seed"]),
            specification["facts"],
        )
        self.state = int(specification["state"])
        self.reference.draw_state(self.state)
        self.model = self.reference.model
        self.offsets = specification["results"]
        self.results = Mapping(results, os.fstat(results).st_size)
        self.given_state = None
        self.tensors = []
        self.arguments = None
        self.result = None

    def __call__(self, which, pointers, sizes):
        try:
            if which == CALL:
                self.result = self.model(*self.arguments)
            elif which == PREPARE:
                self.prepare(pointers)
            elif which == STORE:
                self.store()
            return 0
        except BaseException:  # Nothing may leave through C.
            return 1

    def prepare(self, pointers):
        """Makes the arguments, which the timed call only uses."""
        reference = self.reference
        specs = reference.specs
        tensors = [tensor_at(pointers[i], s) for i, s in enumerate(specs)]
        if reference.changed_inputs:
            # What it writes to is not the data file, which is read-only.
            tensors = [x.clone() for x in tensors]
        self.tensors = tensors
        self.arguments = reference.arguments(tensors)
        reference.draw_state(self.state)
        if self.given_state is None:
            self.given_state = self.state_at(pointers)
        for own, given in self.given_state:
            own.copy_(given)

    def state_at(self, pointers):
        """The tensors of the state that others change, each with where its
        values lie."""
        reference = self.reference
        first = len(reference.specs)
        rows = [x for _, x, _ in reference.state]
        return [
            (x, tensor_at(pointers[first + i], describe("", x, True)))
            for i, x in enumerate(rows)
            if reference.free_state[i] == i
        ]

    def store(self):
        results = self.reference.collect(self.result, self.tensors)
        self.results.put(results, 0, self.offsets)


class Template:
    def __init__(self, library):
        self.children = set()
        self.ended = []
        self.library = ctypes.CDLL(library)
        self.library.swage_sandbox_enter.argtypes = [
            ctypes.c_uint64,
            ctypes.c_uint32,
        ]
        self.library.swage_sandbox_serve_function.argtypes = [
            FUNCTION,
            ctypes.c_int,
            ctypes.c_int,
        ]
        if self.library.swage_sandbox_prepare() != 0:
            raise OSError("the system call filter cannot be made")

    def candidate(self, message, fds):
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self.children.add(pid)
            return {"pid": pid}
        try:
            self.start_child(parent)
            artifact, inputs, data, control = keep_only(fds)
            view = View(None, 0, 0)
            note = ctypes.create_string_buffer(256)
            if self.library.swage_sandbox_isolate(
                ctypes.byref(view), note, len(note)
            ):
                os._exit(3)
            self.library.swage_sandbox_serve(
                artifact, inputs, data, control
            )
        finally:
            os._exit(3)

    def reference(self, message, fds):
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self.children.add(pid)
            return {"pid": pid}
        try:
            self.start_child(parent)
            data, control, specification, results = keep_only(fds)
            size = os.fstat(specification).st_size
            timed = TimedReference(
                json.loads(os.pread(specification, size, 0)), results
            )
            os.close(specification)
            os.close(results)
            with torch.no_grad():
                function = FUNCTION(timed)
                self.library.swage_sandbox_serve_function(
                    function, data, control
                )
        finally:
            os._exit(3)

    def start_child(self, parent):
        # Of this process, which waits for the engine: dies with it. The fork is
        # the main thread's, which lives as long as the process does.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(3)
        ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK

    def ended_itself(self, message, fds):
        pid = int(message["pid"])
        _, status, used = os.wait4(pid, 0)
        self.children.discard(pid)
        return {"status": status, "cpu_s": used.ru_utime + used.ru_stime}

    def end(self, message, fds):
        # Its number stays its own until `reap`.
        pid = int(message["pid"])
        if pid in self.children:
            os.kill(pid, signal.SIGKILL)
            self.children.discard(pid)
            self.ended.append(pid)
        return {}

    def reap(self):
        """Waits for those that were ended: after the answer, since taking a
        process of this size apart takes milliseconds."""
        while self.ended:
            os.waitpid(self.ended.pop(), 0)

    def answer(self, message, fds):
        handlers = {
            "candidate": self.candidate,
            "reference": self.reference,
            "ended": self.ended_itself,
            "end": self.end,
        }
        try:
            return dict(handlers[message["op"]](message, fds), ok=True)
        except (OSError, KeyError) as reason:
            return {"ok": False, "what": f"{type(reason).__name__}: {reason}"}


def warm_up():
    """Starts what torch starts on its first call, before anything is timed."""
    with torch.no_grad():
        x = torch.rand(8, 8)
        torch.nn.functional.softmax(torch.nn.Linear(8, 8)(x).relu(), -1).sum()
        torch.nn.functional.conv2d(torch.rand(1, 1, 8, 8), torch.rand(1, 1, 3, 3))


def gather_pages():
    """Puts this process's memory into large pages, where the system has them: a
    fork copies their entries, and its end drops them, one by one."""
    collapse = 25  # MADV_COLLAPSE, Linux 6.1; an error changes nothing.
    large = 2 << 20
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps") as maps:
        rows = [line.split() for line in maps]
    for row in rows:
        anonymous = len(row) == 5 or row[5] == "[heap]"
        if "w" not in row[1] or not anonymous:
            continue
        first, last = (int(x, 16) for x in row[0].split("-"))
        first = (first + large - 1) // large * large
        last = last // large * large
        if last > first:
            madvise(first, last - first, collapse)


def main():
    limit_memory()
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    channel = Channel(int(sys.argv[1]))
    template = Template(sys.argv[2])
    warm_up()
    gc.collect()
    gc.freeze()
    gather_pages()
    channel.send({"ok": True})
    while (received := channel.receive()) is not None:
        message, fds = received
        try:
            channel.send(template.answer(message, fds))
        finally:
            for fd in fds:
                os.close(fd)
        template.reap()


if __name__ == "__main__":
    main()
