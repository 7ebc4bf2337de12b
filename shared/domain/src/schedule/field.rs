//! The five fields of a cron schedule, read as the cron library of Karpenter and KEDA reads them.
//!
//! Other dialects know more (`L`, `W`, `#`, a Sunday of 7). Whoever writes them means days that
//! Karpenter would refuse, so they are refused here too.
//!
//! Source: `robfig/cron` v3, <https://github.com/robfig/cron/blob/v3/parser.go>.

/// Schedules that have a name, and the fields that each stands for.
pub(super) const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A field of a schedule: what it is called, and what it takes.
struct FieldKind {
    name: &'static str,
    min: u32,
    max: u32,
    /// Words for the numbers from `min` on.
    words: &'static [&'static str],
}

const FIELDS: [FieldKind; 5] = [
    FieldKind { name: "minute", min: 0, max: 59, words: &[] },
    FieldKind { name: "hour", min: 0, max: 23, words: &[] },
    FieldKind { name: "day of the month", min: 1, max: 31, words: &[] },
    FieldKind {
        name: "month",
        min: 1,
        max: 12,
        words: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    FieldKind {
        name: "day of the week",
        min: 0,
        max: 6,
        words: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScheduleRule {
    #[error("it has {0} fields instead of 5")]
    Fields(usize),
    #[error("the words are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly")]
    Macro,
    #[error("{part:?} does not say which {field}")]
    Malformed { field: &'static str, part: String },
    #[error("{field} {number} is out of range: it takes {min} to {max}")]
    OutOfRange { field: &'static str, number: u32, min: u32, max: u32 },
    #[error("in {part:?} the {field} ends before it begins")]
    Backwards { field: &'static str, part: String },
    #[error("{0:?} takes steps of 0")]
    NoStep(String),
    #[error("its fields cannot be read together")]
    Unreadable,
}

/// The schedule as five fields, each either `*` or a list of numbers.
pub(super) fn normalized(text: &str) -> Result<String, ScheduleRule> {
    let spelt = match MACROS.iter().find(|(name, _)| *name == text) {
        Some((_, fields)) => fields,
        None if text.starts_with('@') => return Err(ScheduleRule::Macro),
        None => text,
    };
    let fields: Vec<&str> = spelt.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(ScheduleRule::Fields(fields.len()));
    }
    let normal: Vec<String> = FIELDS
        .iter()
        .zip(fields)
        .map(|(kind, field)| kind.normalized(field))
        .collect::<Result<_, _>>()?;
    Ok(normal.join(" "))
}

impl FieldKind {
    fn normalized(&self, field: &str) -> Result<String, ScheduleRule> {
        let mut numbers = Vec::new();
        for part in field.split(',').filter(|part| !part.is_empty()) {
            match self.part(part)? {
                Some(own) => numbers.extend(own),
                None => return Ok("*".to_owned()),
            }
        }
        if numbers.is_empty() {
            return Err(self.malformed(field));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }

    /// The numbers of one item of the list, such as `8`, `8-18` or `8-18/2`; `None` stands for all.
    fn part(&self, part: &str) -> Result<Option<Vec<u32>>, ScheduleRule> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse().map_err(|_| self.malformed(part))?)),
            None => (part, None),
        };
        let is_all = ["*", "?"].contains(&range);
        if is_all && step.unwrap_or(1) == 1 {
            return Ok(None);
        }
        let (from, to) = match range.split_once('-') {
            _ if is_all => (self.min, self.max),
            Some((from, to)) => (self.number(from, part)?, self.number(to, part)?),
            // `5/15` goes on from the fifth minute to the end.
            None if step.is_some() => (self.number(range, part)?, self.max),
            None => (self.number(range, part)?, self.number(range, part)?),
        };
        if from > to {
            return Err(ScheduleRule::Backwards { field: self.name, part: part.to_owned() });
        }
        match usize::try_from(step.unwrap_or(1)) {
            Ok(step) if step > 0 => Ok(Some((from..=to).step_by(step).collect())),
            _ => Err(ScheduleRule::NoStep(part.to_owned())),
        }
    }

    /// A number or a word for one; of a part that is wrong, the error shows the whole.
    fn number(&self, text: &str, part: &str) -> Result<u32, ScheduleRule> {
        let word = (self.min..).zip(self.words).find(|(_, word)| word.eq_ignore_ascii_case(text));
        let number = match word {
            Some((number, _)) => number,
            None => text.parse().map_err(|_| self.malformed(part))?,
        };
        if (self.min..=self.max).contains(&number) {
            return Ok(number);
        }
        let Self { name: field, min, max, .. } = *self;
        Err(ScheduleRule::OutOfRange { field, number, min, max })
    }

    fn malformed(&self, part: &str) -> ScheduleRule {
        ScheduleRule::Malformed { field: self.name, part: part.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_lists_of_numbers_ranges_and_steps() {
        for (text, expected) in [
            ("* * * * *", "* * * * *"),
            ("5/15 * * * *", "5,20,35,50 * * * *"),
            ("*/20 8-18/5 ? * *", "0,20,40 8,13,18 * * *"),
            ("0 0,12 1 JAN,jul MON-fri", "0 0,12 1 1,7 1,2,3,4,5"),
            ("30,,10,10 */1 * * *", "10,30 * * * *"),
            ("0 0 1,* * sun", "0 0 * * 0"),
            ("@midnight", "0 0 * * *"),
            ("@weekly", "0 0 * * 0"),
        ] {
            assert_eq!(normalized(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_karpenter_refuses_is_refused_in_plain_words() {
        for (text, expected) in [
            ("0 0 * * 9", "day of the week 9 is out of range: it takes 0 to 6"),
            ("0 0 * * 7", "day of the week 7 is out of range: it takes 0 to 6"),
            ("0 0 * * 5-7", "day of the week 7 is out of range: it takes 0 to 6"),
            ("0 0 0 * *", "day of the month 0 is out of range: it takes 1 to 31"),
            ("61 * * * *", "minute 61 is out of range: it takes 0 to 59"),
            ("0 0 * * 5#2", "\"5#2\" does not say which day of the week"),
            ("0 0 L * *", "\"L\" does not say which day of the month"),
            ("0 0 15W * *", "\"15W\" does not say which day of the month"),
            ("0 0 * monday *", "\"monday\" does not say which month"),
            ("0 -5 * * *", "\"-5\" does not say which hour"),
            ("0 1-2-3 * * *", "\"1-2-3\" does not say which hour"),
            ("0 18-8 * * *", "in \"18-8\" the hour ends before it begins"),
            ("*/0 * * * *", "\"*/0\" takes steps of 0"),
            (", * * * *", "\",\" does not say which minute"),
            ("* * * *", "it has 4 fields instead of 5"),
            ("* * * * * *", "it has 6 fields instead of 5"),
            ("", "it has 0 fields instead of 5"),
            (
                "@every 1h",
                "the words are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly",
            ),
        ] {
            assert_eq!(normalized(text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }
}
