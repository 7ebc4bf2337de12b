"""Archives whose bytes follow from what is in them and from one moment: no clock, no user, no order of the file system."""

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path

# Before it, ZIP has no dates.
ZIP_EPOCH = 315532800


def files_under(folder):
    """Every file below a folder, as its path from there, sorted."""
    return sorted(path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file())


def _mode(executable):
    return 0o755 if executable else 0o644


def write_zip(path, entries, epoch):
    """`entries` are (name, bytes, executable)."""
    moment = time.gmtime(max(epoch, ZIP_EPOCH))[:6]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, executable in sorted(entries):
            info = zipfile.ZipInfo(name, moment)
            info.create_system = 3
            info.external_attr = (0o100000 | _mode(executable)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content, compresslevel=9)


def write_tar_gz(path, entries, epoch):
    """`entries` are (name, bytes, executable)."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, executable in sorted(entries):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), _mode(executable), epoch
            archive.addfile(info, io.BytesIO(content))
    with open(path, "wb") as out, gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=epoch) as compressed:
        compressed.write(packed.getvalue())
