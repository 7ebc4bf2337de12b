//! The rules that hold the code in shape, as DESIGN and ARCHITECTURE state them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::BTreeSet;

use outrigger_tests::workspace::{Package, Source, production, root, sources_under};

/// Crates by layer: each depends on crates of lower layers only.
const LAYERS: &[&[&str]] = &[
    &["documents", "domain", "parallel"],
    &["aws-script", "testkit"],
    &["manifests", "catalog"],
    &["planning", "checker", "recording"],
    &["controllers", "suggestion"],
    &["aws", "kubernetes", "simulation"],
    &["ec2"],
    &["lambda"],
];

/// Crates without I/O, clock, environment, global state and unseeded randomness. Of threads they
/// have what `parallel` gives them.
const PURE: &[&str] = &[
    "documents",
    "domain",
    "manifests",
    "catalog",
    "planning",
    "checker",
    "recording",
    "suggestion",
];

/// Where a package stands; functions above all of `shared`, and tests above everything.
fn layer(package: &Package) -> usize {
    match package.folder.split_once('/') {
        Some(("shared", name)) => LAYERS
            .iter()
            .position(|layer| layer.contains(&name))
            .unwrap_or_else(|| panic!("{} is in no layer", package.folder)),
        Some(("functions", _)) => LAYERS.len(),
        _ => LAYERS.len() + 1,
    }
}

fn packages() -> Vec<Package> {
    Package::all().unwrap()
}

/// Ours among what a package depends on.
fn own_dependencies<'a>(package: &'a Package, all: &'a [Package]) -> Vec<&'a Package> {
    let named = |name: &str| all.iter().find(|own| own.folder == format!("shared/{name}"));
    package.dependencies().into_iter().filter_map(|(name, _)| named(name)).collect()
}

#[test]
fn arrows_point_inwards_only() {
    let packages = packages();
    for package in &packages {
        for dependency in own_dependencies(package, &packages) {
            assert!(
                layer(dependency) < layer(package),
                "{} depends on {}, which is not further in",
                package.folder,
                dependency.folder
            );
        }
    }
}

#[test]
fn no_function_depends_on_another_but_the_binary_of_all() {
    let is_function = |folder: &str| folder.starts_with("functions/") && folder != "functions/cli";
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let workspace: toml::Table = workspace.parse().unwrap();
    let shared = workspace["workspace"]["dependencies"].as_table().unwrap();
    let path_of = |name: &str| shared.get(name)?.get("path")?.as_str();
    // The one binary of all functions puts them together.
    let composes = "functions/bootstrap";
    for package in packages().iter().filter(|package| package.folder != composes) {
        for (name, _) in package.dependencies() {
            let is_own = path_of(name).is_some_and(is_function);
            let is_of_function = package.folder.starts_with("functions/");
            assert!(!(is_own && is_of_function), "{} depends on {name}", package.folder);
        }
    }
}

#[test]
fn the_makers_of_tests_are_in_no_product() {
    for package in packages().iter().filter(|package| !package.folder.starts_with("tests")) {
        let dependencies = package.manifest.get("dependencies").and_then(toml::Value::as_table);
        for maker in ["testkit", "aws-script"] {
            let is_there = dependencies.is_some_and(|own| own.contains_key(maker));
            assert!(!is_there, "{} needs {maker} outside its tests", package.folder);
        }
    }
}

#[test]
fn the_checker_and_the_planner_do_not_know_each_other() {
    let packages = packages();
    for (one, other) in [("checker", "planning"), ("planning", "checker")] {
        let package = packages.iter().find(|package| package.name() == one).unwrap();
        let names: BTreeSet<&str> =
            package.dependencies().into_iter().map(|(name, _)| name).collect();
        assert!(!names.contains(other), "{one} depends on {other}");
    }
}

#[test]
fn vendors_are_named_where_they_are_at_home() {
    for package in packages() {
        for (name, _) in package.dependencies() {
            // The rig plays the kubelet and the user: it may not judge our adapter by our adapter.
            let homes: &[&str] = match name {
                "aws-script" => continue,
                _ if name.starts_with("aws-") => &["shared/aws", "shared/aws-script", "shared/ec2"],
                "kube" | "k8s-openapi" => &["shared/kubernetes", "tests/end-to-end"],
                _ => continue,
            };
            assert!(homes.contains(&&*package.folder), "{} depends on {name}", package.folder);
        }
    }
}

#[test]
fn pure_crates_depend_on_no_runtime_and_no_source_of_chance() {
    let banned = |name: &str| {
        [
            "tokio",
            "aws",
            "kube",
            "k8s",
            "hyper",
            "reqwest",
            "async",
            "futures",
            "rand",
            "getrandom",
            "chrono",
        ]
        .iter()
        .any(|start| name.starts_with(start))
    };
    for package in packages().iter().filter(|package| is_pure(package)) {
        for (name, _) in package.dependencies() {
            assert!(!banned(name), "{} depends on {name}", package.folder);
        }
    }
}

fn is_pure(package: &Package) -> bool {
    PURE.iter().any(|name| package.folder == format!("shared/{name}"))
}

/// Lines of production code that name something, as `file:line: text`.
fn lines_naming<'a>(
    sources: &'a [Source],
    names: &'a [&'a str],
) -> impl Iterator<Item = String> + 'a {
    sources.iter().flat_map(move |source| {
        source
            .production_lines()
            .filter(|(_, line)| names.iter().any(|name| names_it(line, name)))
            .map(|(number, line)| format!("{}:{number}: {}", source.path.display(), line.trim()))
    })
}

