//! Figures by family and size: what EC2's API does not report, from the tables in `data/`.
//!
//! A line is a family, a figure for the whole family (`-` for none), and `size=figure` for sizes
//! that have their own, between tabs.

use std::collections::BTreeMap;

use crate::error::CatalogError;
use crate::table::Columns;

/// A table of figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    by_family: BTreeMap<String, u64>,
    by_type: BTreeMap<String, u64>,
}

impl Figures {
    /// Reads a table, which goes by that name in errors.
    pub fn parse(table: &'static str, text: &str) -> Result<Self, CatalogError> {
        let mut figures = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut columns = Columns::of(table, index + 1, line);
            let family = columns.take()?;
            let whole = columns.take()?;
            if whole != "-" {
                let figure = whole.parse().map_err(|_| columns.error())?;
                figures.by_family.insert(family.to_owned(), figure);
            }
            while let Ok(item) = columns.take() {
                let (size, figure) = item.split_once('=').ok_or_else(|| columns.error())?;
                let figure = figure.parse().map_err(|_| columns.error())?;
                figures.by_type.insert(format!("{family}.{size}"), figure);
            }
        }
        Ok(figures)
    }

    /// The figure of this very type.
    pub fn of_size(&self, instance_type: &str) -> Option<u64> {
        self.by_type.get(instance_type).copied()
    }

    /// The figure of the type's family.
    pub fn of_family(&self, instance_type: &str) -> Option<u64> {
        self.by_family.get(instance_type.split('.').next()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stand_beside_the_family() {
        let figures =
            Figures::parse("prices", "# a comment\nt3\t41600\tnano=5200\nu-6tb1\t-\t56xlarge=7\n")
                .unwrap();
        assert_eq!(figures.of_family("t3.large"), Some(41_600));
        assert_eq!(figures.of_size("t3.nano"), Some(5200));
        assert_eq!(figures.of_size("t3.large"), None);
        assert_eq!(figures.of_family("u-6tb1.56xlarge"), None);
        assert!(Figures::parse("prices", "t3\t1\tnano").is_err());
    }
}
