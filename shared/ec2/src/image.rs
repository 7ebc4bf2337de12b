//! Machine images: found by the terms of a node class, one kept for each kind of instance type.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms>.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use aws::budget::Bucket;
use aws::calls::ssm;
use aws_sdk_ec2::types::{ArchitectureValues, Filter, Image};
use controllers::ports::PortError;
use domain::image_age::{HeldBackImage, too_young_until};
use domain::label;
use domain::node_class::{ResolvedAmi, SelectorTerm};
use domain::requirement::Requirement;
use domain::{SignedDuration, Text, Timestamp};

use super::client::Ec2;
use super::filter::{filter, tag_filters};
use super::image_alias::{self, AliasError, AliasParameter, Variant};
use crate::calls::ec2;

/// The most parameters of one call.
const PARAMETERS_A_CALL: usize = 10;
const IMAGES_A_PAGE: i32 = 1000;
/// The prefix of image ids.
const IMAGE_ID_PREFIX: &str = "ami-";
/// The owners of images that a name selects where the term has no owner: anybody may publish an
/// image under any name.
const TRUSTED_OWNERS: [&str; 2] = ["self", IMAGES_OF_AWS];
/// The owner of the images that aliases stand for.
const IMAGES_OF_AWS: &str = "amazon";

/// Why images could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ImageError {
    #[error(transparent)]
    Alias(#[from] AliasError),
    #[error(transparent)]
    Call(#[from] PortError),
}

/// An image that a term selects, and its variant where the term is an alias.
#[derive(Clone, Debug)]
struct Candidate {
    image: Image,
    variant: Option<Variant>,
}

impl Ec2 {
    /// The images that the terms select and that are `min_age` old, in order of preference, and
    /// those that are too young.
    pub(super) async fn select_images(
        &self,
        terms: &[SelectorTerm],
        min_age: Option<SignedDuration>,
        now: Timestamp,
    ) -> Result<(Vec<ResolvedAmi>, Vec<HeldBackImage>), ImageError> {
        let mut ids: Vec<(Text, Option<Variant>)> = Vec::new();
        let mut candidates = Vec::new();
        for term in terms {
            if let Some(id) = &term.id {
                ids.push((id.clone(), None));
            } else if let Some(alias) = &term.alias {
                ids.extend(self.ids_of_alias(alias).await?);
            } else if let Some(path) = &term.ssm_parameter {
                let values = self.parameters(&BTreeSet::from([path.to_string()])).await?;
                ids.extend(values.into_values().map(|id| (id, None)));
            } else {
                let found = self.images(term_filters(term), owners(term)).await?;
                candidates
                    .extend(found.into_iter().map(|image| Candidate { image, variant: None }));
            }
        }
        if !ids.is_empty() {
            let wanted = ids.iter().map(|(id, _)| id.to_string());
            let wanted: BTreeSet<String> = wanted.collect();
            let found = self.images(vec![filter("image-id", wanted)], Vec::new()).await?;
            for (id, variant) in ids {
                let image = found.iter().find(|image| image.image_id() == Some(&*id));
                candidates.extend(image.map(|image| Candidate { image: image.clone(), variant }));
            }
        }
        let Some(min_age) = min_age else { return Ok((preferred(candidates, now), Vec::new())) };
        let aliases = terms.iter().filter_map(|term| term.alias.as_deref());
        for alias in aliases.filter(|alias| image_alias::is_latest(alias)) {
            candidates.extend(self.before_latest(alias, &candidates).await?);
        }
        let (old, held_back) = by_age(candidates, min_age, now);
        Ok((preferred(old, now), held_back))
    }

    /// The versions of an alias before the latest, which is among the candidates: those that are no
    /// younger, so that a version that AWS does not recommend yet, or no longer, is none.
    async fn before_latest(
        &self,
        alias: &str,
        candidates: &[Candidate],
    ) -> Result<Vec<Candidate>, ImageError> {
        let parameters = image_alias::parameters(alias, self.cluster.version)?;
        let latest = parameters.iter().filter_map(|own| {
            let is_its = |candidate: &&Candidate| {
                let name = candidate.image.name().unwrap_or_default();
                candidate.variant == Some(own.variant) && name.starts_with(&own.name_prefix)
            };
            Some((own, candidates.iter().find(is_its)?.image.creation_date()?))
        });
        let latest: Vec<(&AliasParameter, &str)> = latest.collect();
        if latest.is_empty() {
            return Ok(Vec::new());
        }
        let names: BTreeSet<String> =
            latest.iter().map(|(own, _)| format!("{}*", own.name_prefix)).collect();
        let filters = vec![filter("name", names), filter("state", ["available"])];
        let found = self.images(filters, vec![IMAGES_OF_AWS.to_owned()]).await?;
        Ok(versions_before(&latest, &found))
    }

    async fn ids_of_alias(&self, alias: &str) -> Result<Vec<(Text, Option<Variant>)>, ImageError> {
        let parameters = image_alias::parameters(alias, self.cluster.version)?;
        let paths = parameters.iter().map(|own| own.path.clone()).collect();
        let values = self.parameters(&paths).await?;
        let id = |path: &String| values.get(path).cloned();
        Ok(parameters.iter().filter_map(|own| Some((id(&own.path)?, Some(own.variant)))).collect())
    }

    /// The image ids in parameters, by path. A parameter that does not exist or holds no image id
    /// is left out.
    async fn parameters(
        &self,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Text>, PortError> {
        let paths: Vec<String> = paths.iter().cloned().collect();
        let mut values = BTreeMap::new();
        for paths in paths.chunks(PARAMETERS_A_CALL) {
            let call = self.calls.ssm.get_parameters().set_names(Some(paths.to_vec())).send();
            let answer = self.calls.send(Bucket::Ssm, ssm("GetParameters"), call).await?;
            for parameter in answer.parameters() {
                // A parameter requested by its ARN is returned with name and ARN.
                let names = [parameter.name(), parameter.arn()];
                let path =
                    names.into_iter().flatten().find(|own| paths.iter().any(|path| path == own));
                let id = parameter.value().filter(|value| value.starts_with(IMAGE_ID_PREFIX));
                if let Some((path, id)) = path.zip(id) {
                    values.insert(path.to_owned(), Text::from(id));
                }
            }
        }
        Ok(values)
    }

    async fn images(
        &self,
        filters: Vec<Filter>,
        owners: Vec<String>,
    ) -> Result<Vec<Image>, PortError> {
        let pages = self
            .calls
            .ec2
            .describe_images()
            .set_filters(Some(filters))
            .set_owners((!owners.is_empty()).then_some(owners))
            // Nodes that run deprecated images are not drifted while nothing newer is selected.
            .include_deprecated(true)
            .into_paginator()
            .page_size(IMAGES_A_PAGE)
            .send();
        let pages = self.calls.pages(Bucket::Describe, ec2("DescribeImages"), pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.images.unwrap_or_default()).collect())
    }
}

/// Of each parameter, the images that were created before the one it holds now.
fn versions_before(latest: &[(&AliasParameter, &str)], found: &[Image]) -> Vec<Candidate> {
    let mut before = Vec::new();
    for (own, newest) in latest {
        let is_before = |image: &&Image| {
            let name = image.name().unwrap_or_default();
            let created = image.creation_date().unwrap_or_default();
            // Times of one format in one zone compare as texts do.
            name.starts_with(&own.name_prefix) && created < *newest
        };
        let images = found.iter().filter(is_before).cloned();
        before.extend(images.map(|image| Candidate { image, variant: Some(own.variant) }));
    }
    before
}

/// Images that are old enough, and those that are not, by id. One without a creation date, which
/// EC2 does not have, counts as old.
fn by_age(
    candidates: Vec<Candidate>,
    min_age: SignedDuration,
    now: Timestamp,
) -> (Vec<Candidate>, Vec<HeldBackImage>) {
    let mut held_back = Vec::new();
    let mut old = Vec::new();
    for candidate in candidates {
        let created = candidate.image.creation_date().and_then(|own| own.parse().ok());
        let until = created.and_then(|created| too_young_until(created, min_age, now));
        match until.zip(candidate.image.image_id()) {
            Some((until, id)) => held_back.push(HeldBackImage { id: id.into(), until }),
            None => old.push(candidate),
        }
    }
    held_back.sort();
    held_back.dedup();
    (old, held_back)
}

fn term_filters(term: &SelectorTerm) -> Vec<Filter> {
    let name = term.name.as_deref().map(|name| filter("name", [name]));
    name.into_iter()
        .chain(tag_filters(&term.tags))
        .chain([filter("state", ["available"])])
        .collect()
}

fn owners(term: &SelectorTerm) -> Vec<String> {
    match (&term.owner, &term.name) {
        (Some(owner), _) => vec![owner.to_string()],
        (None, Some(_)) => TRUSTED_OWNERS.map(str::to_owned).to_vec(),
        (None, None) => Vec::new(),
    }
}

/// The best image for each set of instance types: not deprecated first, then the newest, then by
/// name. The result is sorted newest first, by id among equals: the first that fits a type is used.
fn preferred(mut candidates: Vec<Candidate>, now: Timestamp) -> Vec<ResolvedAmi> {
    let created = |own: &Candidate| own.image.creation_date().unwrap_or_default().to_owned();
    let name = |own: &Candidate| own.image.name().unwrap_or_default().to_owned();
    candidates.sort_by_key(|own| {
        (is_deprecated(&own.image, now), Reverse(created(own)), Reverse(name(own)))
    });
    let mut kept: Vec<(String, ResolvedAmi)> = Vec::new();
    for candidate in &candidates {
        let Some(requirements) = requirements(candidate) else { continue };
        if kept.iter().any(|(_, own)| own.requirements == requirements) {
            continue;
        }
        let Some(id) = candidate.image.image_id() else { continue };
        let ami = ResolvedAmi {
            id: id.into(),
            name: candidate.image.name().map(Text::from),
            is_deprecated: is_deprecated(&candidate.image, now),
            requirements,
        };
        kept.push((created(candidate), ami));
    }
    kept.sort_by(|(a_created, a), (b_created, b)| {
        b_created.cmp(a_created).then_with(|| a.id.cmp(&b.id))
    });
    kept.into_iter().map(|(_, ami)| ami).collect()
}

/// The instance types that an image is for; `None` for one that Kubernetes nodes cannot run.
fn requirements(candidate: &Candidate) -> Option<Vec<Requirement>> {
    let architecture = match candidate.image.architecture()? {
        ArchitectureValues::X8664 => "amd64",
        ArchitectureValues::Arm64 => "arm64",
        _ => return None,
    };
    let of_variant = candidate.variant.map(Variant::requirements).unwrap_or_default();
    let architecture = Requirement::is_in(label::ARCH, [architecture.into()]);
    Some(std::iter::once(architecture).chain(of_variant).collect())
}

fn is_deprecated(image: &Image, now: Timestamp) -> bool {
    let since = image.deprecation_time().and_then(|time| time.parse::<Timestamp>().ok());
    since.is_some_and(|since| since <= now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws::cluster::KubernetesVersion;

    const V1_33: KubernetesVersion = KubernetesVersion { major: 1, minor: 33 };

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn image(id: &str, created: &str) -> Image {
        Image::builder()
            .image_id(id)
            .name(format!("name-{id}"))
            .creation_date(format!("{created}T00:00:00.000Z"))
            .architecture(ArchitectureValues::X8664)
            .build()
    }

    fn candidate(image: Image) -> Candidate {
        Candidate { image, variant: None }
    }

    fn ids(candidates: Vec<Candidate>) -> Vec<String> {
        preferred(candidates, now()).into_iter().map(|own| own.id.to_string()).collect()
    }

    #[test]
    fn the_newest_image_of_an_architecture_is_kept() {
        let mut arm64 = image("ami-3", "2026-01-01");
        arm64.architecture = Some(ArchitectureValues::Arm64);
        let all = [image("ami-1", "2026-02-01"), image("ami-2", "2026-03-01"), arm64];
        assert_eq!(ids(all.map(candidate).to_vec()), ["ami-2", "ami-3"]);
    }

    #[test]
    fn a_deprecated_image_is_the_last_resort() {
        let deprecated = |mut image: Image| {
            image.deprecation_time = Some("2026-06-01T00:00:00.000Z".to_owned());
            image
        };
        let newer = deprecated(image("ami-2", "2026-03-01"));
        let both = vec![candidate(newer.clone()), candidate(image("ami-1", "2026-02-01"))];
        assert_eq!(ids(both), ["ami-1"]);
        let alone = preferred(vec![candidate(newer)], now());
        assert!(alone[0].is_deprecated);
    }

    #[test]
    fn the_newest_image_that_is_old_enough_is_kept_and_younger_ones_are_held_back() {
        let days = ["2026-11-01", "2026-11-12", "2026-11-19"];
        let all = days.map(|day| candidate(image(&format!("ami-{day}"), day)));
        let (old, held_back) = by_age(all.to_vec(), SignedDuration::from_hours(168), now());
        assert_eq!(ids(old), ["ami-2026-11-12"]);
        let until = "2026-11-26T00:00:00Z".parse().unwrap();
        assert_eq!(held_back, [HeldBackImage { id: "ami-2026-11-19".into(), until }]);
    }

    #[test]
    fn versions_of_an_alias_are_those_of_its_name_that_came_before_the_latest() {
        let named = |name: &str, created: &str| {
            let mut own = image(name, created);
            own.name = Some(name.to_owned());
            own
        };
        let parameters = image_alias::parameters("al2023@latest", V1_33).unwrap();
        let found = [
            named("amazon-eks-node-al2023-x86_64-standard-1.33-v1", "2026-11-01"),
            named("amazon-eks-node-al2023-x86_64-standard-1.33-v2", "2026-11-10"),
            named("amazon-eks-node-al2023-x86_64-standard-1.33-v3", "2026-11-20"),
            named("amazon-eks-node-al2023-x86_64-nvidia-1.33-v1", "2026-11-01"),
            named("amazon-eks-node-al2023-x86_64-standard-1.32-v1", "2026-11-01"),
        ];
        let latest = [(&parameters[0], "2026-11-10T00:00:00.000Z")];
        let names: Vec<String> = versions_before(&latest, &found)
            .iter()
            .map(|own| own.image.name().unwrap_or_default().to_owned())
            .collect();
        // The third was withdrawn, or is not recommended yet.
        assert_eq!(names, ["amazon-eks-node-al2023-x86_64-standard-1.33-v1"]);
    }

    #[test]
    fn one_image_may_serve_several_kinds_of_types() {
        let gpu = image("ami-9", "2026-02-01");
        let kinds = [Variant::Nvidia, Variant::Neuron];
        let both = kinds.map(|variant| Candidate { image: gpu.clone(), variant: Some(variant) });
        let kept = preferred(both.to_vec(), now());
        assert_eq!(kept.len(), 2);
        assert_eq!(
            kept[0].requirements[1].to_string(),
            "karpenter.k8s.aws/instance-gpu-count Exists"
        );
    }

    #[test]
    fn a_name_stands_for_images_of_trusted_owners() {
        let named = SelectorTerm { name: Some("my-*".into()), ..SelectorTerm::default() };
        assert_eq!(owners(&named), ["self", "amazon"]);
        let owned = SelectorTerm { owner: Some("111122223333".into()), ..named };
        assert_eq!(owners(&owned), ["111122223333"]);
    }
}
