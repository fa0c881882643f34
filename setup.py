"""Steps of a build beyond what pyproject.toml states: documentation, honest tags, equal bytes.

A release is built with ``SOURCE_DATE_EPOCH`` set: archives of the same sources have the same bytes then.
"""

import gzip
import os
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

SOURCE = "docs/findings.md"
PLACE = "tracekit/report/findings.md"


class BuildWithDocumentation(build_py):
    """A build that copies the documentation which ``tracekit explain`` prints; a checkout reads its own."""

    def run(self):
        """Build the modules, and copy the documentation unless the checkout itself is installed."""
        super().run()
        if not self.editable_mode:
            self.mkpath(str((Path(self.build_lib) / PLACE).parent))
            self.copy_file(SOURCE, str(Path(self.build_lib) / PLACE))

    def get_outputs(self, include_bytecode=1):
        """Return the files of the build with the documentation."""
        return [*super().get_outputs(include_bytecode), str(Path(self.build_lib) / PLACE)]


class TaggedWheel(bdist_wheel):
    """A wheel with all compiled modules, or with none of them and the tag of pure Python."""

    def run(self):
        """Compile before the tag is chosen."""
        self.run_command("build")
        self.skip_build = True
        compiled = [Path(output) for output in self.get_finalized_command("build_ext").get_outputs()]
        if not all(path.is_file() for path in compiled):
            for path in compiled:
                path.unlink(missing_ok=True)
            self.distribution.ext_modules = None
            self.root_is_pure = True
        super().run()


class ReproducibleArchive(sdist):
    """A source archive whose bytes depend on its files alone where ``SOURCE_DATE_EPOCH`` is set."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):  # noqa: A002
        """Write the archive with one time, one owner and sorted members."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def unify(member):
            member.mtime, member.uid, member.gid, member.uname, member.gname = int(epoch), 0, 0, "", ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            return member

        name = f"{base_name}.tar.gz"
        self.mkpath(str(Path(name).parent))
        with (
            Path(name).open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(path for path in Path(base_dir).rglob("*") if path.is_file()):
                archive.add(path, filter=unify)
        return name


setup(cmdclass={"bdist_wheel": TaggedWheel, "build_py": BuildWithDocumentation, "sdist": ReproducibleArchive})
