"""What a run made is on the disk before it ends: its bytes, and the names in their folders."""

import re
import shutil

import bench as benches
import calls


def unsafe(bench, scenario):
    """Files, and names of files, that a loss of power may still take after exit code 0."""
    folder, lines = calls.traced(bench, scenario)
    there = set(benches.everything(bench.start(scenario)))
    folders = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()} | {"."}
    bytes_, names = set(), set()
    for _, call, rest in lines:
        if re.search(r"= -1 ", rest):
            continue
        about = calls.paths(folder, rest.split(" = ")[0])
        if not about:
            continue
        path = about[-1]
        if call == "openat" and "O_CREAT" in rest and path not in there:
            there.add(path)
            names.add(path)
        elif call == "write":
            bytes_.add(path)
        elif call in ("fsync", "fdatasync"):
            bytes_.discard(path)
            if path in folders:
                names = {name for name in names if parent(name) != path}
        elif call.startswith(("rename", "link")):
            bytes_ = {path if name == about[-2] else name for name in bytes_}
            names = (names | {path}) - {about[-2]}
        elif call.startswith("mkdir"):
            names.add(path)
        elif call.startswith(("unlink", "rmdir")):
            names.discard(path)
    left = set(benches.visible(folder)) | folders
    shutil.rmtree(folder)
    mine = {path for path in left if path != scenario.into and not path.startswith(("tmp", *scenario.passing))}
    said = [f"the bytes of {path} may be lost after exit code 0" for path in sorted(bytes_ & mine)]
    return said + [f"the name of {path} may be lost after exit code 0" for path in sorted(names & mine)]


def parent(path):
    return path.rpartition("/")[0] or "."
