//! Quotas of vCPUs, each of which several families of instance types share.
//!
//! Source: <https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html>.

/// Families of the standard quota, by their letters.
const STANDARD: [&str; 11] = ["a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"];
/// Families of graphics instances, which share a quota.
const GRAPHICS: [&str; 3] = ["g", "gr", "vt"];

/// Whether two instance types draw on the same quota, for on-demand and for spot alike. Where one
/// of the two tells families apart and the other does not, they count as apart: a type that is
/// passed over for nothing costs more than one that is tried in vain.
pub(super) fn share_quota(one: &str, other: &str) -> bool {
    quota(one) == quota(other)
}

fn quota(instance_type: &str) -> &str {
    let family_end = instance_type.find(|c: char| !c.is_ascii_lowercase());
    let letters = &instance_type[..family_end.unwrap_or(instance_type.len())];
    if STANDARD.contains(&letters) {
        "standard"
    } else if GRAPHICS.contains(&letters) {
        "graphics"
    } else if instance_type.starts_with("p5") {
        // Spot has a quota of P5 beside the one of older P.
        "p5"
    } else {
        letters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_share_the_quota_of_their_kind() {
        for (one, other) in [
            ("m5.large", "c7gn.metal"),
            ("t3a.nano", "z1d.12xlarge"),
            ("i4i.large", "is4gen.medium"),
            ("g4dn.xlarge", "gr6.4xlarge"),
            ("g5g.metal", "vt1.3xlarge"),
            ("x1e.32xlarge", "x2gd.large"),
            ("u-6tb1.metal", "u7i-12tb.224xlarge"),
            ("p3.2xlarge", "p4d.24xlarge"),
        ] {
            assert!(share_quota(one, other), "{one} {other}");
        }
    }

    #[test]
    fn accelerated_families_have_their_own() {
        let families = [
            "m5.large",
            "g5.large",
            "p4d.24xlarge",
            "p5.48xlarge",
            "inf2.xlarge",
            "trn1.2xlarge",
            "dl1.24xlarge",
            "f1.2xlarge",
            "x2gd.large",
            "hpc7g.4xlarge",
            "u-6tb1.metal",
            "mac2.metal",
        ];
        for (index, one) in families.iter().enumerate() {
            for other in &families[index + 1..] {
                assert!(!share_quota(one, other), "{one} {other}");
            }
        }
    }
}
