# SPDX-License-Identifier: BSD-2-Clause
"""
csource - what the checking tools know of C: files, functions, bare text

check-style, check-deps and check-symbols include it. Not a parser: functions
come from universal-ctags, the rest from text without comments and literals.
"""
import os
import re
import subprocess
import sys

SKIP_DIRS = re.compile(r"^(\.git|build.*|coverage.*|__pycache__)$")


def repo_files(root):
    """Every file of the tree that is not built, relative to root."""
    for where, dirs, files in os.walk(root):
        dirs[:] = sorted(d for d in dirs if not SKIP_DIRS.match(d))
        for name in sorted(files):
            yield os.path.relpath(os.path.join(where, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8",
              errors="replace") as f:
        return f.read()


BARE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def bare(text):
    """Comments and literals become blanks; lines and columns stay."""
    return BARE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


class Function:
    def __init__(self, path, name, first, last, signature):
        self.path = path
        self.name = name
        self.first = first
        self.last = last
        self.signature = signature

    def params(self):
        inner = self.signature.strip()[1:-1].strip()
        if inner in ("", "void"):
            return 0
        return len(split_top(inner))


def split_top(text):
    """Splits at the commas that stand in no parentheses."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return parts + [text[begin:]]


def functions(root, paths):
    """All function definitions of some C files, as {path: [Function]}."""
    found = {path: [] for path in paths}
    if not paths:
        return found
    # ctags takes attribute macros for parts of a type unless told.
    done = subprocess.run(
        ["ctags", "-f", "-", "-L", "-", "--sort=no", "--languages=C",
         "--langmap=C:.c.h", "--kinds-C=f", "--fields=+neS",
         "-I", "always_inline,noinline,cache_aligned,VD_PUBLIC"],
        input="\n".join(paths), cwd=root, capture_output=True, text=True,
        check=False)
    if done.returncode != 0:
        sys.exit("ctags: " + done.stderr)
    for line in done.stdout.splitlines():
        name, path = line.split("\t")[:2]
        first = re.search(r"\tline:(\d+)", line)
        last = re.search(r"\tend:(\d+)", line)
        signature = re.search(r"\tsignature:(\([^\t]*\))", line)
        if first and last:
            found[path].append(Function(
                path, name, int(first.group(1)), int(last.group(1)),
                signature.group(1) if signature else "()"))
    return found
