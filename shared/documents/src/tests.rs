use std::fmt::Write;

use super::*;

fn read(text: &str) -> Vec<Result<Document<'static>, String>> {
    let source: &'static Source = Box::leak(Box::new(Source::new("in.yaml", text)));
    let mut objects = Vec::new();
    each_object(source, &mut |object| objects.push(object.map_err(|error| error.to_string())));
    objects
}

fn only(text: &str) -> Value<'static> {
    match read(text).as_slice() {
        [Ok(document)] => document.value.clone(),
        other => panic!("expected one document, found {other:?}"),
    }
}

#[track_caller]
fn means(scalar: &str, data: &Data<'_>) {
    let document = only(&format!("a: {scalar}\n"));
    assert_eq!(document.get("a").map_or(Data::Null, |value| value.data.clone()), *data, "{scalar}");
}

fn text(text: &str) -> Data<'_> {
    Data::Text(text.into())
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    means("null", &Data::Null);
    means("~", &Data::Null);
    means("true", &Data::Bool(true));
    means("FALSE", &Data::Bool(false));
    means("12", &Data::Integer(12));
    means("-7", &Data::Integer(-7));
    means("0x1F", &Data::Integer(31));
    means("0o17", &Data::Integer(15));
    means("1.50", &Data::Decimal("1.50".into()));
    means("1e3", &Data::Decimal("1e3".into()));
    means("99999999999999999999", &Data::Decimal("99999999999999999999".into()));
}

#[test]
fn what_older_yaml_takes_for_times_numbers_or_booleans_is_a_string() {
    for scalar in ["1:30", "2026-01-01", "2026-01-01T12:00:00Z", "yes", "on", "NO", "1_000", "4Gi"]
    {
        means(scalar, &text(scalar));
    }
}

#[test]
fn quotes_and_tags_decide_before_the_schema() {
    means("\"12\"", &text("12"));
    means("'true'", &text("true"));
    means("!!str 12", &text("12"));
    means("!!int \"12\"", &Data::Integer(12));
    means("!!str", &text(""));
    means("!!str ~", &text("~"));
    means("|\n  two\n  lines", &text("two\nlines\n"));
}

#[test]
fn keys_are_strings_whatever_they_look_like() {
    let document = only("4: four\ntrue: yes\n");
    assert_eq!(document.get("4").and_then(Value::as_str), Some("four"));
    assert_eq!(document.get("true").and_then(Value::as_str), Some("yes"));
}

#[test]
fn anchors_stand_for_what_they_name_and_merge_into_mappings() {
    let document = only("base: &base {a: 1, b: 2}\nsame: *base\nmore: {<<: *base, b: 3}\n");
    let member = |object: &str, key: &str| {
        document.get(object).and_then(|object| object.get(key)).map(|value| value.data.clone())
    };
    assert_eq!(member("same", "a"), Some(Data::Integer(1)));
    assert_eq!(member("more", "a"), Some(Data::Integer(1)));
    assert_eq!(member("more", "b"), Some(Data::Integer(3)));
}

#[test]
fn aliases_that_stand_for_billions_of_values_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let row = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{row}]").unwrap();
    }
    let errors: Vec<_> = read(&bomb).into_iter().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("aliases stand for too many values (in.yaml:"), "{errors:?}");
}

#[test]
fn nesting_has_a_limit_in_yaml_and_json() {
    let deep = format!("a: {}{}", "[".repeat(500), "]".repeat(500));
    assert!(matches!(read(&deep).as_slice(), [Err(_)]));
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(500), "]".repeat(500));
    assert!(matches!(read(&deep).as_slice(), [Err(_)]));
}

#[test]
fn documents_are_cut_at_their_markers_and_keep_their_lines() {
    let objects =
        read("# a comment\n%YAML 1.2\n---\na: 1\n---\n\n# nothing here\n--- # note\nb: 2\n...\n");
    let lines: Vec<_> = objects.iter().map(|object| object.as_ref().unwrap().origin.line).collect();
    assert_eq!(lines, [4, 9]);
}

#[test]
fn one_broken_document_costs_the_others_nothing() {
    let objects = read("a: 1\n---\nb: [1\nc: 2\n---\nd: 4\n");
    assert_eq!(objects.iter().filter(|object| object.is_ok()).count(), 2);
    let error = objects[1].as_ref().unwrap_err();
    assert!(error.starts_with("not YAML: ") && error.contains("(in.yaml:"), "{error}");
}

#[test]
fn a_key_given_twice_names_its_line_in_yaml_and_json() {
    let error = |text: &str| read(text).remove(0).unwrap_err();
    assert_eq!(error("a: 1\nb: 2\na: 3\n"), "key \"a\" is given twice (in.yaml:3)");
    assert_eq!(
        error("{\"a\": 1,\n \"b\": {\n  \"c\": 1,\n  \"c\": 2}}"),
        "key \"c\" is given twice (in.yaml:4)"
    );
}

#[test]
fn a_key_given_twice_among_many_is_found() {
    let many = (0..100).map(|index| format!("k{index}: 1")).collect::<Vec<_>>().join("\n");
    let errors = read(&format!("{many}\nk50: 2\n"));
    assert_eq!(errors[0].as_ref().unwrap_err(), "key \"k50\" is given twice (in.yaml:101)");
}

