//! What prices are: of which region, of when, and how much they can be relied on.

use std::fmt;

use catalog::price::{PRICED_REGION, factor_permille};
use domain::Text;
use domain::instance_type::{InstanceTypes, PriceSource, Pricing};
use simulation::report::Report;

pub(crate) use simulation::region::SaidBy;

/// What is to be said beside dollars.
#[derive(Clone, Debug)]
pub(crate) struct PriceNote {
    /// The region, where one is known.
    pub(crate) region: Option<Text>,
    /// What says so.
    pub(crate) said_by: SaidBy,
    /// What is known of all prices together.
    pub(crate) pricing: Pricing,
}

impl PriceNote {
    /// Of prices of a catalogue, for a region that something says.
    pub(crate) fn of(instance_types: &InstanceTypes, said_by: SaidBy) -> Self {
        let InstanceTypes { region, pricing, .. } = instance_types;
        Self { region: region.clone(), said_by, pricing: pricing.clone() }
    }
}

impl From<&Report> for PriceNote {
    fn from(report: &Report) -> Self {
        let Report { region, region_said_by, pricing, .. } = report;
        Self { region: region.clone(), said_by: region_said_by.clone(), pricing: pricing.clone() }
    }
}

impl fmt::Display for PriceNote {
    /// One line: `prices of ap-northeast-2 (30 nodes say so), estimated: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region, said_by, pricing: Pricing { source, spot, as_of } } = self;
        let as_of = as_of.as_deref().map(|day| format!(" of {day}")).unwrap_or_default();
        match region {
            Some(region) => write!(f, "prices of {region} ({said_by}), ")?,
            None => f.write_str("prices ")?,
        }
        match source {
            PriceSource::Listed => write!(f, "list prices{as_of}")?,
            PriceSource::Estimated => {
                let factor = region.as_deref().and_then(factor_permille).unwrap_or(1000);
                let (whole, thousandths) = (factor / 1000, factor % 1000);
                write!(
                    f,
                    "estimated: list prices of {PRICED_REGION}{as_of} × {whole}.{thousandths:03}"
                )?;
            }
            PriceSource::Imported => write!(f, "as the catalogue gives them{as_of}")?,
        }
        match (source, spot) {
            (PriceSource::Imported, PriceSource::Imported) => Ok(()),
            (_, PriceSource::Imported) => f.write_str("; spot as the catalogue gives it"),
            (PriceSource::Estimated, _) => f.write_str(", spot a share of them"),
            _ => f.write_str("; spot estimated from them"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        region: Option<&str>,
        said_by: SaidBy,
        (source, spot): (PriceSource, PriceSource),
        expected: &str,
    ) {
        let pricing = Pricing { source, spot, as_of: Some("2026-07".into()) };
        let note = PriceNote { region: region.map(Text::from), said_by, pricing };
        assert_eq!(note.to_string(), expected);
    }

    #[test]
    fn one_line_says_whose_prices_they_are_and_how_good() {
        check(
            Some("us-east-1"),
            SaidBy::Nothing,
            (PriceSource::Listed, PriceSource::Estimated),
            "prices of us-east-1 (nothing says another region), list prices of 2026-07; spot \
             estimated from them",
        );
        check(
            Some("ap-northeast-2"),
            SaidBy::Objects { kind: "node", count: 30 },
            (PriceSource::Estimated, PriceSource::Estimated),
            "prices of ap-northeast-2 (30 nodes say so), estimated: list prices of us-east-1 of \
             2026-07 × 1.229, spot a share of them",
        );
        check(
            None,
            SaidBy::Catalog,
            (PriceSource::Imported, PriceSource::Imported),
            "prices as the catalogue gives them of 2026-07",
        );
        check(
            None,
            SaidBy::Catalog,
            (PriceSource::Imported, PriceSource::Estimated),
            "prices as the catalogue gives them of 2026-07; spot estimated from them",
        );
        check(
            Some("us-gov-west-1"),
            SaidBy::Catalog,
            (PriceSource::Estimated, PriceSource::Imported),
            "prices of us-gov-west-1 (the catalogue says so), estimated: list prices of us-east-1 \
             of 2026-07 × 1.260; spot as the catalogue gives it",
        );
    }
}
