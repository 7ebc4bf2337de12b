//! Choices drawn from bytes.

use arbitrary::Unstructured;

/// Draws choices from bytes, one byte each; once there are none left, always the first choice. So a
/// longer input says more, and cutting one short simplifies what it describes.
pub(super) struct Draw<'b>(Unstructured<'b>);

impl<'b> Draw<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// A number from zero to below a bound.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// One of some choices.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// True once in so many times, false where nothing is left to draw from.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Something once in so many times.
    pub(super) fn maybe<T>(
        &mut self,
        times: usize,
        make: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        if self.one_in(times) { Some(make(self)) } else { None }
    }

    /// Some of the choices, in order, perhaps none.
    pub(super) fn some_of<T: Copy>(&mut self, choices: &[T]) -> Vec<T> {
        let mask = usize::from(self.byte());
        choices
            .iter()
            .enumerate()
            .filter(|(index, _)| mask >> (index % 8) & 1 == 1)
            .map(|(_, choice)| *choice)
            .collect()
    }
}
