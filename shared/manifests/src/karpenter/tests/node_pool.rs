use domain::SignedDuration;
use domain::budget::WindowZone;
use domain::node_pool::{ConsolidationPolicy, Disruption, NeverOr, NodePool};
use domain::pdb::CountOrPercent;
use domain::reason::DisruptionReason;
use domain::requirement::Operator;
use domain::resource::{CPU, MEMORY, NODES, USD_PER_HOUR};
use domain::schedule::time_zone;

use super::{errors, indented, only_object, read};
use crate::object::Object;

/// A NodePool with parts of its template's `spec` and of its own `spec`, each from column 0.
struct Manifest<'a> {
    labels: &'a str,
    template: &'a str,
    requirements: &'a str,
    spec: &'a str,
}

impl Default for Manifest<'_> {
    fn default() -> Self {
        Self { labels: "{}", template: "", requirements: "[]", spec: "" }
    }
}

impl Manifest<'_> {
    fn text(&self) -> String {
        let Self { labels, template, requirements, spec } = self;
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: default}}\nspec:\n{}  template:\n    \
             metadata: {{labels: {labels}}}\n    spec:\n      \
             nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}\n      \
             requirements: {requirements}\n{}",
            indented(spec, 2),
            indented(template, 6),
        )
    }

    #[track_caller]
    fn pool(&self) -> NodePool {
        match only_object(&self.text()) {
            Object::NodePool(pool) => pool,
            other => panic!("{other:?}"),
        }
    }
}

#[track_caller]
fn refuses(manifest: &Manifest<'_>, expected: &[&str]) {
    // Where a field stands is tested once; here only what is wrong with which.
    let shown: Vec<String> = errors(&manifest.text())
        .iter()
        .map(|error| {
            let (what, place) = error.rsplit_once(" (").unwrap();
            let field = place.rsplit_once("field ").map_or("", |(_, field)| field);
            format!("{}: {what}", field.trim_end_matches(')'))
        })
        .collect();
    assert_eq!(shown, expected, "{}", manifest.text());
}

#[test]
fn what_is_left_out_has_karpenters_default() {
    let pool = Manifest::default().pool();
    assert_eq!(pool.disruption, Disruption::default());
    assert_eq!(pool.template.expire_after, NeverOr::After(SignedDuration::from_hours(720)));
    assert_eq!(pool.template.termination_grace_period, None);
    assert_eq!((pool.weight, pool.replicas, pool.ready), (0, None, None));
    assert!(pool.limits.is_empty());
}

#[test]
fn every_field_is_read() {
    let pool = Manifest {
        labels: "{team: blue, beta.kubernetes.io/arch: arm64}",
        requirements: "[{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [a, b], minValues: 2}]",
        template: "taints: [{key: gpu, value: yes-please, effect: NoSchedule}]\n\
                   startupTaints: [{key: gpu, effect: NoExecute}]\n\
                   terminationGracePeriod: 1h\nexpireAfter: Never",
        spec: "weight: 50\nlimits: {cpu: 1000, memory: 1Ti, nodes: '10'}\n\
               disruption:\n  consolidateAfter: 5m\n  consolidationPolicy: Balanced\n  budgets:\n  \
               - {nodes: '0', schedule: '0 9 * * mon-fri', duration: 8h, reasons: [Drifted, Empty]}\n  - nodes: 25%",
    }
    .pool();
    assert_eq!(pool.template.labels["kubernetes.io/arch"], "arm64".into());
    let [requirement] = pool.template.requirements.as_slice() else { panic!() };
    assert_eq!(&*requirement.key, "topology.kubernetes.io/zone");
    assert_eq!((requirement.operator, requirement.min_values), (Operator::In, Some(2)));
    assert_eq!(pool.template.taints[0].to_string(), "gpu=yes-please:NoSchedule");
    assert_eq!(pool.template.startup_taints[0].to_string(), "gpu:NoExecute");
    assert_eq!(pool.template.termination_grace_period, Some(SignedDuration::from_hours(1)));
    assert_eq!(pool.template.expire_after, NeverOr::Never);
    assert_eq!(pool.weight, 50);
    assert_eq!(
        (pool.limits.get(CPU), pool.limits.get(MEMORY), pool.limits.get(NODES)),
        (1_000_000, 1 << 40, 10)
    );
    let disruption = &pool.disruption;
    assert_eq!(disruption.consolidate_after, NeverOr::After(SignedDuration::from_mins(5)));
    assert_eq!(disruption.consolidation_policy, ConsolidationPolicy::Balanced);
    let [frozen, quarter] = disruption.budgets.as_slice() else { panic!() };
    assert_eq!(frozen.nodes, CountOrPercent::Count(0));
    assert_eq!(
        frozen.reasons.as_deref(),
        Some([DisruptionReason::Drifted, DisruptionReason::Empty].as_slice())
    );
    assert_eq!(frozen.window.as_ref().unwrap().duration, SignedDuration::from_hours(8));
    assert_eq!((quarter.nodes, &quarter.window), (CountOrPercent::Percent(25), &None));
}

