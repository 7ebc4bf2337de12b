//! What is worth saying of an import in which nothing is wrong.

use std::collections::BTreeMap;
use std::fmt;

use domain::Text;

use super::row_kind::RowKind;

/// Most names that a remark lists.
const NAMES_SHOWN_MAX: usize = 8;

/// Something that was missing, or left out because it is of no use to nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportRemark {
    /// No `InstanceTypes`: what the program knows of types stands in.
    NoInstanceTypes,
    /// No `InstanceTypeOfferings`: zones that the program knows stand in.
    NoOfferings,
    /// No `SpotPriceHistory`: spot prices are estimates.
    NoSpotPrices,
    /// Every document of a list says that it goes on.
    Continues(RowKind),
    /// Types that are offered and not described: they are not in the catalogue.
    Undescribed(Vec<Text>),
    /// Types that are sold on demand and have no price: they are in the catalogue, and not
    /// available.
    Unpriced {
        /// Their names.
        types: Vec<Text>,
        /// How many are sold.
        of: usize,
    },
    /// Rows that nodes have no use for.
    LeftOut {
        /// Which rows.
        kind: RowKind,
        /// How many, by why.
        why: BTreeMap<&'static str, usize>,
    },
}

impl ImportRemark {
    /// Whether the catalogue is less than it could be.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Self::LeftOut { .. })
    }
}

impl fmt::Display for ImportRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInstanceTypes => f.write_str(
                "no InstanceTypes: types are described as this version of outrigger knows them; \
                 `aws ec2 describe-instance-types` prints what they are today",
            ),
            Self::NoOfferings => f.write_str(
                "no InstanceTypeOfferings: types are taken to be sold in the zones that this \
                 version of outrigger knows; `aws ec2 describe-instance-type-offerings \
                 --location-type availability-zone` prints those of today",
            ),
            Self::NoSpotPrices => f.write_str(
                "no SpotPriceHistory: spot prices are estimated as a share of the on-demand price \
                 (30 to 45 %, by the kind of type); `aws ec2 describe-spot-price-history` prints \
                 real ones",
            ),
            Self::Continues(kind) => write!(
                f,
                "every document with {} has a NextToken: the list goes on, and its last page is \
                 missing",
                kind.list()
            ),
            Self::Undescribed(types) => write!(
                f,
                "{} {} offered and not described in InstanceTypes, and left out: {}",
                counted(types.len()),
                if types.len() == 1 { "is" } else { "are" },
                Names(types)
            ),
            Self::Unpriced { types, of } => write!(
                f,
                "no on-demand price of {} of {of}, not available on demand: {}",
                counted(types.len()),
                Names(types)
            ),
            Self::LeftOut { kind, why } => {
                let all: usize = why.values().sum();
                let each = why.iter().map(|(why, count)| format!("{count} {why}"));
                let each: Vec<String> = each.collect();
                write!(f, "left out {}: {}", kind.counted(all), each.join(", "))
            }
        }
    }
}

fn counted(types: usize) -> String {
    if types == 1 { "1 type".to_owned() } else { format!("{types} types") }
}

/// Some names, and how many more there are.
struct Names<'a>(&'a [Text]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<&str> = self.0.iter().take(NAMES_SHOWN_MAX).map(|name| &**name).collect();
        f.write_str(&shown.join(", "))?;
        match self.0.len().saturating_sub(shown.len()) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
