//! Which of the known names was meant by one that is not among them.

/// Letters by which a name may differ from the one that was meant.
const LETTERS_MAX: usize = 3;

/// Longer names are not compared: that takes work by the product of both lengths.
const COMPARED_MAX: usize = 253;

/// The letters by which two names differ, upper and lower case taken as one, if they are few for
/// names of that length: short names are near to many others.
fn letters_between(written: &str, known: &str) -> Option<usize> {
    let length = known.len();
    if written.len() > COMPARED_MAX || length > COMPARED_MAX {
        return None;
    }
    if written.len().abs_diff(length) > LETTERS_MAX {
        return None;
    }
    let letters = strsim::osa_distance(&written.to_lowercase(), &known.to_lowercase());
    (letters <= LETTERS_MAX && letters * 3 <= length).then_some(letters)
}

/// The known names that differ from the written one by the fewest letters, at most `count` of those
/// that are equally near, by name. None where all differ by many, or where the written one is among
/// them.
///
/// ```
/// let families = ["c7g", "m7i", "r7i"];
/// assert_eq!(domain::nearest::nearest("m7ii", families, 1), ["m7i"]);
/// assert!(domain::nearest::nearest("inf2", families, 1).is_empty());
/// ```
pub fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| letters_between(written, name).map(|letters| (letters, name)))
        .collect();
    if near.iter().any(|(_, name)| *name == written) {
        return Vec::new();
    }
    near.sort_unstable();
    near.dedup();
    let fewest = near.first().map(|(letters, _)| *letters);
    near.retain(|(letters, _)| Some(*letters) == fewest);
    near.into_iter().take(count).map(|(_, name)| name).collect()
}

/// Of names that may differ by any number of letters, those that differ by the fewest first; of
/// equal ones, the first by name.
pub fn by_similarity<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> =
        known.into_iter().map(|name| (strsim::osa_distance(written, name), name)).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// `a`, `a or b`, `a, b or c`.
pub fn any_of<T: AsRef<str>>(names: &[T]) -> String {
    listed(names, "or")
}

/// `a`, `a and b`, `a, b and c`.
pub fn all_of<T: AsRef<str>>(names: &[T]) -> String {
    listed(names, "and")
}

fn listed<T: AsRef<str>>(names: &[T], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_differs_by_the_fewest_letters_was_meant() {
        let pods = ["shop/web-0", "shop/web-1", "shop/worker-0"];
        assert_eq!(nearest("shop/wbe-1", pods, 1), ["shop/web-1"]);
        assert_eq!(nearest("shop/web-2", pods, 5), ["shop/web-0", "shop/web-1"]);
        assert_eq!(nearest("On-Demand", ["spot", "on-demand"], 1), ["on-demand"]);
    }

    #[test]
    fn who_writes_a_known_name_means_no_other() {
        assert_eq!(nearest("shop/web-0", ["shop/web-0", "shop/web-1"], 2), [""; 0]);
    }

    #[test]
    fn short_names_are_near_to_nothing_but_themselves() {
        assert_eq!(nearest("c", ["m", "r"], 1), [""; 0]);
        assert_eq!(nearest("amd", ["arm64"], 1), [""; 0]);
    }

    #[test]
    fn a_list_ends_in_a_word() {
        assert_eq!(any_of(&["c"]), "c");
        assert_eq!(any_of(&["c", "m", "r"]), "c, m or r");
        assert_eq!(all_of(&["c", "m"]), "c and m");
        assert_eq!(any_of(&[""; 0]), "");
    }
}