/// Whether a line names something as a word of its own: `HashMap` is not in `FxHashMap`.
fn names_it(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || character == '_')
    })
}

#[test]
fn pure_crates_read_no_clock_no_environment_and_no_file_and_draw_no_lots() {
    let banned = [
        "SystemTime",
        "Instant::now",
        "Timestamp::now",
        "Zoned::now",
        "env::var",
        "std::fs",
        "std::net",
        "std::process",
        "std::thread",
        "rand::",
        "RandomState",
        "async fn",
        "static mut",
        // Walked in an order that differs from run to run.
        "HashMap",
        "HashSet",
    ];
    let packages = packages();
    let sources: Vec<Source> = packages
        .iter()
        .filter(|package| is_pure(package))
        .flat_map(|package| production(package.sources()))
        .collect();
    assert!(sources.len() > 50, "the sources were not found");
    let found: Vec<String> = lines_naming(&sources, &banned).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// While Lambda freezes a process, its monotonic clock stands still: what it remembers would grow
/// old by the seconds in which it ran alone.
#[test]
fn what_processes_remember_ages_by_the_time_of_day() {
    let live_on = ["aws", "ec2", "kubernetes", "lambda"].map(|name| format!("shared/{name}"));
    let packages = packages();
    let sources: Vec<Source> = packages
        .iter()
        .filter(|package| live_on.contains(&package.folder))
        .flat_map(|package| production(package.sources()))
        .collect();
    assert!(sources.len() > 50, "the sources were not found");
    let found: Vec<String> = lines_naming(&sources, &["Instant::now"]).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_executes_a_plan_never_calls_the_planner_itself() {
    let packages = packages();
    let controllers =
        packages.iter().find(|package| package.folder == "shared/controllers").unwrap();
    // Controllers are handed their decisions; only those who put a program together name the
    // crates.
    let sources = production(controllers.sources());
    let steps: Vec<Source> = sources
        .into_iter()
        .filter(|source| source.path.to_string_lossy().contains("/steps"))
        .collect();
    assert!(!steps.is_empty(), "the steps of controllers were not found");
    let found: Vec<String> = lines_naming(&steps, &["planning::"]).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_package_takes_its_lints_and_versions_from_the_workspace() {
    for package in packages() {
        let lints = package.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        let inherits = lints.and_then(toml::Value::as_bool) == Some(true);
        assert!(inherits, "{} has lints of its own", package.folder);
        for (name, how) in package.dependencies() {
            let shared = how.get("workspace").and_then(toml::Value::as_bool) == Some(true);
            assert!(shared, "{} gives {name} a version of its own", package.folder);
        }
    }
}

#[test]
fn every_crate_says_at_its_root_what_it_is_for() {
    for package in packages() {
        let roots: Vec<Source> = package
            .sources()
            .into_iter()
            .filter(|source| {
                let source = source.path.to_string_lossy();
                source.ends_with("src/lib.rs") || source.ends_with("src/main.rs")
            })
            .collect();
        assert!(!roots.is_empty(), "{} has no root", package.folder);
        for root in roots {
            assert!(root.text.starts_with("//! "), "{} has no documentation", root.path.display());
        }
    }
}

/// Every Rust file of the repository.
fn all_sources() -> Vec<Source> {
    ["functions", "shared", "tests"]
        .iter()
        .flat_map(|folder| sources_under(&root().join(folder)))
        .collect()
}

#[test]
fn no_file_is_too_long_to_read() {
    let long: Vec<String> = all_sources()
        .iter()
        .map(|source| (source.text.lines().count(), source.path.display()))
        .filter(|(lines, _)| *lines > 900)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn nothing_is_left_undone_or_left_to_panic() {
    let packages = packages();
    let sources: Vec<Source> = packages
        .iter()
        .filter(|package| package.folder != "tests")
        .flat_map(|package| production(package.sources()))
        .collect();
    let banned = ["todo!", "unimplemented!", "dbg!", "unwrap()", "panic!"];
    let found: Vec<String> = lines_naming(&sources, &banned).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_page_on_architecture_names_every_package_and_explains_every_noun() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (map, glossary) = page.split_once("## Glossary").unwrap();
    for package in packages() {
        assert!(
            map.contains(&format!("| `{}` |", package.folder)),
            "{} is not in the code map",
            package.folder
        );
    }
    for noun in [
        "allocatable",
        "blocked node",
        "budget",
        "capacity type",
        "catalogue",
        "claim",
        "command",
        "consolidation",
        "daemon overhead",
        "disruption",
        "domain",
        "drift",
        "in flight",
        "lower bound",
        "node class",
        "nomination",
        "offering",
        "pending pod",
        "placement",
        "plan",
        "pool",
        "replacement",
        "shape",
        "snapshot",
        "violation",
        "virtual pod",
        "voluntary",
    ] {
        assert!(glossary.contains(&format!("| **{noun}** |")), "{noun} is not in the glossary");
    }
}

#[test]
fn names_are_found_as_words_and_test_modules_are_passed_over() {
    assert!(names_it("let map = HashMap::new();", "HashMap"));
    assert!(!names_it("let map = FxHashMap::default();", "HashMap"));
    let source = Source {
        path: "shared/x/src/noun.rs".into(),
        text: "fn a() {}\n// unwrap()\n#[cfg(test)]\nmod tests {\n    x.unwrap();\n}\n".into(),
    };
    assert_eq!(source.production_lines().collect::<Vec<_>>(), [(1, "fn a() {}")]);
    let declares =
        Source { path: "shared/x/src/lib.rs".into(), text: "#[cfg(test)]\nmod noun;\n".into() };
    assert_eq!(production(vec![source, declares]).len(), 1);
}
