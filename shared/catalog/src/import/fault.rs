//! What can be wrong with lists of AWS.

use std::collections::BTreeMap;
use std::fmt;

use documents::{Place, with_short_quotes};
use domain::Text;

use super::row_kind::RowKind;

/// Something that was left out because it is wrong, and where it stands.
///
/// Shown as `WHAT (FILE:LINE, object NAME, field PATH)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportProblem {
    /// What is wrong.
    pub fault: ImportFault,
    /// Where.
    pub place: Place,
}

/// What is wrong with a row, or with a document of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportFault {
    /// The text is neither JSON nor YAML, or means nothing.
    #[error("{0}")]
    Syntax(String),
    /// A document holds none of the lists.
    #[error(
        "it holds none of InstanceTypes, InstanceTypeOfferings, SpotPriceHistory and PriceList, \
         which the AWS CLI prints"
    )]
    UnknownDocument,
    /// Of a list that is none.
    #[error("{list} should be a list, and is {found}", list = .0.list(), found = .1)]
    NoList(RowKind, String),
    /// A row is not of the form that AWS answers.
    #[error("{0}")]
    Unreadable(String),
    /// A price is no number, or not above zero.
    #[error("the price {0:?} is not a number of dollars")]
    Price(String),
    /// A time is malformed.
    #[error("the time {0:?} is not one of RFC 3339")]
    Moment(String),
    /// A type without CPU or memory.
    #[error("it has no vCPU or no memory")]
    NoAmounts,
    /// Offerings by region, which is what EC2 lists without its option, or by zone id.
    #[error("offerings by {0}, not by zone: list them with --location-type availability-zone")]
    NotByZone(String),
    /// Rows of other regions than the catalogue's.
    #[error("{} not of region {region} left out: {}", .kind.counted(.found.values().sum()), listed(.found))]
    OtherRegions {
        /// Which rows.
        kind: RowKind,
        /// How many of each other region.
        found: BTreeMap<Text, usize>,
        /// The catalogue's.
        region: Text,
    },
    /// More rows that cannot be read than are reported one by one.
    #[error("{} more cannot be read", .kind.counted(*.count))]
    More {
        /// Which rows.
        kind: RowKind,
        /// How many.
        count: usize,
    },
}

/// `412 of us-west-2, 1 of eu-west-1`.
fn listed(found: &BTreeMap<Text, usize>) -> String {
    let each = found.iter().map(|(region, count)| format!("{count} of {region}"));
    each.collect::<Vec<_>>().join(", ")
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", with_short_quotes(&self.fault.to_string()), self.place)
    }
}

impl std::error::Error for ImportProblem {}
