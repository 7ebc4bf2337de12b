//! deny.toml against Cargo.lock: what of its rules needs no tool to be held; and what README.md
//! says about packages.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::{BTreeMap, BTreeSet};

use outrigger_tests::workspace::{Package, root};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn table(file: &str) -> toml::Table {
    std::fs::read_to_string(root().join(file)).unwrap().parse().unwrap()
}

fn list<'a>(table: &'a toml::Table, path: &[&str]) -> &'a [toml::Value] {
    let (last, above) = path.split_last().unwrap();
    let table = above.iter().fold(table, |table, name| table[*name].as_table().unwrap());
    table[*last].as_array().unwrap()
}

/// Name and version of every package of Cargo.lock, and the source of those that are not ours.
fn locked() -> Vec<(String, String, Option<String>)> {
    let lock = table("Cargo.lock");
    let text = |package: &toml::Value, key: &str| {
        package.get(key).and_then(toml::Value::as_str).map(str::to_owned)
    };
    let packages = list(&lock, &["package"]).iter();
    packages
        .map(|package| {
            (
                text(package, "name").unwrap(),
                text(package, "version").unwrap(),
                text(package, "source"),
            )
        })
        .collect()
}

#[test]
fn every_version_beside_a_newer_one_is_explained() {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version, _) in locked() {
        versions.entry(name).or_default().push(version);
    }
    // Cargo.lock is sorted by version as text; the newest is that of the largest numbers.
    let numbers = |version: &str| -> Vec<u64> {
        version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    let mut older = BTreeSet::new();
    for (name, mut own) in versions {
        own.sort_by_key(|version| numbers(version));
        own.pop();
        older.extend(own.into_iter().map(|version| format!("{name}@{version}")));
    }
    let deny = table("deny.toml");
    let skipped = list(&deny, &["bans", "skip"]);
    let explained: BTreeSet<String> =
        skipped.iter().map(|entry| entry["crate"].as_str().unwrap().to_owned()).collect();
    assert_eq!(older, explained, "older versions in Cargo.lock, and bans.skip of deny.toml");
    for entry in skipped {
        let reason = entry.get("reason").and_then(toml::Value::as_str).unwrap_or_default();
        assert!(reason.len() > 10, "{entry:?} has no reason");
    }
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let deny = table("deny.toml");
    let allowed = list(&deny, &["sources", "allow-registry"]);
    let allowed: Vec<String> =
        allowed.iter().map(|own| format!("registry+{}", own.as_str().unwrap())).collect();
    assert_eq!(allowed, [REGISTRY]);
    for (name, version, source) in locked() {
        let is_allowed = source.as_ref().is_none_or(|source| allowed.contains(source));
        assert!(is_allowed, "{name} {version} comes from {source:?}");
    }
}

#[test]
fn no_banned_crate_is_in_the_lock_file() {
    let deny = table("deny.toml");
    for banned in list(&deny, &["bans", "deny"]) {
        let name = banned["crate"].as_str().unwrap();
        assert!(locked().iter().all(|(own, ..)| own != name), "{name}: {:?}", banned["reason"]);
    }
}

/// Whether an SPDX expression can be met with allowed licences alone; `/` is an old way to write
/// OR.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    alternatives(&mut words, allowed)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn alternatives(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut is_met = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_met |= all_of(words, allowed);
    }
    is_met
}

fn all_of(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let mut is_met = licence(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= licence(words, allowed);
    }
    is_met
}

fn licence(words: &mut Words<'_>, allowed: &BTreeSet<String>) -> bool {
    let word = words.next().unwrap_or_default();
    if word == "(" {
        let is_met = alternatives(words, allowed);
        assert_eq!(words.next(), Some(")"));
        return is_met;
    }
    let exception = words.next_if_eq(&"WITH").and_then(|_| words.next());
    let name = exception.map_or(word.to_owned(), |exception| format!("{word} WITH {exception}"));
    allowed.contains(&name)
}

#[test]
fn expressions_of_licences_are_read_with_their_precedence() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "A WITH x".to_owned()]);
    assert!(is_met("MIT OR GPL-3.0", &allowed) && is_met("GPL-3.0/MIT", &allowed));
    assert!(!is_met("MIT AND GPL-3.0", &allowed) && is_met("GPL-3.0 AND B OR MIT", &allowed));
    assert!(!is_met("(MIT OR B) AND GPL-3.0", &allowed) && is_met("A WITH x", &allowed));
    assert!(!is_met("A", &allowed) && !is_met("", &allowed));
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let deny = table("deny.toml");
    let allowed: BTreeSet<String> = list(&deny, &["licenses", "allow"])
        .iter()
        .map(|own| own.as_str().unwrap().to_owned())
        .collect();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "the packages were not found");
    for package in packages {
        let expression = package["license"].as_str().unwrap_or_default();
        assert!(is_met(expression, &allowed), "{} is under {expression:?}", package["name"]);
    }
}

#[test]
fn our_packages_have_the_licence_that_dependencies_may_have() {
    let workspace = table("Cargo.toml");
    let licence = workspace["workspace"]["package"]["license"].as_str().unwrap().to_owned();
    let deny = table("deny.toml");
    let allowed = list(&deny, &["licenses", "allow"]);
    assert!(allowed.iter().any(|own| own.as_str() == Some(&licence)), "{licence}");
    for package in Package::all().unwrap() {
        let own = &package.manifest["package"]["license"];
        let inherits = own.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        assert!(inherits, "{} has a licence of its own", package.folder);
    }
}

/// Packages whose tests compile a client of AWS, themselves or by what they depend on.
fn packages_with_the_aws_sdk(packages: &[Package]) -> BTreeSet<&str> {
    let workspace = table("Cargo.toml");
    let shared = workspace["workspace"]["dependencies"].as_table().unwrap();
    let folder_of = |name: &str| shared.get(name)?.get("path")?.as_str();
    let is_optional =
        |how: &toml::Value| how.get("optional").and_then(toml::Value::as_bool).unwrap_or_default();
    let mut with: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = with.len();
        for package in packages {
            let needs_it = package.dependencies().iter().any(|(name, how)| {
                let is_client = name.starts_with("aws-sdk-") || *name == "aws-config";
                let leads_to_it = folder_of(name).is_some_and(|folder| with.contains(folder));
                !is_optional(how) && (is_client || leads_to_it)
            });
            if needs_it {
                with.insert(&package.folder);
            }
        }
        if with.len() == before {
            return with;
        }
    }
}

#[test]
fn the_readme_leaves_out_every_package_that_compiles_the_aws_sdk() {
    let packages = Package::all().unwrap();
    let with = packages_with_the_aws_sdk(&packages);
    let named = |package: &&Package| with.contains(&*package.folder);
    let expected: BTreeSet<&str> = packages
        .iter()
        .filter(named)
        .map(|package| package.manifest["package"]["name"].as_str().unwrap())
        .collect();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let words: Vec<&str> = readme.split(|c: char| c.is_whitespace() || c == '`').collect();
    let left_out: BTreeSet<&str> =
        words.windows(2).filter(|pair| pair[0] == "--exclude").map(|pair| pair[1]).collect();
    assert_eq!(left_out, expected, "packages after --exclude in README.md");
}
