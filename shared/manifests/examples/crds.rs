//! Writes the CustomResourceDefinitions to a folder: `cargo run -p outrigger-manifests --example
//! crds -- FOLDER`.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("the folder to write to is missing")?);
    for resource in manifests::custom_resources() {
        std::fs::write(folder.join(&resource.file), resource.to_yaml()?)?;
    }
    Ok(())
}
