//! The difference between two states of an object, as a merge patch.
//!
//! Source: RFC 7396 "JSON Merge Patch".

use serde_json::{Map, Value as Json};

/// The merge patch from one value to another; `None` where they are equal. Lists are replaced
/// whole.
pub(crate) fn difference(before: &Json, after: &Json) -> Option<Json> {
    let (Json::Object(old), Json::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Json::Null);
    }
    for (key, value) in new {
        let changed = match old.get(key) {
            Some(known) => difference(known, value),
            None => Some(value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(key.clone(), changed);
        }
    }
    (!patch.is_empty()).then_some(Json::Object(patch))
}

/// The member of an object at a path, created where it is missing.
pub(crate) fn member<'j>(object: &'j mut Json, path: &[&str]) -> &'j mut Json {
    path.iter().fold(object, |at, key| {
        if !at.is_object() {
            *at = Json::Object(Map::new());
        }
        // Indexing an object creates what is missing.
        &mut at[*key]
    })
}

/// Edits the list at a path, created where it is missing.
pub(crate) fn edit_list(object: &mut Json, path: &[&str], edit: impl FnOnce(&mut Vec<Json>)) {
    let at = member(object, path);
    let mut items = match at.take() {
        Json::Array(items) => items,
        _ => Vec::new(),
    };
    edit(&mut items);
    *at = Json::Array(items);
}

/// The string at a path; empty where there is none.
pub(crate) fn text<'j>(object: &'j Json, path: &[&str]) -> &'j str {
    path.iter().try_fold(object, |at, key| at.get(*key)).and_then(Json::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_says_what_was_set_changed_and_removed() {
        let before = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [1], "same": {"x": 1}});
        let after = json!({"a": 1, "b": {"c": 4}, "e": [1, 2], "f": "new", "same": {"x": 1}});
        let patch = json!({"b": {"c": 4, "d": null}, "e": [1, 2], "f": "new"});
        assert_eq!(difference(&before, &after), Some(patch));
        assert_eq!(difference(&after, &after), None);
    }

    #[test]
    fn members_and_lists_are_made_where_they_are_missing() {
        let mut object = json!({"metadata": {"finalizers": null}});
        edit_list(&mut object, &["metadata", "finalizers"], |list| list.push("x".into()));
        *member(&mut object, &["status", "nodeName"]) = "n1".into();
        assert_eq!(
            object,
            json!({"metadata": {"finalizers": ["x"]}, "status": {"nodeName": "n1"}})
        );
    }
}