#[test]
fn an_error_names_file_line_object_and_field() {
    let manifest = Manifest {
        requirements: "\n      - key: karpenter.sh/capacity-type\n        operator: In\n        values: [cheap]",
        ..Manifest::default()
    };
    assert_eq!(
        errors(&manifest.text()),
        [
            "none of the values of karpenter.sh/capacity-type is known: they are on-demand, spot, reserved \
             (pool.yaml:12, object default, field spec.template.spec.requirements[0].values)"
        ]
    );
}

#[test]
fn a_misspelt_field_is_an_error() {
    refuses(
        &Manifest { spec: "Weight: 5", template: "expireafter: 1h", ..Manifest::default() },
        &[
            "spec.Weight: the field is not known (did you mean weight?)",
            "spec.template.spec.expireafter: the field is not known (did you mean expireAfter?)",
        ],
    );
}

#[test]
fn a_field_of_a_newer_api_is_a_warning_and_the_pool_stays_in_use() {
    let manifest = Manifest {
        spec: "somethingNew: 1\ndisruption: {pace: slow}",
        template: "somethingNew: 1",
        ..Manifest::default()
    };
    assert_eq!(manifest.pool().disruption, Disruption::default());
    let warnings: Vec<String> =
        read(&manifest.text()).warnings.iter().map(ToString::to_string).collect();
    let unknown = "the field is not known to this version: it has no effect (pool.yaml:";
    assert_eq!(
        warnings,
        [
            format!("{unknown}5, object default, field spec.somethingNew)"),
            format!("{unknown}12, object default, field spec.template.spec.somethingNew)"),
            format!("{unknown}6, object default, field spec.disruption.pace)"),
        ]
    );
}

#[test]
fn an_unknown_field_that_narrows_is_still_an_error() {
    let requirement = "[{key: team, operator: In, values: [a], unless: [b]}]";
    refuses(
        &Manifest {
            requirements: requirement,
            template: "taints: [{key: gpu, effect: NoSchedule, until: noon}]",
            spec: "disruption: {budgets: [{nodes: '1', zoneWise: true}]}",
            ..Manifest::default()
        },
        &[
            "spec.template.spec.taints[0].until: the field is not known",
            "spec.template.spec.requirements[0].unless: the field is not known",
            "spec.disruption.budgets[0].zoneWise: the field is not known",
        ],
    );
}

#[test]
fn a_budget_names_a_time_zone() {
    let budget = |zone: &str| {
        let spec = format!(
            "disruption: {{budgets: [{{nodes: '0', schedule: 0 8 * * *, duration: 1h{zone}}}]}}"
        );
        let text = Manifest { spec: &spec, ..Manifest::default() }.text();
        let warnings: Vec<String> = read(&text).warnings.iter().map(ToString::to_string).collect();
        let Object::NodePool(mut pool) = only_object(&text) else { panic!("{text}") };
        (pool.disruption.budgets.remove(0).window.unwrap().zone, warnings)
    };
    let berlin = WindowZone::Known(time_zone("Europe/Berlin").unwrap());
    assert_eq!(budget(", timeZone: Europe/Berlin"), (berlin, vec![]));
    assert_eq!(budget(""), (WindowZone::default(), vec![]));
    let (zone, warnings) = budget(", timeZone: Europe/Berlim");
    assert_eq!(zone, WindowZone::Unknown("Europe/Berlim".into()));
    assert_eq!(
        warnings,
        [
            "\"Europe/Berlim\" is not an IANA time zone: until it is, the budget allows no disruption \
          (pool.yaml:5, object default, field spec.disruption.budgets[0].timeZone)"
        ]
    );
}

