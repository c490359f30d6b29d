"""The GPUs of this machine, and places on them for processes."""

import bisect
import concurrent.futures
import contextlib
import enum
import itertools
import os
import shutil
import subprocess
import tempfile
import threading


class Use(enum.Enum):
    """How the processes on a GPU have it."""

    AT_ONCE = "kernels of several run at once, by CUDA's Multi-Process Service"
    IN_TURNS = "several, whose kernels take turns"
    ALONE = "one"


def gpus():
    """The environment that leaves a process each of the GPUs that CUDA_VISIBLE_DEVICES names, or of this machine's that
    are like the first; an empty one, which changes nothing, where there is but one."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        names = [name for name in chosen.split(",") if name]
        return [{"CUDA_VISIBLE_DEVICES": name} for name in names] if len(names) > 1 else [{}]
    query = ["nvidia-smi", "--query-gpu=uuid,name", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    found = [line.split(", ", 1) for line in answer.stdout.splitlines()]
    # why by name: under the Multi-Process Service the number of a GPU is another one
    alike = [uuid for uuid, name in found if name == found[0][1]] if answer.returncode == 0 else []
    return [{"CUDA_VISIBLE_DEVICES": uuid} for uuid in alike] if len(alike) > 1 else [{}]


@contextlib.contextmanager
def service_of(gpu):
    """The environment in which kernels of several processes run at once on a GPU, by CUDA's Multi-Process Service; that
    of the GPU alone where it does not start."""
    control = shutil.which("nvidia-cuda-mps-control")
    # why: the service may still write its log when its folder goes
    with tempfile.TemporaryDirectory(prefix="mps", ignore_cleanup_errors=True) as folder:
        service = {**gpu, "CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        environment = {**os.environ, **service}
        if control is None or subprocess.run([control, "-d"], env=environment, check=False).returncode != 0:
            yield gpu
            return
        try:
            yield service
        finally:
            subprocess.run([control], input="quit\n", text=True, env=environment, stdout=subprocess.DEVNULL, check=False)


class Gpu:
    """One of them, with the number of places that are taken."""

    def __init__(self, environment):
        self.alone, self.taken, self.use = environment, 0, None
        self.shared, self.service, self.lock = None, contextlib.ExitStack(), threading.Lock()

    def environment(self, use):
        """For a process that has a place; the service runs as long as one that needs it may come."""
        with self.lock:
            if use is Use.AT_ONCE:
                if self.shared is None:
                    self.shared = self.service.enter_context(service_of(self.alone))
                return self.shared
            self.end_service()
            return self.alone

    def end_service(self):
        self.shared = None
        self.service.close()


class Places:
    """So many places for processes on each of some GPUs. All on a GPU have the same use of it. Of those who wait the
    first in order goes first of those for whom there is a place: a GPU changes its use when it is empty, so that of
    different uses the one that began comes before the others, whatever their order. Who still waits at the end, since
    somebody has left early with an error, does not begin."""

    def __init__(self, environments, on_each):
        self.gpus, self.on_each = [Gpu(environment) for environment in environments], on_each
        self.waiting, self.numbers, self.lock = [], itertools.count(), threading.Lock()
        self.pool = concurrent.futures.ThreadPoolExecutor(len(self.gpus) * on_each)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.lock:
            for entry in self.waiting:
                entry[-1].cancel()
            self.waiting = []
        self.pool.shutdown()
        with contextlib.ExitStack() as services:
            for gpu in self.gpus:
                services.callback(gpu.end_service)

    def submit(self, order, use, work):
        """The future of work(environment); of equal order who came first."""
        future = concurrent.futures.Future()
        with self.lock:
            bisect.insort(self.waiting, (order, next(self.numbers), use, work, future))
            self.begin()
        return future

    def begin(self):
        """Lets those begin for whom there is a place."""
        left = []
        for entry in self.waiting:
            use, work, future = entry[2:]
            gpu = min(self.gpus, key=lambda one: self.after(one, use))
            if self.after(gpu, use) > self.on_each:
                left.append(entry)
                continue
            gpu.taken, gpu.use = self.after(gpu, use), use
            self.pool.submit(self.run, gpu, use, work, future)
        self.waiting = left

    def after(self, gpu, use):
        """How many places are taken once one of this use has come; more than there are if it cannot."""
        if gpu.taken > 0 and gpu.use is not use:
            return self.on_each + 1
        return gpu.taken + (self.on_each if use is Use.ALONE else 1)

    def run(self, gpu, use, work, future):
        try:
            future.set_result(work(gpu.environment(use)))
        except BaseException as error:  # pylint: disable=broad-except
            future.set_exception(error)
        with self.lock:
            gpu.taken -= self.on_each if use is Use.ALONE else 1
            self.begin()
