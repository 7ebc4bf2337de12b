//! Bars of what is in use.

use std::fmt;

use crate::view::node_row::Usage;

/// `██████░░░░  62%`: what pods ask for, of what they may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// How full it is.
    pub(crate) usage: Usage,
    /// How many characters it takes, the figure not counted; none for the figure alone.
    pub(crate) length: u32,
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(percent) = self.usage.percent() else {
            return f.write_str("-");
        };
        let full = (percent.min(100) * self.length + 50) / 100;
        for cell in 0..self.length {
            f.write_str(if cell < full { "█" } else { "░" })?;
        }
        let space = if self.length == 0 { "" } else { " " };
        write!(f, "{space}{percent:>3}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(used: i64, allocatable: i64) -> String {
        Bar { usage: Usage { used, allocatable }, length: 10 }.to_string()
    }

    #[track_caller]
    fn check(used: i64, expected: &str) {
        assert_eq!(bar(used, 1000), expected);
    }

    #[test]
    fn a_bar_is_as_full_as_its_node() {
        check(0, "░░░░░░░░░░   0%");
        check(620, "██████░░░░  62%");
        check(1000, "██████████ 100%");
    }

    #[test]
    fn a_bar_never_runs_over_and_its_figure_does() {
        check(1500, "██████████ 150%");
    }

    #[test]
    fn without_length_only_the_figure_is_left() {
        let usage = Usage { used: 620, allocatable: 1000 };
        assert_eq!(Bar { usage, length: 0 }.to_string(), " 62%");
    }

    #[test]
    fn nothing_to_use_has_no_bar() {
        assert_eq!(bar(5, 0), "-");
    }
}
