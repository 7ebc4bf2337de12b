//! Images: which are published, and which of them a node class selects.

use domain::image_age::{HeldBackImage, too_young_until};
use domain::node_class::{Ec2NodeClass, ResolvedAmi, SelectorTerm};
use domain::{Text, Timestamp};

use crate::seed::Seed;

/// An image that the scenario knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedImage {
    /// `ami-…`.
    pub id: Text,
    /// The family whose alias stands for it, such as `al2023`.
    pub alias: Text,
    /// When it is published.
    pub created: Timestamp,
    /// Whether instances that boot from it join the cluster.
    pub joins: bool,
}

/// What the terms of a class select.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selected {
    /// In order of preference.
    pub(crate) images: Vec<ResolvedAmi>,
    /// Those that are too young.
    pub(crate) held_back: Vec<HeldBackImage>,
}

/// The images that a node class selects: the newest of its alias that are published and old enough;
/// where the scenario knows none of them, what [`resolved_images`] says.
pub(crate) fn select(
    published: &[PublishedImage],
    seed: Seed,
    class: &Ec2NodeClass,
    now: Timestamp,
) -> Selected {
    let own: Vec<&PublishedImage> = of_class(published, class).collect();
    if own.is_empty() {
        return Selected { images: resolved_images(seed, class), held_back: Vec::new() };
    }
    let mut selected = Selected::default();
    let mut newest: Option<&PublishedImage> = None;
    for image in own.into_iter().filter(|image| image.created <= now) {
        let min = class.image_age.min.unwrap_or_default();
        match too_young_until(image.created, min, now) {
            Some(until) => selected.held_back.push(HeldBackImage { id: image.id.clone(), until }),
            None => newest = newest.into_iter().chain([image]).max_by_key(|own| own.created),
        }
    }
    selected.held_back.sort();
    selected.images.extend(newest.map(|own| image(own.id.clone())));
    selected
}

/// Whether what classes select changes after one moment and until another, by itself.
pub(crate) fn changes<'c>(
    published: &[PublishedImage],
    mut classes: impl Iterator<Item = &'c Ec2NodeClass>,
    (from, to): (Timestamp, Timestamp),
) -> bool {
    let is_between = |moment: Timestamp| from < moment && moment <= to;
    classes.any(|class| {
        let min = class.image_age.min.unwrap_or_default();
        of_class(published, class).any(|own| {
            let grown = own.created.checked_add(min).unwrap_or(Timestamp::MAX);
            is_between(own.created) || is_between(grown)
        })
    })
}

fn of_class<'p>(
    published: &'p [PublishedImage],
    class: &Ec2NodeClass,
) -> impl Iterator<Item = &'p PublishedImage> {
    let is_latest = move |family: &str| {
        let alias = |term: &SelectorTerm| {
            let alias = term.alias.as_deref().and_then(|own| own.split_once('@'));
            alias == Some((family, "latest"))
        };
        class.spec.ami_selector_terms.iter().any(alias)
    };
    published.iter().filter(move |own| is_latest(&own.alias))
}

fn image(id: Text) -> ResolvedAmi {
    ResolvedAmi { id, name: None, is_deprecated: false, requirements: Vec::new() }
}

/// The images that a node class selects, in order of preference: those that its status names, those
/// that its terms name, or one that other terms would not find.
pub(crate) fn resolved_images(seed: Seed, class: &Ec2NodeClass) -> Vec<ResolvedAmi> {
    if !class.status.amis.is_empty() {
        return class.status.amis.clone();
    }
    let terms = &class.spec.ami_selector_terms;
    let named: Vec<ResolvedAmi> =
        terms.iter().filter_map(|own| own.id.clone()).map(image).collect();
    if !named.is_empty() {
        return named;
    }
    let words = |term: &SelectorTerm| {
        let SelectorTerm { tags, id: _, name, owner, alias, ssm_parameter, .. } = term;
        format!("{tags:?} {name:?} {owner:?} {alias:?} {ssm_parameter:?}")
    };
    let words: Vec<String> = terms.iter().map(words).collect();
    vec![image(format!("ami-{}", seed.draw("image", &words.join(" ")).hex(17)).into())]
}
