"""Runs a command from a process that holds nothing, and says what it took, in a last line of JSON.

    python benches/peers/apart.py COMMAND ARGUMENT...

Linux counts to the peak memory of a new process what its parent held: a benchmark that holds millions of rows would find them in all it starts.
"""

import json
import os
import sys
import time

begin = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
took = {"cpu": used.ru_utime + used.ru_stime, "wall": time.perf_counter() - begin, "mb": used.ru_maxrss / 1024}
print(json.dumps(took), flush=True)
sys.exit(os.waitstatus_to_exitcode(status))
