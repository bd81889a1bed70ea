"""torch's settings of the whole process. A task's code may change them, and the
next task's results are not to depend on it."""

import ctypes
import functools
import os
import resource

import torch


def keep_all_digits():
    """No TF32 and nothing like it: half the digits are no reference."""
    torch.set_float32_matmul_precision("highest")
    if not hasattr(torch.backends, "fp32_precision"):  # Before torch 2.9.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        return
    cudnn = torch.backends.cudnn
    for part in (
        torch.backends,
        torch.backends.cuda.matmul,
        cudnn,
        cudnn.conv,
        cudnn.rnn,
        torch.backends.mkldnn,
        torch.backends.mkldnn.matmul,
        torch.backends.mkldnn.conv,
    ):
        part.fp32_precision = "ieee"


@functools.cache
def threads():
    """Of this process, as they were at the first call, which comes before any
    task's code."""
    return torch.get_num_threads()


def limit_memory():
    """To half of the machine's: a module that asks for more fails by itself, and
    takes no other process with it."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (whole // 2, whole // 2))


def keep_memory():
    """What one task's tensors took is not given back to the system, and asked for
    again, for the next's. Only glibc can be told so."""
    trim, mmap = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    small = 32 << 20
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(trim, 2 * small)
        mallopt(mmap, small)


def restore(dtype=torch.float32):
    """Sets what is named here to what any call of a task begins with; the
    gradient mode is the caller's. `dtype` is the default that the task chose.
    """
    # The device first: it changes what other calls do.
    torch.set_default_device(None)
    torch.set_default_dtype(dtype)
    if torch.get_num_threads() != threads():
        torch.set_num_threads(threads())
    # Unlike use_deterministic_algorithms, does not import the compiler.
    torch.set_deterministic_debug_mode("default")
    torch.set_flush_denormal(False)
    keep_all_digits()
