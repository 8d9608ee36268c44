"""Several processes that are really several."""

import subprocess
import sys
import time


def launched(processes, arguments, environment, folder):
    """Run a command in so many processes; gives how many wrote a part of their own."""
    start = [] if processes == 1 else ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    process = subprocess.Popen([sys.executable, *start, *arguments], env=environment, stderr=subprocess.PIPE, text=True)
    parts = set()
    while process.poll() is None:
        parts |= {path.name for path in folder.glob("[!.]*.part*")}
        time.sleep(0.005)
    errors = process.stderr.read()
    assert process.returncode == 0, errors
    return len(parts)
