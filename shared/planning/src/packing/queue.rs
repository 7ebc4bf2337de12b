//! Items in the order in which a node is filled.

use crate::ids::ItemIx;

/// Items in the order in which they are tried, their requests side by side.
pub(super) struct Queue {
    pub(super) items: Vec<ItemIx>,
    width: usize,
    requests: Vec<i64>,
    /// At each position, the least that it or any later item asks of each resource.
    least_from: Vec<i64>,
}

impl Queue {
    pub(super) fn of<'r>(rows: impl Iterator<Item = (ItemIx, &'r [i64])>, width: usize) -> Self {
        let mut queue =
            Self { items: Vec::new(), width, requests: Vec::new(), least_from: Vec::new() };
        for (item, requests) in rows {
            queue.items.push(item);
            queue.requests.extend_from_slice(requests);
        }
        queue.least_from = queue.requests.clone();
        for index in (0..queue.least_from.len().saturating_sub(width)).rev() {
            let next = queue.least_from[index + width];
            queue.least_from[index] = queue.least_from[index].min(next);
        }
        queue
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn nothing_fits_from(&self, position: usize, room: &[i64]) -> bool {
        let least = &self.least_from[position * self.width..(position + 1) * self.width];
        room.iter().zip(least).any(|(room, least)| *least > 0 && least > room)
    }

    pub(super) fn requests_at(&self, position: usize) -> &[i64] {
        &self.requests[position * self.width..(position + 1) * self.width]
    }

    pub(super) fn fits(&self, position: usize, room: &[i64]) -> bool {
        let requests = &self.requests[position * self.width..(position + 1) * self.width];
        room.iter().zip(requests).all(|(room, amount)| amount <= room || *amount == 0)
    }
}
