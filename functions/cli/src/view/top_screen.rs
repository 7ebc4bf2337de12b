//! What a live view of nodes shows of them, and what keys change of that. It knows no terminal.

use std::cmp::Ordering;

use super::node_columns::NodeColumns;
use super::node_row::NodeRow;

/// What nodes are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Their names.
    #[default]
    Name,
    /// The share of CPU that is requested, the least first.
    Cpu,
    /// The share of memory that is requested, the least first.
    Memory,
    /// The number of pods, the fewest first.
    Pods,
    /// The dearest first.
    Price,
    /// The youngest first.
    Age,
}

impl Sort {
    /// What a key sorts by.
    const fn of_key(key: char) -> Option<Self> {
        match key {
            'n' => Some(Self::Name),
            'c' => Some(Self::Cpu),
            'm' => Some(Self::Memory),
            'p' => Some(Self::Pods),
            '$' => Some(Self::Price),
            'a' => Some(Self::Age),
            _ => None,
        }
    }

    /// What it is called.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Pods => "pods",
            Self::Price => "price",
            Self::Age => "age",
        }
    }

    fn compare(self, one: &NodeRow, other: &NodeRow) -> Ordering {
        match self {
            Self::Name => Ordering::Equal,
            Self::Cpu => one.cpu.percent().cmp(&other.cpu.percent()),
            Self::Memory => one.memory.percent().cmp(&other.memory.percent()),
            Self::Pods => one.pods.cmp(&other.pods),
            Self::Price => other.price.cmp(&one.price),
            Self::Age => one.age.cmp(&other.age),
        }
    }
}

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A letter, digit or sign.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// A line up.
    Up,
    /// A line down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Ctrl-C.
    Interrupt,
}

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// What is shown may have changed.
    Redraw,
    /// The cluster is to be looked at now.
    Refresh,
    /// The end.
    Quit,
}

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopScreen {
    /// What nodes are sorted by.
    pub(crate) sort: Sort,
    /// The other way round.
    pub(crate) is_reversed: bool,
    /// Only nodes with this in their row.
    pub(crate) filter: String,
    /// The filter is being typed.
    pub(crate) is_typing: bool,
    /// Rows that are scrolled away.
    pub(crate) offset: usize,
}

impl TopScreen {
    /// A page of scrolling, in rows.
    const PAGE: usize = 10;

    /// Takes note of a key.
    pub(crate) fn press(&mut self, key: Key) -> Outcome {
        match key {
            Key::Up => self.offset = self.offset.saturating_sub(1),
            Key::Down => self.offset += 1,
            Key::PageUp => self.offset = self.offset.saturating_sub(Self::PAGE),
            Key::PageDown => self.offset += Self::PAGE,
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            Key::Backspace if self.is_typing => drop(self.filter.pop()),
            Key::Backspace => {}
            Key::Char(own) if self.is_typing => {
                self.filter.push(own);
                self.offset = 0;
            }
            Key::Interrupt | Key::Char('q') => return Outcome::Quit,
            Key::Char('r') => return Outcome::Refresh,
            Key::Char('/') => self.is_typing = true,
            Key::Char(own) => {
                if let Some(sort) = Sort::of_key(own) {
                    // The same key again turns the order round.
                    self.is_reversed = self.sort == sort && !self.is_reversed;
                    self.sort = sort;
                    self.offset = 0;
                }
            }
        }
        Outcome::Redraw
    }

    /// The rows that are shown of these, in their order: so many at most. The offset never hides
    /// the last of them.
    pub(crate) fn rows(
        &mut self,
        rows: &[NodeRow],
        columns: &NodeColumns,
        most: usize,
    ) -> Vec<NodeRow> {
        let mut shown: Vec<NodeRow> =
            rows.iter().filter(|row| self.is_wanted(row, columns)).cloned().collect();
        shown.sort_by(|one, other| self.sort.compare(one, other).then(one.name.cmp(&other.name)));
        if self.is_reversed {
            shown.reverse();
        }
        self.offset = self.offset.min(shown.len().saturating_sub(most));
        shown.into_iter().skip(self.offset).take(most).collect()
    }

    fn is_wanted(&self, row: &NodeRow, columns: &NodeColumns) -> bool {
        let wanted = self.filter.to_lowercase();
        let has = |own: &str| own.to_lowercase().contains(&wanted);
        let texts = [&row.node_pool, &row.instance_type, &row.zone];
        let labels = columns.cells.get(&row.name).into_iter().flat_map(|own| &own.labels);
        has(&row.name)
            || has(row.state.as_str())
            || row.capacity_type.is_some_and(|own| has(own.as_str()))
            || texts.into_iter().chain(labels).any(|own| own.as_deref().is_some_and(has))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::view::node_row;

    fn typed(screen: &mut TopScreen, text: &str) {
        for own in text.chars() {
            assert_eq!(screen.press(Key::Char(own)), Outcome::Redraw);
        }
    }

    #[test]
    fn keys_sort_and_the_same_key_again_turns_it_round() {
        let mut screen = TopScreen::default();
        typed(&mut screen, "$");
        assert_eq!((screen.sort, screen.is_reversed), (Sort::Price, false));
        typed(&mut screen, "$");
        assert_eq!((screen.sort, screen.is_reversed), (Sort::Price, true));
        typed(&mut screen, "c");
        assert_eq!((screen.sort, screen.is_reversed), (Sort::Cpu, false));
    }

    #[test]
    fn while_a_filter_is_typed_letters_are_part_of_it() {
        let mut screen = TopScreen::default();
        typed(&mut screen, "/qr");
        assert_eq!((&*screen.filter, screen.is_typing), ("qr", true));
        screen.press(Key::Backspace);
        screen.press(Key::Enter);
        assert_eq!((&*screen.filter, screen.is_typing), ("q", false));
        assert_eq!(screen.press(Key::Char('r')), Outcome::Refresh);
        assert_eq!(screen.press(Key::Char('q')), Outcome::Quit);
        screen.press(Key::Escape);
        assert_eq!(screen.filter, "");
        assert_eq!(screen.press(Key::Interrupt), Outcome::Quit);
    }

    #[test]
    fn rows_are_filtered_by_what_they_show_and_never_scrolled_away() {
        let rows = node_row::rows(&testing::snapshot(), &testing::plan());
        let columns = NodeColumns::default();
        let mut screen = TopScreen::default();
        typed(&mut screen, "/");
        typed(&mut screen, &rows[0].name.to_uppercase());
        let shown = screen.rows(&rows, &columns, 9);
        assert_eq!(shown.iter().map(|row| &row.name).collect::<Vec<_>>(), [&rows[0].name]);
        screen.press(Key::Escape);
        for _ in 0..100 {
            screen.press(Key::PageDown);
        }
        assert_eq!(screen.rows(&rows, &columns, 1).len(), 1);
        assert_eq!(screen.offset, rows.len() - 1);
        screen.press(Key::Up);
        assert_eq!(screen.offset, rows.len() - 2);
        screen.press(Key::Down);
        screen.press(Key::PageUp);
        assert_eq!(screen.offset, 0);
    }
}
