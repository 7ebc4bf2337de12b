"""Whether the packaged template is the template in all but where its code lies.

    check_packaged.py TEMPLATE PACKAGED VERSION

Both are translated as SAM does on deployment.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-1")

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

GIVEN = {"ClusterNames": "shop", "CodeBucket": "artefacts", "CodePrefix": "outrigger/"}


def translated(path, **parameters):
    template = yaml_parse(Path(path).read_text())
    if template["Globals"]["Function"]["CodeUri"] == "functions/bootstrap/":
        template["Globals"]["Function"]["CodeUri"] = "s3://artefacts/bootstrap.zip"
    declared = {name: own.get("Default", "") for name, own in template["Parameters"].items()}
    given = {name: value for name, value in (GIVEN | parameters).items() if name in declared}
    return Translator({}, Parser()).translate(template, declared | given)


def functions(template):
    return {name: own["Properties"] for name, own in template["Resources"].items() if own["Type"] == "AWS::Lambda::Function"}


def resolved(value, version, architecture):
    """A place in S3 whose parameters SAM left for CloudFormation to fill in."""
    if isinstance(value, dict):
        (name, of), = value.items()
        value = GIVEN[of] if name == "Ref" else of
    return value.replace("${CodePrefix}", GIVEN["CodePrefix"]).replace("${Architecture}", architecture)


def main():
    source, packaged, version = sys.argv[1:4]
    for architecture in ("arm64", "x86_64"):
        expected, found = translated(source), translated(packaged, Architecture=architecture)
        assert len(functions(found)) == 6, functions(found)
        for name, own in functions(found).items():
            code = {key: resolved(value, version, architecture) for key, value in own.pop("Code").items()}
            key = f"outrigger/outrigger-{version}-functions-{architecture}.zip"
            assert code == {"S3Bucket": "artefacts", "S3Key": key}, (name, code)
            built_for = own.pop("Architectures")
            assert built_for in ([architecture], [{"Ref": "Architecture"}]), (name, built_for)
        for own in functions(expected).values():
            del own["Code"], own["Architectures"]
        for own in expected["Resources"].values():
            # What SAM builds, not what it deploys.
            own.pop("Metadata", None)
        for own in found["Resources"].values():
            own.pop("Metadata", None)
        assert found["Resources"] == expected["Resources"], "resources differ"
        assert found["Outputs"] == expected["Outputs"], "outputs differ"
        added = set(found["Parameters"]) - set(expected["Parameters"])
        assert added == {"Architecture", "CodeBucket", "CodePrefix"}, added
    print("the packaged template is the template, with its code in a bucket")


if __name__ == "__main__":
    main()
