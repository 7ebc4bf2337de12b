//! A part of a whole.

use std::fmt;

/// How much of something is of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// The part.
    pub(crate) part: i64,
    /// The whole, the part included.
    pub(crate) whole: i64,
}

impl Share {
    /// Adds to the whole, and to the part if it is of that sort.
    pub(crate) fn count(&mut self, amount: i64, is_part: bool) {
        self.whole = self.whole.saturating_add(amount);
        if is_part {
            self.part = self.part.saturating_add(amount);
        }
    }

    /// In thousandths, rounded; 0 where there is nothing.
    pub(crate) fn permille(self) -> i64 {
        if self.whole <= 0 {
            return 0;
        }
        let thousandths = i128::from(self.part) * 1000 + i128::from(self.whole) / 2;
        i64::try_from(thousandths / i128::from(self.whole)).unwrap_or(i64::MAX)
    }

    /// As a figure from 0 to 1, for output only; 0 where there is nothing.
    #[expect(clippy::cast_precision_loss, reason = "output only")]
    pub(crate) fn to_f64(self) -> f64 {
        if self.whole == 0 { 0.0 } else { self.part as f64 / self.whole as f64 }
    }
}

impl fmt::Display for Share {
    /// `78%`, or `-` where there is nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole == 0 {
            return f.write_str("-");
        }
        write!(f, "{}%", (self.permille() + 5) / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_rounded_and_nothing_has_none() {
        let share = |part, whole| Share { part, whole };
        assert_eq!(share(1, 3).permille(), 333);
        assert_eq!(share(2, 3).to_string(), "67%");
        assert_eq!(share(0, 0).to_string(), "-");
        assert_eq!(share(0, 0).permille(), 0);
        let mut counted = Share::default();
        counted.count(3, true);
        counted.count(1, false);
        assert_eq!(counted, share(3, 4));
    }
}
