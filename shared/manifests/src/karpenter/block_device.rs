//! `blockDeviceMappings` of an EC2NodeClass.

use domain::node_class::BlockDeviceMapping;
use domain::quantity::Quantity;

use crate::field::Field;

/// Most volumes.
pub(super) const MAPPINGS_MAX: usize = 50;
/// What `volumeInitializationRate` may be, in MiB/s.
pub(super) const INITIALIZATION_RATE: std::ops::RangeInclusive<u32> = 100..=300;
/// Units of `volumeSize`, each with its largest number: what EBS makes of one volume.
const SIZES: [(&str, i64); 4] = [("Gi", 59_000), ("G", 64_000), ("Ti", 58), ("T", 64)];
/// Kinds of volume.
pub(super) const VOLUME_TYPES: [((), &str); 7] = [
    ((), "standard"),
    ((), "io1"),
    ((), "io2"),
    ((), "gp2"),
    ((), "sc1"),
    ((), "st1"),
    ((), "gp3"),
];

/// Which rule a volume breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockDeviceRule {
    /// Too many volumes.
    #[error("{0} volumes are too many: at most 50 are allowed")]
    TooMany(usize),
    /// Two roots.
    #[error("only one volume can be the rootVolume")]
    TwoRoots,
    /// A volume of no size.
    #[error("snapshotID or volumeSize is needed")]
    NoSize,
    /// Not a size.
    #[error(
        "{0:?} is not a volume's size: it takes a whole number of Gi, G, Ti or T, at most 58Ti or 64T"
    )]
    Size(String),
    /// A rate that EBS does not have.
    #[error("volumeInitializationRate {0} is out of range: it takes 100 to 300 MiB/s")]
    InitializationRate(u32),
    /// A rate without something to load.
    #[error("volumeInitializationRate needs snapshotID beside it")]
    RateWithoutSnapshot,
}

/// Reads the volumes.
pub(crate) fn read_block_devices(list: Field<'_>) -> Vec<BlockDeviceMapping> {
    let mappings: Vec<_> = list.items().map(read_mapping).collect();
    if mappings.len() > MAPPINGS_MAX {
        list.note_rule(BlockDeviceRule::TooMany(mappings.len()));
    }
    if mappings.iter().filter(|mapping| mapping.root_volume).count() > 1 {
        list.note_rule(BlockDeviceRule::TwoRoots);
    }
    mappings
}

fn read_mapping(item: Field<'_>) -> BlockDeviceMapping {
    item.only_or_newer(&["deviceName", "rootVolume", "ebs"]);
    let ebs = item.get("ebs");
    ebs.only_or_newer(&[
        "deleteOnTermination",
        "encrypted",
        "iops",
        "kmsKeyID",
        "snapshotID",
        "throughput",
        "volumeInitializationRate",
        "volumeSize",
        "volumeType",
    ]);
    check_ebs(ebs);
    BlockDeviceMapping {
        device_name: item.get("deviceName").text(),
        root_volume: item.get("rootVolume").bool().unwrap_or(false),
        volume_size_bytes: ebs.get("volumeSize").parsed(parse_size),
        volume_type: ebs.get("volumeType").text(),
        iops: ebs.get("iops").count(),
        throughput: ebs.get("throughput").count(),
        encrypted: ebs.get("encrypted").bool(),
        delete_on_termination: ebs.get("deleteOnTermination").bool(),
        kms_key_id: ebs.get("kmsKeyID").text(),
        snapshot_id: ebs.get("snapshotID").text(),
        volume_initialization_rate: ebs.get("volumeInitializationRate").count(),
    }
}

fn check_ebs(ebs: Field<'_>) {
    let has_snapshot = ebs.get("snapshotID").exists();
    if ebs.exists() && !has_snapshot && !ebs.get("volumeSize").exists() {
        ebs.note_rule(BlockDeviceRule::NoSize);
    }
    ebs.get("volumeType").choice(&VOLUME_TYPES);
    let rate = ebs.get("volumeInitializationRate");
    if let Some(found) = rate.count() {
        if !INITIALIZATION_RATE.contains(&found) {
            rate.note_rule(BlockDeviceRule::InitializationRate(found));
        }
        if !has_snapshot {
            rate.note_rule(BlockDeviceRule::RateWithoutSnapshot);
        }
    }
}

fn parse_size(text: &str) -> Result<i64, BlockDeviceRule> {
    let malformed = || BlockDeviceRule::Size(text.to_owned());
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(malformed)?;
    let (number, unit) = text.split_at(unit_at);
    let (_, most) = SIZES.iter().find(|(known, _)| *known == unit).ok_or_else(malformed)?;
    let in_range = number.parse::<i64>().is_ok_and(|number| (1..=*most).contains(&number));
    let size: Quantity = text.parse().map_err(|_| malformed())?;
    if in_range { Ok(size.to_units_ceil()) } else { Err(malformed()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_of_four_units() {
        assert_eq!(parse_size("100Gi"), Ok(100 << 30));
        assert_eq!(parse_size("100G"), Ok(100_000_000_000));
        assert_eq!(parse_size("58Ti"), Ok(58 << 40));
        assert_eq!(parse_size("64T"), Ok(64_000_000_000_000));
        for text in ["", "100", "0Gi", "1.5Gi", "100Mi", "59001Gi", "59Ti", "65T", "-1Gi", "Gi"] {
            assert_eq!(parse_size(text), Err(BlockDeviceRule::Size(text.into())));
        }
    }
}
