"""Whether the commands of the pages print what the pages say.

    check.py OUTRIGGER PAGE…
    check.py --files FOLDER PAGE   only writes the files that the page writes, into FOLDER

Runs each `$ outrigger …` of a page's console blocks that shows what it prints and needs neither a cluster nor AWS, in a folder of the page's own: a
copy of the repository's manifests and samples, to which files go that the page writes by `cat >FILE <<EOF`. A line `…` stands for any
lines, and `…` at a line's end for the rest of it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Commands that read files alone. `catalog import` needs what AWS prints.
OFFLINE = re.compile(
    r"^outrigger (plan|audit|simulate|suggest|explain|catalog|convert|schema|(top|diff)\b(?=.* -f ))\b(?!.* (--live|import|--catalog|--git|--observed)\b)"
)
HEREDOC = re.compile(r"cat >(\S+) <<('?)(\w+)\2$")
VARIABLES = {"CLUSTER": "first", "NODE_ROLE": "node-role", "AWS_REGION": "us-east-1"}


def blocks(page):
    return re.findall(r"(?ms)^```console\n(.*?)^```", page)


def commands(block):
    """Each command with what the page says that it prints."""
    lines = iter(block.splitlines())
    command, printed = None, []
    for line in lines:
        if not line.startswith("$ "):
            printed.append(line)
            continue
        if command is not None:
            yield command, printed
        command, printed = line[2:], []
        while command.endswith("\\"):
            command = command[:-1] + next(lines).strip()
        found = HEREDOC.search(command)
        if found:
            held = []
            for text in lines:
                if text == found[3]:
                    break
                held.append(text)
            command = (found[1], not found[2], "\n".join(held) + "\n")
    if command is not None:
        yield command, printed


def matches(expected, found):
    """Whether lines are those that are expected, `…` standing for others."""
    if not expected:
        return not found
    first, rest = expected[0], expected[1:]
    if first.strip() == "…":
        return any(matches(rest, found[skipped:]) for skipped in range(len(found) + 1))
    if not found:
        return False
    one, is_cut = found[0].rstrip(), first.rstrip().endswith("…")
    same = one.startswith(first.rstrip()[:-1].rstrip()) if is_cut else one == first.rstrip()
    return same and matches(rest, found[1:])


def trimmed(lines):
    """Without empty lines, which a page may leave out."""
    return [line for line in lines if line.strip()]


def write(command, where):
    name, has_variables, content = command
    (where / os.path.expandvars(name)).write_text(os.path.expandvars(content) if has_variables else content)


def check(page, binary, folder):
    ran, wrong = 0, []
    where = folder
    for block in blocks(page.read_text()):
        for command, printed in commands(block):
            if isinstance(command, tuple):
                write(command, where)
                continue
            if "~/" in command and command.startswith("cp -r"):
                # `cp -r SAMPLES ~/FOLDER && cd ~/FOLDER`: the page goes on there.
                source, target = re.match(r"cp -r (\S+) ~/(\S+)", command).groups()
                shutil.copytree(folder / source, folder / target)
                where = folder / target
            if not OFFLINE.match(command):
                continue
            shell = command.split("#")[0].strip()
            if not printed and "--in-place" not in command:
                continue
            done = subprocess.run(
                ["bash", "-c", shell.replace("outrigger", str(binary), 1)],
                cwd=where, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"}, check=False,
            )  # fmt: skip
            out, error = done.stdout.splitlines(), done.stderr.splitlines()
            ran += 1
            expected = trimmed(printed)
            answers = [out, error, error + out]
            if expected and not any(matches(expected, trimmed(answer)) for answer in answers):
                wrong.append(f"error: {page.relative_to(ROOT)}: `{command}` prints\n" + "\n".join(error + out) + "\nand not\n" + "\n".join(printed))
    return ran, wrong


def main():
    os.environ.update(VARIABLES)
    if sys.argv[1] == "--files":
        for block in blocks(Path(sys.argv[3]).read_text()):
            for command, _ in commands(block):
                if isinstance(command, tuple):
                    write(command, Path(sys.argv[2]))
        return False
    binary = Path(sys.argv[1]).resolve()

    def check_page(name):
        with tempfile.TemporaryDirectory() as folder:
            for copied in ("functions/cli/examples", "functions/cli/scenarios", "docs/ko/samples"):
                shutil.copytree(ROOT / copied, Path(folder) / copied)
            # What a page names and does not show.
            shutil.copytree(ROOT / ".ci/pages/files", folder, dirs_exist_ok=True)
            return check(ROOT / name, binary, Path(folder))

    wrong = []
    # Pages have nothing to do with each other, and most commands use one core.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, (ran, problems) in zip(sys.argv[2:], pool.map(check_page, sys.argv[2:])):
            print(f"{name}: {ran} commands, {len(problems)} of which print something else")
            wrong += problems
    print("\n\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
