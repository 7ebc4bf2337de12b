//! The CustomResourceDefinitions that are shipped, against the readers.

use std::path::{Path, PathBuf};

use manifests::{CustomResource, Source, custom_resources, read};

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/kubernetes/crds")
}

#[test]
fn what_is_shipped_is_what_the_types_say() {
    let mut expected = Vec::new();
    for resource in custom_resources() {
        let text = std::fs::read_to_string(shipped().join(&resource.file)).unwrap();
        assert_eq!(
            text,
            resource.to_yaml().unwrap(),
            "{}: `cargo run -p outrigger-manifests --example crds -- infra/kubernetes/crds`",
            resource.file
        );
        expected.push(resource.file);
    }
    let files = std::fs::read_dir(shipped()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    files.sort();
    assert_eq!(files, expected, "one file a kind, and all of them listed by file name");
    let kustomization = std::fs::read_to_string(shipped().join("../kustomization.yaml")).unwrap();
    for file in files {
        assert!(kustomization.contains(&format!("- crds/{file}\n")), "{file} is not applied");
    }
}

/// What the reader says of a document: errors, and warnings where a newer API may have the field.
fn remarks(document: &str) -> Vec<String> {
    let objects = read(&[Source::new("test", document)]);
    let errors = objects.errors.iter().map(ToString::to_string);
    errors.chain(objects.warnings.iter().map(ToString::to_string)).collect()
}

fn spec_of(resource: &CustomResource) -> &serde_json::Value {
    let version = &resource.definition["spec"]["versions"][0];
    &version["schema"]["openAPIV3Schema"]["properties"]["spec"]
}

#[test]
fn no_schema_names_a_field_that_its_reader_refuses() {
    for resource in custom_resources() {
        let names = &resource.definition["spec"];
        let api = format!(
            "{}/{}",
            names["group"].as_str().unwrap(),
            names["versions"][0]["name"].as_str().unwrap()
        );
        for field in spec_of(&resource)["properties"].as_object().unwrap().keys() {
            let kind = names["names"]["kind"].as_str().unwrap();
            let document = format!(
                "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{{field}: null, nonsense: 1}}\n"
            );
            let unknown: Vec<String> = remarks(&document)
                .into_iter()
                .filter(|message| message.contains("not known"))
                .collect();
            let [message] = unknown.as_slice() else { panic!("{kind} {field}: {unknown:?}") };
            assert!(message.contains("spec.nonsense"), "{kind}: {message}");
        }
    }
}
