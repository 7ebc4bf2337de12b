"""Makes of template.yaml one that needs no build: its code lies in a bucket that a parameter names.

    package.py TEMPLATE VERSION > PACKAGED

Everything else stays as it is written, comments too. Fails where the template is not written as this expects.
"""

import sys
from pathlib import Path

PARAMETERS = """\
  CodeBucket:
    Type: String
    Description: The S3 bucket of this region that holds the code of functions, from the release {version}.
    AllowedPattern: ^[a-z0-9][a-z0-9.-]{{1,61}}[a-z0-9]$
    ConstraintDescription: must be the name of an S3 bucket
  CodePrefix:
    Type: String
    Default: ""
    Description: What the key of the code begins with, before outrigger-{version}-functions-ARCHITECTURE.zip; a slash at its end is not added.
    AllowedPattern: ^[A-Za-z0-9!_.*'()/-]*$
    ConstraintDescription: must be letters, digits and ! _ . * ' ( ) / -
  Architecture:
    Type: String
    Default: arm64
    AllowedValues: [arm64, x86_64]
    Description: What functions run on. arm64 costs a fifth less.
    ConstraintDescription: must be arm64 or x86_64
"""
GROUP = """\
      - Label: {default: "Code (from a release)"}
        Parameters: [CodeBucket, CodePrefix, Architecture]
"""
CODE = """\
    CodeUri:
      Bucket: !Ref CodeBucket
      Key: !Sub ${{CodePrefix}}outrigger-{version}-functions-${{Architecture}}.zip
"""


def packaged(text, version):
    """The template with code from a bucket, as text."""

    def replace(old, new, times):
        nonlocal text
        found = text.count(old)
        if found != times:
            raise SystemExit(f"error: the template has {found} times, and not {times} times:\n{old}")
        text = text.replace(old, new)

    replace("    CodeUri: functions/bootstrap/\n", CODE.format(version=version), 1)
    replace("    Architectures: [arm64]\n", "    Architectures: [!Ref Architecture]\n", 1)
    replace("    Metadata: {BuildMethod: makefile}\n", "", 6)
    replace("\nParameters:\n", "\nParameters:\n" + PARAMETERS.format(version=version), 1)
    replace("    ParameterGroups:\n", "    ParameterGroups:\n" + GROUP, 1)
    return text


if __name__ == "__main__":
    _, path, version = sys.argv
    sys.stdout.write(packaged(Path(path).read_text(), version))