#[test]
fn an_item_with_a_key_given_twice_costs_the_list_nothing_else() {
    let yaml =
        "kind: List\nitems:\n- {kind: A, a: 1}\n- kind: B\n  m: {x: 1,\n    x: 2}\n- {kind: C}\n";
    let json = "{\"kind\": \"List\", \"items\": [\n{\"kind\": \"A\"},\n{\"kind\": \"B\",\n \"kind\": \"B\"},\n{\"kind\": \"C\"}]}";
    for (text, line) in [(yaml, 6), (json, 4)] {
        let (good, bad): (Vec<_>, Vec<_>) = read(text).into_iter().partition(Result::is_ok);
        let kinds: Vec<_> = good
            .iter()
            .map(|object| {
                object.as_ref().unwrap().value.get("kind").unwrap().as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(kinds, ["A", "C"]);
        assert!(
            bad[0].as_ref().unwrap_err().ends_with(&format!("is given twice (in.yaml:{line})"))
        );
    }
}

#[test]
fn lists_are_opened_and_give_their_items_the_kind_they_leave_out() {
    let yaml = "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- kind: List\n  items:\n  - {kind: Node}\n";
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"PodList\", \"items\": [{\"metadata\": {\"name\": \"a\"}}, {\"kind\": \"List\", \"items\": [{\"kind\": \"Node\"}]}]}";
    for text in [yaml, json] {
        let kinds: Vec<_> = read(text)
            .iter()
            .map(|object| {
                object.as_ref().unwrap().value.get("kind").unwrap().as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(kinds, ["Pod", "Node"]);
    }
}

#[test]
fn an_empty_list_holds_nothing_and_a_kind_that_ends_in_list_is_no_list() {
    assert!(read("kind: List\n").is_empty());
    assert!(read("{\"kind\": \"List\", \"items\": null}").is_empty());
    assert!(read("kind: PodList\nitems: []\n").is_empty());
    assert_eq!(read("kind: AllowList\n").len(), 1);
    assert_eq!(read("{\"kind\": \"AllowList\"}").len(), 1);
}

#[test]
fn json_values_may_follow_each_other_and_know_their_lines() {
    let objects = read("{\"a\": 1}\n{\n\"b\": 2}\n");
    let lines: Vec<_> = objects.iter().map(|object| object.as_ref().unwrap().origin.line).collect();
    assert_eq!(lines, [1, 2]);
}

#[test]
fn broken_json_says_where() {
    let error = read("{\"a\": 1,\n \"b\": }\n").remove(0).unwrap_err();
    assert!(error.starts_with("not JSON: ") && error.ends_with("(in.yaml:2)"), "{error}");
}

#[test]
fn a_flow_mapping_without_quotes_is_yaml() {
    assert_eq!(only("{a: b}").get("a").and_then(Value::as_str), Some("b"));
}

#[test]
fn json_numbers_keep_their_exact_figures() {
    let document = only("{\"a\": 0.1, \"b\": 18446744073709551615, \"c\": -3}");
    let data = |key| document.get(key).map(|value| value.data.clone());
    assert_eq!(data("a"), Some(Data::Decimal("0.1".into())));
    assert_eq!(data("b"), Some(Data::Decimal("18446744073709551615".into())));
    assert_eq!(data("c"), Some(Data::Integer(-3)));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_do_no_harm() {
    let objects = read("\u{feff}a: 1\r\n---\r\nb: x\r\n");
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[1].as_ref().unwrap().value.get("b").and_then(Value::as_str), Some("x"));
}

#[test]
fn terraform_files_and_templates_are_told_apart_from_broken_yaml() {
    let error = |text: &str| match read(text).as_slice() {
        [Err(error)] => error.clone(),
        other => panic!("expected one error, found {other:?}"),
    };
    let terraform = "# nodes\n\nresource \"kubectl_manifest\" \"pool\" {\n  yaml_body = <<-YAML\n";
    assert_eq!(
        error(terraform),
        "this is HCL (Terraform), neither YAML nor JSON: give the manifests that it applies, \
         as kubectl get -o yaml prints them (in.yaml:1)"
    );
    assert!(error("locals {\n}\n").contains("HCL"));
    for template in
        ["kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n", "{{- if .a }}\nkind: Pod\n"]
    {
        assert!(error(template).contains("a template with {{ … }}"), "{}", error(template));
    }
}

#[test]
fn mappings_that_look_like_terraform_at_a_glance_are_yaml() {
    assert!(only("resource: {}\n").get("resource").is_some());
    assert!(only("data:\n  script: |\n    {{ .x }}\n").get("data").is_some());
}

#[test]
fn a_line_that_is_too_long_is_refused_before_it_is_read() {
    let mut text = "kind: Pod\nname: ".to_owned();
    text.push_str(&"a".repeat(LINE_BYTES_MAX));
    let read = read(&text);
    let [Err(error)] = read.as_slice() else { panic!("{} documents", read.len()) };
    assert_eq!(
        error,
        "a line of 64 MiB, where at most 64 MiB are read: write it over several lines (in.yaml:2)"
    );
}

#[test]
fn errors_quote_no_more_than_an_excerpt() {
    let long = "k".repeat(100_000);
    let read = read(&format!("{long}: 1\n{long}: 2\n"));
    let error = read.iter().find_map(|document| document.as_ref().err()).unwrap();
    assert!(error.chars().count() < QUOTED_CHARS_MAX + 100, "{error}");
}
