"""Put the documentation of findings and issues into the package; all else is in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

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


setup(cmdclass={"build_py": BuildWithDocumentation})
