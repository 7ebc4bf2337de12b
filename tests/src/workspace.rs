//! The workspace's own manifests and sources, as data for the rules about them.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// A package of the workspace.
#[derive(Debug)]
pub struct Package {
    /// Its folder from the root, such as `shared/domain`.
    pub folder: String,
    /// Its Cargo.toml.
    pub manifest: toml::Table,
}

impl Package {
    /// Every package that the workspace lists; an error where a Cargo.toml cannot be read.
    pub fn all() -> Result<Vec<Self>, Box<dyn std::error::Error>> {
        let workspace = read(&root().join("Cargo.toml"))?;
        let members = workspace
            .get("workspace")
            .and_then(|workspace| workspace.get("members"))
            .and_then(toml::Value::as_array)
            .ok_or("the workspace lists no members")?;
        let folders = members.iter().filter_map(toml::Value::as_str);
        folders
            .map(|folder| {
                let manifest = read(&root().join(folder).join("Cargo.toml"))?;
                Ok(Self { folder: folder.to_owned(), manifest })
            })
            .collect()
    }

    /// The last part of its folder: what its crate is called inside the workspace.
    pub fn name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or(&self.folder)
    }

    /// What it depends on in any way, build and test included, with how each is declared.
    pub fn dependencies(&self) -> Vec<(&str, &toml::Value)> {
        ["dependencies", "dev-dependencies", "build-dependencies"]
            .into_iter()
            .filter_map(|section| self.manifest.get(section)?.as_table())
            .flat_map(|table| table.iter().map(|(name, how)| (name.as_str(), how)))
            .collect()
    }

    /// Its Rust sources.
    pub fn sources(&self) -> Vec<Source> {
        sources_under(&root().join(&self.folder).join("src"))
    }
}

fn read(path: &Path) -> Result<toml::Table, Box<dyn std::error::Error>> {
    Ok(std::fs::read_to_string(path)?.parse()?)
}

/// A Rust source file.
#[derive(Debug)]
pub struct Source {
    /// From the root.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

/// The Rust sources under a folder, by path.
pub fn sources_under(folder: &Path) -> Vec<Source> {
    let mut sources: Vec<Source> = files_under(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| {
            let text = std::fs::read_to_string(&path).ok()?;
            Some(Source { path: path.strip_prefix(root()).unwrap_or(&path).to_owned(), text })
        })
        .collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() { files_under(&path) } else { vec![path] }
        })
        .collect()
}

impl Source {
    /// Its lines of production code: comments, and modules that are compiled for tests only, left
    /// out. Each with its number.
    pub fn production_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let end = self.text.lines().zip(self.text.lines().skip(1)).position(|(line, next)| {
            line == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{')
        });
        let code = self.text.lines().enumerate().take(end.unwrap_or(usize::MAX));
        code.map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Files that are compiled for tests only, as this one declares them: `x.rs`, and all under
    /// `x/`.
    fn test_modules(&self) -> impl Iterator<Item = PathBuf> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let beside = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let holds_crate = ["lib", "main", "mod"].contains(&&*stem);
        let folder = if holds_crate { beside } else { beside.join(stem) };
        let pairs = self.text.lines().zip(self.text.lines().skip(1));
        pairs
            .filter(|(line, _)| line.trim() == "#[cfg(test)]")
            .filter_map(|(_, next)| next.strip_suffix(';')?.rsplit_once("mod "))
            .map(|(_, name)| name.to_owned())
            .collect::<Vec<_>>()
            .into_iter()
            .map(move |name| folder.join(name))
    }
}

/// The sources that end up in the product: without files that are compiled for tests only.
pub fn production(sources: Vec<Source>) -> Vec<Source> {
    let tests: Vec<PathBuf> = sources.iter().flat_map(Source::test_modules).collect();
    sources
        .into_iter()
        .filter(|source| {
            let path = source.path.with_extension("");
            !tests.iter().any(|module| path.starts_with(module))
        })
        .collect()
}
