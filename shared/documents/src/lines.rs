//! Lines of a JSON text, looked for only where an error needs one.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::path::Step;

/// How many lines below the start of a JSON text the value at the end of the steps begins, or the
/// last of the values around it that can be found.
pub(crate) fn line_of(text: &str, steps: &[Step]) -> Option<u32> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for step in steps {
        let inner = match step {
            Step::Key(key) => serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get())
                .ok()
                .and_then(|mut members| members.remove(key)),
            Step::Index(index) => serde_json::from_str::<Vec<&RawValue>>(value.get())
                .ok()
                .and_then(|items| items.get(*index).copied()),
        };
        let Some(inner) = inner else { break };
        value = inner;
    }
    Some(lines_before(text, value.get()))
}

/// Line breaks of a text before a part of it.
pub(crate) fn lines_before(text: &str, part: &str) -> u32 {
    text.get(..offset_of(text, part)).map_or(0, line_breaks)
}

/// Bytes of a text before a part of it.
pub(crate) fn offset_of(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Line breaks in a text.
pub(crate) fn line_breaks(text: &str) -> u32 {
    let breaks = text.matches('\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX)
}
