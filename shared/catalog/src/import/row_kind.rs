//! The lists of AWS that rows are of.

use documents::{Data, Value};

/// Which list a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// A type, as DescribeInstanceTypes answers it.
    InstanceType,
    /// That a type is offered in a zone, as DescribeInstanceTypeOfferings answers it.
    Offering,
    /// A price in a zone since a moment, as DescribeSpotPriceHistory answers it.
    SpotPrice,
    /// A product, as GetProducts answers it.
    Product,
}

impl RowKind {
    /// All of them.
    pub(super) const ALL: [Self; 4] =
        [Self::InstanceType, Self::Offering, Self::SpotPrice, Self::Product];

    /// The list's name in what AWS answers.
    pub fn list(self) -> &'static str {
        match self {
            Self::InstanceType => "InstanceTypes",
            Self::Offering => "InstanceTypeOfferings",
            Self::SpotPrice => "SpotPriceHistory",
            Self::Product => "PriceList",
        }
    }

    /// How many rows: `1 product`, `7 products`.
    pub(super) fn counted(self, count: usize) -> String {
        let word = match self {
            Self::InstanceType => "instance type",
            Self::Offering => "offering",
            Self::SpotPrice => "spot price",
            Self::Product => "product",
        };
        if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
    }

    /// The kind of a row that stands alone, by what it holds.
    pub(super) fn of(row: &Value<'_>) -> Option<Self> {
        let has = |key: &str| row.get(key).is_some();
        match &row.data {
            // A PriceList holds JSON as text.
            Data::Text(text) if text.trim_start().starts_with('{') => Some(Self::Product),
            Data::Object(_) if has("product") => Some(Self::Product),
            Data::Object(_) if has("SpotPrice") => Some(Self::SpotPrice),
            Data::Object(_) if has("Location") => Some(Self::Offering),
            Data::Object(_) if has("VCpuInfo") => Some(Self::InstanceType),
            _ => None,
        }
    }
}
