//! Sizes of instance types, as regional Reserved Instances count them.

/// Families of whose regional Reserved Instances each holds for its own size only.
///
/// Source: EC2 User Guide, "How Reserved Instance discounts are applied", limitations for instance
/// size flexibility.
const ONE_SIZE_FAMILIES: &[&str] = &[
    "g4ad", "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "hpc7a", "inf1", "inf2", "p5",
];

/// Families of large memory begin so; their Reserved Instances hold for their own size only.
const ONE_SIZE_PREFIXES: &[&str] = &["u-", "u7i"];

/// The normalization factor of an xlarge, in quarters: what multiples of it are counted by.
const XLARGE: i64 = 32;

/// The family of an instance type: `m7g` of `m7g.large`.
pub(super) fn family(instance_type: &str) -> &str {
    instance_type.split_once('.').map_or(instance_type, |(family, _)| family)
}

/// Whether regional Reserved Instances of the type hold for all sizes of its family.
pub(super) fn is_flexible(instance_type: &str) -> bool {
    let family = family(instance_type);
    units(instance_type).is_some()
        && !ONE_SIZE_FAMILIES.contains(&family)
        && !ONE_SIZE_PREFIXES.iter().any(|prefix| family.starts_with(prefix))
}

/// The normalization factor of an instance type's size, in quarters: 16 for a large. `None` for a
/// size whose name does not say it, such as `metal`.
pub(super) fn units(instance_type: &str) -> Option<i64> {
    let (_, size) = instance_type.split_once('.')?;
    let named = match size {
        "nano" => 1,
        "micro" => 2,
        "small" => 4,
        "medium" => 8,
        "large" => 16,
        "xlarge" => XLARGE,
        _ => {
            let of_metal = size.strip_prefix("metal-").and_then(|own| own.strip_suffix("xl"));
            let times = of_metal.or_else(|| size.strip_suffix("xlarge"))?;
            let times: i64 = times.parse().ok().filter(|times| (1..=1_000).contains(times))?;
            times * XLARGE
        }
    };
    Some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_by_their_normalization_factors() {
        let sizes = ["nano", "small", "medium", "large", "xlarge", "3xlarge", "48xlarge"];
        let factors = sizes.map(|size| units(&format!("m7g.{size}")).unwrap());
        assert_eq!(factors, [1, 4, 8, 16, 32, 96, 1_536]);
        assert_eq!(units("m7i.metal-24xl"), units("m7i.24xlarge"));
        assert_eq!(units("m5.metal"), None);
        assert_eq!(units("m5"), None);
    }

    #[test]
    fn some_families_are_reserved_size_by_size() {
        assert!(is_flexible("m7g.large"));
        assert!(!is_flexible("g5.xlarge"));
        assert!(!is_flexible("u-6tb1.56xlarge"));
        assert!(!is_flexible("m5.metal"));
    }
}