#[test]
fn a_budget_whose_schedule_is_none_allows_nothing_and_stops_no_launch() {
    let budget = |schedule: &str| {
        let spec = format!(
            "disruption: {{budgets: [{{nodes: 50%, schedule: '{schedule}', duration: 1h}}]}}"
        );
        let text = Manifest { spec: &spec, ..Manifest::default() }.text();
        let warnings: Vec<String> = read(&text).warnings.iter().map(ToString::to_string).collect();
        let Object::NodePool(mut pool) = only_object(&text) else { panic!("{text}") };
        (pool.disruption.budgets.remove(0).allowed_of(10), warnings)
    };
    for schedule in ["@midnight", "5/15 * * * *", "0 8 * * MON-FRI"] {
        assert_eq!(budget(schedule), (5, vec![]), "{schedule}");
    }
    for schedule in ["0 0 * * 9", "0 0 L * *", "0 0 * * 5#2", "* * * * * *", "@daily_"] {
        let (allowed, warnings) = budget(schedule);
        assert_eq!((allowed, warnings.len()), (0, 1), "{schedule}: {warnings:?}");
    }
    assert_eq!(
        budget("0 0 * * 7").1,
        [
            "\"0 0 * * 7\" is not a cron schedule: day of the week 7 is out of range: it takes 0 to 6: \
          until it is, the budget allows no disruption (pool.yaml:5, object default, field \
          spec.disruption.budgets[0].schedule)"
        ]
    );
}

#[test]
fn an_annotation_that_says_nothing_is_a_warning_and_counts_as_not_there() {
    let read_with = |value: &str| {
        let text = Manifest::default().text().replace(
            "metadata: {name: default}",
            &format!("metadata: {{name: default, annotations: {{outrigger.dev/expendable-below: '{value}'}}}}"),
        );
        let warnings: Vec<String> = read(&text).warnings.iter().map(ToString::to_string).collect();
        let Object::NodePool(pool) = only_object(&text) else { panic!("{text}") };
        (pool.options.expendable_below, warnings)
    };
    assert_eq!(read_with("-10"), (Some(-10), vec![]));
    let (below, warnings) = read_with("low");
    assert_eq!(below, None);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    for part in ["\"low\" is no pod priority", "object default", "outrigger.dev/expendable-below"] {
        assert!(warning.contains(part), "{warning}");
    }
}

#[test]
fn a_limit_in_dollars_is_exact() {
    let spec = "limits: {outrigger.dev/usd-per-hour: '0.125'}";
    let text = Manifest { spec, ..Manifest::default() }.text();
    assert!(read(&text).warnings.is_empty());
    let Object::NodePool(pool) = only_object(&text) else { panic!("{text}") };
    assert_eq!(pool.limits.get(USD_PER_HOUR), 125_000_000);
}

#[test]
fn requirements_keep_the_rules_of_the_api() {
    for (requirement, expected) in [
        (
            "{key: team, operator: In}",
            "requirements[0].values: operator In needs at least one value",
        ),
        (
            "{key: team, operator: Gt, values: ['1', '2']}",
            "requirements[0].values: operator Gt needs exactly one value, an integer from 0 to 9223372036854775807",
        ),
        (
            "{key: team, operator: Lte, values: ['-1']}",
            "requirements[0].values: operator Lte needs exactly one value, an integer from 0 to 9223372036854775807",
        ),
        (
            "{key: team, operator: Equals, values: [blue]}",
            "requirements[0].operator: \"Equals\" is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte",
        ),
        (
            "{key: team, operator: Exists, minValues: 51}",
            "requirements[0].minValues: minValues 51 is out of range: it takes 1 to 50",
        ),
        ("{operator: Exists}", "requirements[0].key: the field is missing"),
        (
            "{key: karpenter.sh/nodepool, operator: In, values: [other]}",
            "requirements[0].key: label karpenter.sh/nodepool is set by the NodePool itself",
        ),
        (
            "{key: kubernetes.io/hostname, operator: Exists}",
            "requirements[0].key: label kubernetes.io/hostname is restricted: it differs on every node",
        ),
        (
            "{key: karpenter.k8s.aws/instance-pods, operator: Gt, values: ['50']}",
            "requirements[0].key: label karpenter.k8s.aws/instance-pods is restricted: keys under \
             karpenter.k8s.aws are Karpenter's own, except its well-known labels",
        ),
        (
            "{key: team, operator: In, values: [blue sky]}",
            "requirements[0].values[0]: \"blue sky\" is not a label value: it takes letters, digits, '-', '_' \
             and '.', and begins and ends with a letter or digit",
        ),
        (
            "{key: generation, operator: In, values: [4]}",
            "requirements[0].values[0]: expected a string, found the number 4",
        ),
    ] {
        refuses(
            &Manifest { requirements: &format!("[{requirement}]"), ..Manifest::default() },
            &[&format!("spec.template.spec.{expected}")],
        );
    }
    let many = format!("[{}]", vec!["{key: team, operator: Exists}"; 101].join(", "));
    refuses(
        &Manifest { requirements: &many, ..Manifest::default() },
        &[
            "spec.template.spec.requirements: 101 requirements are too many: at most 100 are allowed",
        ],
    );
}

