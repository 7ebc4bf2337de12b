//! Bars of what is in use.

use std::fmt;

use crate::view::node_row::Usage;

/// Cells of a bar.
const WIDTH: u32 = 10;

/// `██████░░░░  62%`: what pods ask for, of what they may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar(pub(crate) Usage);

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(percent) = self.0.percent() else {
            return f.write_str("-");
        };
        let full = (percent.min(100) * WIDTH + 50) / 100;
        for cell in 0..WIDTH {
            f.write_str(if cell < full { "█" } else { "░" })?;
        }
        write!(f, " {percent:>3}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(used: i64, expected: &str) {
        assert_eq!(Bar(Usage { used, allocatable: 1000 }).to_string(), expected);
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
    fn nothing_to_use_has_no_bar() {
        assert_eq!(Bar(Usage { used: 5, allocatable: 0 }).to_string(), "-");
    }
}
