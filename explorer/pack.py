"""Packs a crate in WebAssembly and the page around it into one HTML file.

The compiler is the one at hand where it knows the target, with rustup's help where that can add it, and else Debian's (rustc-web, cargo-web,
rust-web-src), which compiles the standard library, too. Nothing beside Python's own library is needed.
"""

import base64
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys

REPO = pathlib.Path(__file__).resolve().parents[1]
TARGET = "wasm32-unknown-unknown"


def knows(rustc):
    """Whether a compiler has the target's standard library."""
    if not shutil.which(rustc):
        return False
    ask = [rustc, "--print", "target-libdir", "--target", TARGET]
    found = subprocess.run(ask, capture_output=True, text=True, cwd=REPO)
    return found.returncode == 0 and any(pathlib.Path(found.stdout.strip()).glob("libstd-*.rlib"))


def debians():
    """Debian's compiler with the sources of its standard library, if it is installed: the environment and the words for cargo."""
    cargo = pathlib.Path("/usr/bin/cargo")
    rustc = pathlib.Path("/usr/bin/rustc")
    if not (cargo.exists() and rustc.exists()):
        return None
    root = subprocess.run([rustc, "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
    if not (pathlib.Path(root) / "lib/rustlib/src/rust/library/std").exists():
        return None
    # Its compiler comes without the linker of its own: LLVM's newest one.
    linkers = [f"wasm-ld-{version}" for version in range(30, 13, -1)] + ["wasm-ld"]
    linker = next(filter(shutil.which, linkers), None)
    if linker is None:
        return None
    environment = {"RUSTC_BOOTSTRAP": "1", "RUSTC": str(rustc), "CARGO": str(cargo)}
    environment["CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"] = linker
    return environment, [str(cargo)], ["-Zbuild-std=std,panic_abort"]


def compiler():
    if os.environ.get("MARGINS_WASM") != "debian":
        if not knows("rustc") and shutil.which("rustup"):
            subprocess.run(["rustup", "target", "add", TARGET])
        if knows("rustc"):
            return {}, ["cargo"], []
    found = debians()
    if found is None:
        sys.exit(f"no compiler for {TARGET}: `rustup target add {TARGET}`, or on Debian `apt-get install rustc-web cargo-web rust-web-src lld`")
    return found


def wasm(crate):
    """The crate in the folder of this name, compiled."""
    environment, cargo, more = compiler()
    words = [*cargo, "build", "--profile", crate, "--locked", "--target", TARGET, "-p", f"margins-{crate}", *more]
    print(" ".join(words), file=sys.stderr)
    subprocess.run(words, check=True, cwd=REPO, env={**os.environ, **environment})
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target"))
    return (REPO / target / TARGET / crate / f"margins_{crate}.wasm").read_bytes()


def hashed(text):
    """What a content security policy calls a script or style."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


# Of WebAssembly the bytes before one tell much of it, and where it stands little.
LC, PB = 4, 0


def letters(packed):
    """Bytes as letters from # to ~ without <: two for every 13 bits. `page/unpack.js` reads them."""
    count = -(-len(packed) * 8 // 13)
    number = int.from_bytes(packed, "big") << (count * 13 - len(packed) * 8)
    bits = f"{number:0{count * 13}b}"
    letter = [chr(c) for c in range(ord("#"), ord("~") + 1) if c != ord("<")]
    pair = [letter[n // 91] + letter[n % 91] for n in range(1 << 13)]
    return "".join(pair[int(bits[at:at + 13], 2)] for at in range(0, len(bits), 13))


def packed(module):
    """How long it is, how it is packed, and the letters of it."""
    how = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": LC, "lp": 0, "pb": PB, "dict_size": 1 << 24}
    bytes_ = lzma.compress(module, format=lzma.FORMAT_RAW, filters=[how])
    return f"{len(module)} {LC} {PB} {letters(bytes_)}"


def page(crate, styles, scripts, connect):
    """The page of this crate, of parts by their names in the repository."""
    read = lambda name: (REPO / name).read_text(encoding="utf-8")
    style = "\n" + "".join(map(read, styles))
    script = '"use strict";\n' + "".join(map(read, scripts))
    worker = '"use strict";\n' + read("explorer/page/unpack.js") + read("explorer/page/thread.js") + read(f"{crate}/page/worker.js")
    for text in (style, script, worker):
        assert "</" not in text and "<!--" not in text, "a part would end its element"
    # No script but this one, no style but this one, no address but the page's own site, if any.
    policy = "; ".join([
        "default-src 'none'", f"script-src {hashed(script)} 'wasm-unsafe-eval'", f"style-src {hashed(style)}", "worker-src blob:",
        f"connect-src {connect}", "img-src data:", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'",
        "trusted-types worker",
    ])
    parts = {"CSP": policy, "STYLE": style, "EVALUATOR": packed(wasm(crate)), "WORKER": worker, "SCRIPT": script}
    frame = read(f"{crate}/page/index.html")
    places = re.findall("%([A-Z]+)%", frame)
    assert sorted(places) == sorted(parts), places
    return re.sub("%([A-Z]+)%", lambda place: parts[place[1]], frame)


def build(crate, most, styles, scripts, connect):
    text = page(crate, styles, scripts, connect).encode()
    if len(text) >= most:
        sys.exit(f"the page has grown to {len(text)} bytes")
    (REPO / crate / "page.html").write_bytes(text)
    print(f"{crate}/page.html: {len(text)} bytes")