#[test]
fn what_can_only_partly_be_met_is_a_warning() {
    for (requirement, expected) in [
        (
            "{key: karpenter.sh/capacity-type, operator: In, values: [spot, cheap]}",
            "no instance has karpenter.sh/capacity-type cheap",
        ),
        (
            "{key: team, operator: Exists, values: [blue]}",
            "operator Exists takes no values: they have no effect",
        ),
        (
            "{key: team, operator: In, values: [blue], minValues: 2}",
            "2 distinct values are asked for, but only 1 are listed: no node can meet that",
        ),
    ] {
        let manifest =
            Manifest { requirements: &format!("[{requirement}]"), ..Manifest::default() };
        manifest.pool();
        let warnings: Vec<_> =
            read(&manifest.text()).warnings.into_iter().map(|warning| warning.what).collect();
        assert_eq!(warnings, [expected]);
    }
}

#[test]
fn labels_keep_the_rules_of_the_api() {
    refuses(
        &Manifest {
            labels: "{karpenter.sh/nodepool: a, kubernetes.io/hostname: b, compute.karpenter.sh/c: d, \
                     karpenter.sh/capacity-type: spot, kubernetes.io/purpose: web, -x: y}",
            ..Manifest::default()
        },
        &[
            "spec.template.metadata.labels[\"karpenter.sh/nodepool\"]: label karpenter.sh/nodepool is set by the \
             NodePool itself",
            "spec.template.metadata.labels[\"kubernetes.io/hostname\"]: label kubernetes.io/hostname is \
             restricted: it differs on every node",
            "spec.template.metadata.labels[\"compute.karpenter.sh/c\"]: label compute.karpenter.sh/c is \
             restricted: keys under compute.karpenter.sh are Karpenter's own, except its well-known labels",
            "spec.template.metadata.labels.-x: \"-x\" is not a label key: the name takes letters, digits, '-', \
             '_' and '.', and begins and ends with a letter or digit",
        ],
    );
}

#[test]
fn key_and_effect_of_a_taint_are_unique_over_both_lists() {
    refuses(
        &Manifest {
            template: "taints: [{key: a, value: x, effect: NoSchedule}, {key: a, effect: NoExecute}]\n\
                       startupTaints: [{key: a, value: y, effect: NoSchedule}]",
            ..Manifest::default()
        },
        &[
            "spec.template.spec.startupTaints[0]: taint a:NoSchedule is given twice: key and effect must be \
           unique over taints and startupTaints",
        ],
    );
    refuses(
        &Manifest {
            template: "taints: [{key: a, effect: Never}, {key: b}]",
            ..Manifest::default()
        },
        &[
            "spec.template.spec.taints[0].effect: \"Never\" is not one of NoSchedule, PreferNoSchedule, NoExecute",
            "spec.template.spec.taints[1].effect: the field is missing",
        ],
    );
}

#[test]
fn budgets_keep_the_rules_of_the_api() {
    for (budget, expected) in [
        ("{nodes: '5', schedule: '@daily'}", ".schedule: schedule needs duration beside it"),
        ("{nodes: '5', duration: 1h}", ".duration: duration needs schedule beside it"),
        ("{nodes: '5', timeZone: UTC}", ".timeZone: timeZone needs schedule beside it"),
        (
            "{nodes: 101%}",
            ".nodes: \"101%\" is neither a number of nodes, such as 5, nor a percentage of 0% to 100%",
        ),
        ("{nodes: 5}", ".nodes: expected a string, found the number 5"),
        (
            "{reasons: [Expired]}",
            ".reasons[0]: \"Expired\" is not one of Underutilized, Empty, Drifted",
        ),
        (
            "{schedule: '* * * *', duration: 1h}",
            ".schedule: \"* * * *\" is not a cron schedule: it has 4 fields instead of 5",
        ),
        (
            "{schedule: '@daily', duration: 90s}",
            ".duration: \"90s\" is not a window: it takes hours, minutes, or hours and minutes, such as 8h or \
             1h30m (no seconds)",
        ),
    ] {
        refuses(
            &Manifest {
                spec: &format!("disruption: {{budgets: [{budget}]}}"),
                ..Manifest::default()
            },
            &[&format!("spec.disruption.budgets[0]{expected}")],
        );
    }
}

#[test]
fn durations_are_whole_hours_minutes_and_seconds() {
    refuses(
        &Manifest {
            spec: "disruption: {consolidateAfter: soon, consolidationPolicy: WhenUnderutilized}",
            template: "expireAfter: 30d\nterminationGracePeriod: Never",
            ..Manifest::default()
        },
        &[
            "spec.template.spec.terminationGracePeriod: \"Never\" is not a duration: it takes whole numbers \
             with h, m or s, such as 720h or 1h30m",
            "spec.template.spec.expireAfter: \"30d\" is neither a duration such as 720h or 1h30m nor Never",
            "spec.disruption.consolidateAfter: \"soon\" is neither a duration such as 720h or 1h30m nor Never",
            "spec.disruption.consolidationPolicy: \"WhenUnderutilized\" is not one of WhenEmpty, \
             WhenEmptyOrUnderutilized, Balanced",
        ],
    );
}

#[test]
fn a_pool_of_fixed_size_has_no_weight_and_is_limited_by_nodes_only() {
    let pool = Manifest { spec: "replicas: 3\nlimits: {nodes: 5}", ..Manifest::default() }.pool();
    assert_eq!(pool.replicas, Some(3));
    refuses(
        &Manifest {
            spec: "replicas: 3\nweight: 1\nlimits: {nodes: 5, cpu: 10}",
            ..Manifest::default()
        },
        &[
            "spec.weight: weight cannot stand beside replicas: a NodePool of fixed size is not chosen for pods",
            "spec.limits.cpu: limit cpu cannot stand beside replicas: a NodePool of fixed size is limited by \
             nodes only",
        ],
    );
    refuses(
        &Manifest { spec: "replicas: -1", ..Manifest::default() },
        &["spec.replicas: -1 is below zero"],
    );
}

#[test]
fn numbers_have_ranges() {
    refuses(
        &Manifest { spec: "weight: 0", ..Manifest::default() },
        &["spec.weight: weight 0 is out of range: it takes 1 to 100"],
    );
    refuses(
        &Manifest { spec: "weight: '5'", ..Manifest::default() },
        &["spec.weight: expected a whole number, found the string \"5\""],
    );
    refuses(
        &Manifest { spec: "limits: {cpu: many}", ..Manifest::default() },
        &["spec.limits.cpu: \"many\" is not a quantity: it has no digits"],
    );
}

#[test]
fn a_limit_of_what_no_node_has_is_never_silent() {
    let warnings = |limits: &str| {
        let spec = format!("limits: {limits}");
        let pool = Manifest { spec: &spec, ..Manifest::default() };
        let warnings = read(&pool.text()).warnings;
        warnings.iter().map(|warning| warning.what.clone()).collect::<Vec<_>>()
    };
    for (written, meant) in [
        ("cpus", "cpu"),
        ("CPU", "cpu"),
        ("vcpu", "cpu"),
        ("mem", "memory"),
        ("Memory", "memory"),
        ("node", "nodes"),
        ("gpu", "nvidia.com/gpu"),
        ("nvidia.com/gpus", "nvidia.com/gpu"),
    ] {
        let advice =
            format!("no node has {written}, so this limit has no effect: did you mean {meant}?");
        assert_eq!(warnings(&format!("{{{written}: 10}}")), [advice]);
    }
    assert_eq!(warnings("{dollars: 10}"), ["no node has dollars, so this limit has no effect"]);
    let usual = "{cpu: 1, memory: 1Gi, nodes: 2, pods: 10, ephemeral-storage: 1Ti, hugepages-2Mi: 1Gi, nvidia.com/gpu: 1, example.com/dongle: 2}";
    assert_eq!(warnings(usual), Vec::<String>::new());
}

#[test]
fn a_reference_names_group_kind_and_name() {
    let text = Manifest::default().text();
    let text = text.replace(
        "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
        "{group: karpenter.k8s.aws/v1, kind: '', apiVersion: v1}",
    );
    assert_eq!(
        errors(&text),
        [
            "the field is not known (pool.yaml:8, object default, field spec.template.spec.nodeClassRef.apiVersion)",
            "it may not be empty (pool.yaml:8, object default, field spec.template.spec.nodeClassRef.kind)",
            "the field is missing (pool.yaml:8, object default, field spec.template.spec.nodeClassRef.name)",
            "a group has no '/': write karpenter.k8s.aws without the version (pool.yaml:8, object default, \
             field spec.template.spec.nodeClassRef.group)",
        ]
    );
}

#[test]
fn one_bad_pool_is_left_out_and_the_rest_goes_on() {
    let bad = Manifest { spec: "weight: 0", ..Manifest::default() }.text();
    let good = Manifest::default().text();
    let objects = read(&format!("{bad}---\n{good}"));
    assert_eq!((objects.objects.len(), objects.errors.len()), (1, 1));
}
