//! What holds for `template.yaml`, `infra/cluster.yaml` and `infra/nodes.yaml`, against the code
//! that they install.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::{BTreeMap, BTreeSet};

use outrigger_tests::template::{Resource, Template, strings};
use outrigger_tests::workspace::{Package, Source, production, root};
use serde_json::{Value, json};

fn installation() -> Template {
    Template::read("template.yaml").unwrap()
}

fn cluster() -> Template {
    Template::read("infra/cluster.yaml").unwrap()
}

fn nodes() -> Template {
    Template::read("infra/nodes.yaml").unwrap()
}

fn all() -> [Template; 3] {
    [installation(), cluster(), nodes()]
}

fn source(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Sources of what runs in Lambda.
fn function_sources() -> Vec<Source> {
    let packages = Package::all().unwrap();
    let deployed = packages.iter().filter(|package| {
        package.folder != "functions/cli" && !package.folder.starts_with("tests")
    });
    deployed.flat_map(|package| production(package.sources())).collect()
}

/// `ProvisioningFunction` is `provisioning`.
fn name_of(function: &Resource<'_>) -> String {
    function.id.strip_suffix("Function").unwrap().to_lowercase()
}

fn functions(template: &Template) -> Vec<Resource<'_>> {
    template.resources("AWS::Serverless::Function").collect()
}

fn sources_of_queues<'a>(function: &Resource<'a>) -> Vec<&'a Value> {
    let events = function.properties["Events"].as_object().into_iter().flatten();
    events
        .filter(|(_, event)| event["Type"] == "SQS")
        .map(|(_, event)| &event["Properties"])
        .collect()
}

/// Whether a schedule invokes it: only notices have none.
fn is_scheduled(function: &Resource<'_>) -> bool {
    function.id != "InterruptionFunction"
}

/// The resource that `!Ref x` or `!GetAtt x.Arn` names.
fn target(reference: &Value) -> &str {
    reference["Ref"].as_str().or_else(|| reference["Fn::GetAtt"][0].as_str()).unwrap()
}

fn property<'a>(template: &'a Template, kind: &str, id: &str) -> &'a Value {
    let found = template.body["Resources"].get(id).filter(|own| own["Type"] == kind);
    &found.unwrap_or_else(|| panic!("{}: no {kind} {id}", template.path))["Properties"]
}

fn own_timeout(template: &Template, function: &Resource<'_>) -> i64 {
    let all = &template.body["Globals"]["Function"]["Timeout"];
    function.properties["Timeout"].as_i64().or(all.as_i64()).unwrap()
}

#[test]
fn a_function_is_called_alike_in_every_place() {
    let template = installation();
    for function in functions(&template) {
        let name = name_of(&function);
        assert_eq!(function.properties["Handler"], *name);
        assert_eq!(
            function.properties["FunctionName"]["Fn::Sub"],
            json!(format!("${{AWS::StackName}}-{name}"))
        );
        let dispatch = source("functions/bootstrap/src/main.rs");
        let krate = if name == "catalog" { "catalog_function" } else { &name };
        // Tolerated until the function is there: whoever adds it need not touch this test.
        if root().join("functions").join(&name).exists() {
            assert!(dispatch.contains(&format!("{krate}::NAME")), "bootstrap does not know {name}");
        }
    }
    assert_eq!(functions(&template).len(), 6);
}

#[test]
fn every_function_has_a_log_group_that_forgets_and_a_role_of_its_own() {
    let template = installation();
    let mut roles = BTreeSet::new();
    for function in functions(&template) {
        let group = target(&function.properties["LoggingConfig"]["LogGroup"]);
        let group = property(&template, "AWS::Logs::LogGroup", group);
        assert_eq!(group["RetentionInDays"], json!({"Ref": "LogRetentionDays"}), "{}", function.id);
        let name = format!("/aws/lambda/${{AWS::StackName}}-{}", name_of(&function));
        assert_eq!(group["LogGroupName"]["Fn::Sub"], *name);
        let role = target(&function.properties["Role"]);
        assert!(roles.insert(role), "{} shares a role", function.id);
    }
}

#[test]
fn every_function_has_an_alarm_about_errors() {
    let template = installation();
    let watched: BTreeSet<&str> = template
        .resources("AWS::CloudWatch::Alarm")
        .filter(|alarm| alarm.properties["Namespace"] == "AWS/Lambda")
        .filter(|alarm| alarm.properties["MetricName"] == "Errors")
        .map(|alarm| target(&alarm.properties["Dimensions"][0]["Value"]))
        .collect();
    let all: BTreeSet<&str> = functions(&template).iter().map(|function| function.id).collect();
    assert_eq!(watched, all);
}

#[test]
fn throttles_of_every_function_are_watched() {
    let template = installation();
    let alarm = property(&template, "AWS::CloudWatch::Alarm", "ThrottlesAlarm");
    let metrics = alarm["Metrics"].as_array().unwrap().iter();
    let watched: BTreeSet<&str> = metrics
        .filter_map(|metric| metric["MetricStat"]["Metric"]["Dimensions"].get(0))
        .map(|dimension| target(&dimension["Value"]))
        .collect();
    let all: BTreeSet<&str> = functions(&template).iter().map(|function| function.id).collect();
    assert_eq!(watched, all);
}

#[test]
fn a_message_comes_back_only_after_its_function_has_given_up() {
    let template = installation();
    let mut handlers = Vec::new();
    for function in functions(&template) {
        for event in sources_of_queues(&function) {
            let queue = property(&template, "AWS::SQS::Queue", target(&event["Queue"]));
            let hidden = queue["VisibilityTimeout"].as_i64().unwrap();
            assert!(own_timeout(&template, &function) < hidden, "{}", function.id);
            let is_alone = event["BatchSize"] == 1;
            let says_which_failed =
                event["FunctionResponseTypes"] == json!(["ReportBatchItemFailures"]);
            assert!(is_alone || says_which_failed, "{}", function.id);
            if function.id == "InterruptionFunction" {
                // EC2 gives two minutes: what failed once must have another chance within them.
                assert!(2 * hidden < 120, "a notice is over before its second attempt");
            }
            handlers.push(function.id);
        }
    }
    let woken = ["DisruptionFunction", "InterruptionFunction", "LifecycleFunction"];
    assert_eq!(handlers, [woken.as_slice(), &["ProvisioningFunction"]].concat());
}

#[test]
fn an_invocation_ends_before_lambda_ends_it() {
    let template = installation();
    let code = source("shared/lambda/src/invocation.rs");
    let seconds = |constant: &str| -> i64 {
        let definition = format!("{constant}: SignedDuration = SignedDuration::from_secs(");
        let value = code.split(&definition).nth(1).unwrap();
        value.split(')').next().unwrap().parse().unwrap()
    };
    let (longest, margin) = (seconds("DURATION_MAX"), seconds("DEADLINE_MARGIN"));
    for function in functions(&template).iter().filter(|own| is_scheduled(own)) {
        let timeout = own_timeout(&template, function);
        assert!(
            longest + margin < timeout,
            "{} is ended while it may still begin work",
            function.id
        );
    }
}

#[test]
fn functions_that_come_back_by_messages_to_themselves_are_not_taken_for_runaway_loops() {
    let template = installation();
    for function in functions(&template) {
        let queues = sources_of_queues(&function);
        let wakes_itself = queues.iter().any(|own| target(&own["Queue"]).ends_with("Wakes"));
        let allowed = function.properties.get("RecursiveLoop");
        assert_eq!(allowed, wakes_itself.then(|| json!("Allow")).as_ref(), "{}", function.id);
    }
}

#[test]
fn what_cannot_be_handled_is_kept_by_a_dead_letter_queue() {
    let template = installation();
    for function in functions(&template) {
        let queues = sources_of_queues(&function);
        for event in &queues {
            let queue = property(&template, "AWS::SQS::Queue", target(&event["Queue"]));
            let dead = target(&queue["RedrivePolicy"]["deadLetterTargetArn"]);
            property(&template, "AWS::SQS::Queue", dead);
        }
        if is_scheduled(&function) {
            let kept = &function.properties["EventInvokeConfig"]["DestinationConfig"]["OnFailure"];
            assert_eq!(kept["Type"], "SQS", "{} loses events that fail", function.id);
            property(&template, "AWS::SQS::Queue", target(&kept["Destination"]));
        }
    }
    for rule in template.resources("AWS::Events::Rule") {
        for own in rule.properties["Targets"].as_array().unwrap() {
            let dead = target(&own["DeadLetterConfig"]["Arn"]);
            property(&template, "AWS::SQS::Queue", dead);
        }
    }
    for template in all() {
        for schedule in template.resources("AWS::Scheduler::Schedule") {
            let dead = &schedule.properties["Target"]["DeadLetterConfig"]["Arn"];
            assert!(dead.is_object(), "{} loses ticks", schedule.id);
        }
    }
}

#[test]
fn every_dead_letter_queue_raises_an_alarm() {
    let template = installation();
    let watched: BTreeSet<&str> = template
        .resources("AWS::CloudWatch::Alarm")
        .filter(|alarm| alarm.properties["MetricName"] == "ApproximateNumberOfMessagesVisible")
        .map(|alarm| target(&alarm.properties["Dimensions"][0]["Value"]))
        .collect();
    let fed: BTreeSet<&str> = template
        .resources("AWS::SQS::Queue")
        .filter(|queue| queue.properties.get("RedrivePolicy").is_none())
        .map(|queue| queue.id)
        .collect();
    assert_eq!(watched, fed);
}

#[test]
fn every_tick_names_its_cluster() {
    let template = cluster();
    let ticks: Vec<_> = template.resources("AWS::Scheduler::Schedule").collect();
    let mut woken = BTreeSet::new();
    for tick in &ticks {
        let input = tick.properties["Target"]["Input"]["Fn::Sub"].as_str().unwrap();
        let input: Value = serde_json::from_str(input).unwrap();
        let mut expected = json!({"cluster": "${ClusterName}", "mode": "${ReactionMode}"});
        if tick.id == "LifecycleTick" {
            // It counts those that have not succeeded for some intervals.
            expected["schedules"] = json!({
                "provisioning": "${ProvisioningSchedule}",
                "disruption": "${DisruptionSchedule}",
            });
        }
        assert_eq!(input, expected);
        let arn = tick.properties["Target"]["Arn"]["Fn::Sub"].as_str().unwrap();
        woken.insert(arn.rsplit_once("${Installation}-").unwrap().1.to_owned());
        // A parameter that was saved once must not stop or start ticks with a later deployment.
        assert_eq!(tick.properties["State"], "ENABLED");
    }
    let expected = ["disruption", "lifecycle", "provisioning", "watcher"];
    assert_eq!(woken, expected.map(str::to_owned).into());
    // Whoever does not watch pays for no watcher.
    let when = |tick: &Resource<'_>| template.body["Resources"][tick.id].get("Condition").cloned();
    for tick in ticks {
        assert_eq!(when(&tick), (tick.id == "WatcherTick").then(|| json!("Watches")));
    }
    let watches = &template.body["Conditions"]["Watches"];
    assert_eq!(*watches, json!({"Fn::Equals": [{"Ref": "ReactionMode"}, "watch"]}));
}

#[test]
fn who_looks_once_a_minute_pays_for_no_queue_of_wake_messages() {
    let template = installation();
    let variables = &template.body["Globals"]["Function"]["Environment"]["Variables"];
    let mut asked = 0;
    for function in functions(&template) {
        for source in sources_of_queues(&function) {
            let queue = target(&source["Queue"]);
            let Some(name) = queue.strip_suffix("Wakes") else { continue };
            assert_eq!(source["Enabled"], json!({"Fn::If": ["HasWakes", true, false]}));
            // Nobody sends what nobody takes.
            let url = &variables[format!("{}_WAKES_URL", name.to_uppercase())];
            assert_eq!(*url, json!({"Fn::If": ["HasWakes", {"Ref": queue}, ""]}));
            asked += 1;
        }
    }
    assert_eq!(asked, 3);
    let has_wakes = &template.body["Conditions"]["HasWakes"];
    let polls = json!({"Fn::Equals": [{"Ref": "ReactionMode"}, "poll"]});
    assert_eq!(*has_wakes, json!({"Fn::Not": [polls]}));
}

#[test]
fn an_installation_is_identified_by_its_stack() {
    let template = installation();
    let id = json!({"Fn::Sub": ["${AWS::StackName}/${Uuid}", {
        "Uuid": {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
    }]});
    let variables = &template.body["Globals"]["Function"]["Environment"]["Variables"];
    assert_eq!(variables["INSTALLATION_ID"], id);
    assert_eq!(template.body["Outputs"]["InstallationId"]["Value"], id);
}

#[test]
fn the_environment_is_what_the_code_reads() {
    let code = source("shared/lambda/src/environment.rs");
    let read: BTreeSet<&str> = code
        .lines()
        .filter_map(|line| {
            line.strip_prefix("pub const ")?.split_once(": &str = \"")?.1.strip_suffix("\";")
        })
        .collect();
    let template = installation();
    let mut given = BTreeSet::new();
    let globals = &template.body["Globals"]["Function"];
    for holder in functions(&template).iter().map(|own| own.properties).chain([globals]) {
        let variables = holder["Environment"]["Variables"].as_object().into_iter().flatten();
        given.extend(variables.map(|(name, _)| name.as_str()));
    }
    assert_eq!(given, read);
    // Nobody else reads any, but which function it is.
    for source in function_sources() {
        for (number, line) in
            source.production_lines().filter(|(_, line)| line.contains("env::var("))
        {
            let known = line.contains("_HANDLER") || source.path.ends_with("environment.rs");
            assert!(known, "{}:{number} reads the environment", source.path.display());
        }
    }
}

/// The sources without the file that lists which metrics are essential.
fn emitting_sources() -> Vec<Source> {
    let sources = function_sources().into_iter();
    sources.filter(|source| !source.path.ends_with("lambda/src/metrics.rs")).collect()
}

/// The names of metrics in the sources: ours, and Karpenter's that we emit.
fn emitted() -> BTreeSet<String> {
    let sources = emitting_sources();
    let literals = sources.iter().flat_map(|source| {
        source.production_lines().flat_map(|(_, line)| line.split('"').skip(1).step_by(2))
    });
    literals
        .filter(|text| text.starts_with("outrigger_") || text.starts_with("karpenter_"))
        .map(str::to_owned)
        .collect()
}

/// Every `{Namespace, MetricName, Dimensions}` of an alarm.
fn metrics_of<'a>(alarm: &Resource<'a>) -> Vec<&'a Value> {
    let several = alarm.properties["Metrics"].as_array().into_iter().flatten();
    let several = several.filter_map(|own| own["MetricStat"].get("Metric"));
    let one = alarm.properties.get("MetricName").map(|_| alarm.properties);
    several.chain(one).collect()
}

#[test]
fn every_alarm_is_about_a_metric_that_somebody_emits() {
    let emitted = emitted();
    let of_aws = [
        ("AWS/Lambda", "Errors"),
        ("AWS/Lambda", "Throttles"),
        ("AWS/SQS", "ApproximateAgeOfOldestMessage"),
        ("AWS/SQS", "ApproximateNumberOfMessagesVisible"),
    ];
    for template in all() {
        for alarm in template.resources("AWS::CloudWatch::Alarm") {
            for metric in metrics_of(&alarm) {
                let name = metric["MetricName"].as_str().unwrap();
                if let Some(namespace) = metric["Namespace"].as_str() {
                    assert!(of_aws.contains(&(namespace, name)), "{}", alarm.id);
                } else {
                    assert_eq!(metric["Namespace"], json!({"Ref": "MetricsNamespace"}));
                    assert!(emitted.contains(name), "{} is about {name}", alarm.id);
                }
            }
            let missing = alarm.properties["TreatMissingData"].as_str().unwrap();
            // `NoSuccess`, but not `NotActing`.
            let rest = alarm.id.strip_prefix("No");
            let is_about_silence = rest.is_some_and(|rest| rest.starts_with(char::is_uppercase));
            assert_eq!(missing == "breaching", is_about_silence, "{}", alarm.id);
        }
    }
}

#[test]
fn alarms_that_are_always_there_are_about_essential_metrics() {
    let code = source("shared/lambda/src/metrics.rs");
    let (before, lists) = code.split_once("const ESSENTIAL:").unwrap();
    assert!(!before.contains("\"outrigger_"));
    let lists = lists.split("impl Detail").next().unwrap();
    let (always, unless_zero) = lists.split_once("const ESSENTIAL_UNLESS_ZERO:").unwrap();
    let mut seen = 0;
    for template in all() {
        for alarm in template.resources("AWS::CloudWatch::Alarm") {
            let is_breached_by_silence = alarm.properties["TreatMissingData"] == "breaching";
            let own = metrics_of(&alarm).into_iter().filter(|own| own["Namespace"].is_object());
            for metric in own {
                let name = format!("\"{}\"", metric["MetricName"].as_str().unwrap());
                // Zero is a figure, too, for whoever waits for one.
                let list = if is_breached_by_silence { always } else { unless_zero };
                assert!(list.contains(&name), "{} is about {name}", alarm.id);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 3);
}

#[test]
fn essential_metrics_are_emitted() {
    let code = source("shared/lambda/src/metrics.rs");
    let lists = code.split_once("const ESSENTIAL:").unwrap().1.split("impl Detail").next().unwrap();
    let named = lists.split('"').skip(1).step_by(2);
    let emitted = emitted();
    let missing: Vec<&str> = named.filter(|name| !emitted.contains(*name)).collect();
    assert!(missing.is_empty(), "nobody emits {missing:?}");
}

/// The labels that the code gives a metric, where the call spells them out: `&[("kind", …)]`, or
/// `labels` as the file binds it.
fn labels_of(metric: &str) -> BTreeSet<String> {
    let quoted = format!("\"{metric}\"");
    let sources = emitting_sources();
    let holder = sources.iter().find(|source| source.text.contains(&quoted)).unwrap();
    let (before, after) = holder.text.split_once(&quoted).unwrap();
    let argument = after.trim_start_matches([',', ' ', '\n']);
    let written = match argument.strip_prefix("&[") {
        Some(list) => list.split(']').next().unwrap(),
        None => before.rsplit_once("let labels =").unwrap().1.split(';').next().unwrap(),
    };
    written.split("(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn alarms_ask_for_metrics_with_the_dimensions_that_they_have() {
    // A metric with other dimensions is another metric: such an alarm would never see a figure.
    for alarm in cluster().resources("AWS::CloudWatch::Alarm") {
        for metric in metrics_of(&alarm) {
            let asked = metric["Dimensions"].as_array().unwrap().iter();
            let mut asked: BTreeSet<_> =
                asked.map(|own| own["Name"].as_str().unwrap().to_owned()).collect();
            assert!(asked.remove("cluster"), "{}", alarm.id);
            assert_eq!(asked, labels_of(metric["MetricName"].as_str().unwrap()), "{}", alarm.id);
        }
    }
}

#[test]
fn the_dashboard_shows_metrics_that_somebody_emits() {
    let template = cluster();
    let dashboard = property(&template, "AWS::CloudWatch::Dashboard", "Dashboard");
    let body = dashboard["DashboardBody"]["Fn::Sub"].as_str().unwrap();
    let body: Value = serde_json::from_str(&body.replace("${PodWaitSecondsMax}", "600")).unwrap();
    let mut shown = BTreeSet::new();
    for widget in body["widgets"].as_array().unwrap() {
        for metric in widget["properties"]["metrics"].as_array().unwrap() {
            let searched = metric[0]["expression"].as_str();
            // Those of AWS itself are there.
            let searched = searched.filter(|own| !own.contains("{AWS/"));
            let searched =
                searched.and_then(|own| own.split("MetricName=\"").nth(1)?.split('"').next());
            let named = (metric[0] == "${MetricsNamespace}").then(|| metric[1].as_str().unwrap());
            shown.extend(searched.or(named).map(str::to_owned));
        }
    }
    let missing: Vec<_> = shown.difference(&emitted()).cloned().collect();
    assert!(missing.is_empty(), "nobody emits {missing:?}");
    for figure in [
        "karpenter_scheduler_queue_depth",
        "outrigger_nodes",
        "outrigger_launch_lower_bound_hourly_usd",
        "karpenter_nodeclaims_disrupted_total",
        "karpenter_voluntary_disruption_decisions_total",
        "outrigger_plans_refused_total",
    ] {
        assert!(shown.contains(figure), "{figure} is not shown");
    }
}

/// The expressions of the dashboard that search for metrics.
fn searches(template: &Template) -> Vec<String> {
    let dashboard = property(template, "AWS::CloudWatch::Dashboard", "Dashboard");
    let body = dashboard["DashboardBody"]["Fn::Sub"].as_str().unwrap();
    let body: Value = serde_json::from_str(&body.replace("${PodWaitSecondsMax}", "600")).unwrap();
    let widgets = body["widgets"].as_array().unwrap();
    let metrics = widgets.iter().flat_map(|own| own["properties"]["metrics"].as_array().unwrap());
    metrics.filter_map(|metric| Some(metric[0]["expression"].as_str()?.to_owned())).collect()
}

#[test]
fn searches_quote_names_that_are_not_letters_and_digits() {
    // Without, CloudWatch reads such a namespace or dimension as something else and finds nothing.
    let searches = searches(&cluster());
    assert!(searches.len() > 5);
    for search in searches {
        let schema = search.split_once("('{").unwrap().1;
        let own = schema.strip_prefix("\"${MetricsNamespace}\",");
        let dimensions = own.or_else(|| schema.strip_prefix("AWS/SQS,")).unwrap_or_else(|| {
            panic!("{search} is about metrics of neither ours nor a queue");
        });
        for name in dimensions.split_once("} ").unwrap().0.split(',') {
            let is_plain = name.chars().all(|own| own.is_ascii_alphanumeric());
            let is_quoted = name.starts_with('"') && name.ends_with('"');
            assert!(is_plain || is_quoted, "{name} in {search}");
        }
    }
}

/// The schedules that `rate(…)` may give, as the pattern of a parameter has it.
fn schedule_pattern(template: &Template, parameter: &str) -> String {
    template.body["Parameters"][parameter]["AllowedPattern"].as_str().unwrap().to_owned()
}

#[test]
fn alarms_look_back_as_far_as_the_schedule_of_their_function() {
    // An alarm that looks back for ten minutes would be raised between two ticks of an hour.
    let mut derived = 0;
    for template in all() {
        for alarm in template.resources("AWS::CloudWatch::Alarm") {
            let own = |metric: &&Value| metric["Namespace"] == json!({"Ref": "MetricsNamespace"});
            // A count is not missed when it comes late; a level, and silence, are.
            let is_counted = alarm.properties["Statistic"] == "Sum"
                && alarm.properties["TreatMissingData"] != "breaching";
            if is_counted || !metrics_of(&alarm).iter().any(own) {
                continue;
            }
            let times = &alarm.properties["EvaluationPeriods"]["Fn::Select"];
            let schedule = times[1]["Fn::Split"][1]["Fn::Select"][1]["Fn::Split"][1]["Ref"]
                .as_str()
                .unwrap_or_else(|| panic!("{} looks back the same whatever runs", alarm.id));
            let hourly = format!("Is{}Hourly", schedule.strip_suffix("Schedule").unwrap());
            let period = json!({"Fn::If": [hourly, 10_800, 600]});
            let one = alarm.properties.get("Period").into_iter();
            let several = alarm.properties["Metrics"].as_array().into_iter().flatten();
            let several = several.filter_map(|own| own["MetricStat"].get("Period"));
            for own in one.chain(several) {
                assert_eq!(*own, period, "{}", alarm.id);
            }
            // CloudWatch: a day at most with periods below an hour, seven days with longer ones.
            let pattern = schedule_pattern(&template, schedule);
            assert_eq!(
                pattern,
                r"^rate\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\)$"
            );
            derived += 1;
        }
    }
    assert_eq!(derived, 3);
}

#[test]
fn a_level_that_was_bad_once_raises_its_alarm() {
    let template = cluster();
    for id in ["PodsWait", "NeedsOperator"] {
        let alarm = property(&template, "AWS::CloudWatch::Alarm", &format!("{id}Alarm"));
        assert_eq!(alarm["Statistic"], "Maximum", "{id}");
        assert_eq!(alarm["DatapointsToAlarm"], 1, "{id}");
        assert!(alarm.get("AlarmActions").is_some(), "{id}");
    }
}

#[test]
fn every_parameter_says_what_it_is_for_and_what_it_takes() {
    for template in all() {
        let references = template.references();
        let groups =
            &template.body["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"];
        let grouped: Vec<&str> = groups
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|group| strings(&group["Parameters"]))
            .collect();
        for (name, parameter) in template.parameters() {
            let at = format!("{}: {name}", template.path);
            assert!(
                parameter["Description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{at}"
            );
            let constraint = parameter["ConstraintDescription"].as_str();
            assert!(constraint.is_some_and(|text| text.starts_with("must be ")), "{at}");
            let bounds = ["AllowedPattern", "AllowedValues", "MaxValue"];
            assert!(
                bounds.iter().any(|bound| parameter.get(bound).is_some()),
                "{at} takes anything"
            );
            assert!(references.contains(name), "{at} does nothing");
            assert_eq!(grouped.iter().filter(|own| **own == name).count(), 1, "{at} in groups");
        }
    }
}

/// What the output `AddCluster` gives the stack of a cluster, by parameter.
fn added_parameters() -> BTreeMap<String, String> {
    let installation = installation();
    let command = installation.body["Outputs"]["AddCluster"]["Value"]["Fn::Sub"][0].as_str();
    let (_, given) = command.unwrap().split_once("--parameter-overrides ").unwrap();
    let pairs = given.split_whitespace().map(|own| own.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_cluster_is_added_with_all_that_the_installation_knows() {
    let (installation, cluster) = (installation(), cluster());
    let mut given = added_parameters();
    for (name, theirs) in cluster.parameters() {
        let value = given.remove(name);
        let ours = &installation.body["Parameters"][name];
        let is_asked_for = theirs.get("Default").is_none() || !ours.is_null();
        assert_eq!(value.is_some(), is_asked_for, "AddCluster and {name}");
        // Where both have a parameter, it takes the same, has the same default and is handed on.
        for field in ["Type", "Default", "AllowedPattern", "AllowedValues", "MinValue", "MaxValue"]
        {
            assert!(ours.is_null() || ours[field] == theirs[field], "{name}: {field}");
        }
        if !ours.is_null() {
            assert_eq!(value, Some(format!("${{{name}}}")), "AddCluster hands {name} on");
        }
    }
    assert!(given.is_empty(), "infra/cluster.yaml does not take {given:?}");
}

#[test]
fn no_cluster_is_part_of_the_installation() {
    // Else the order of ClusterNames would count, and that cluster could not be retired alone.
    let installation = installation();
    for kind in ["AWS::CloudFormation::Stack", "AWS::EKS::AccessEntry"] {
        assert_eq!(installation.resources(kind).count(), 0, "{kind}");
    }
    for function in functions(&installation) {
        let variables = &function.properties["Environment"]["Variables"];
        let first = json!({"Fn::Select": [0, {"Ref": "ClusterNames"}]});
        let ahead = json!({"Fn::If": ["FirstIsAName", first, ""]});
        // The catalogue is of a region: its figures are of no cluster.
        let expected = if function.id == "CatalogFunction" { Value::Null } else { ahead };
        assert_eq!(variables["CLUSTER_NAME"], expected, "{}", function.id);
    }
}

#[test]
fn functions_enter_a_cluster_as_the_group_that_has_rights() {
    let template = cluster();
    let entries: Vec<_> = template.resources("AWS::EKS::AccessEntry").collect();
    assert_eq!(entries.len(), 5);
    for entry in entries {
        let is_watcher = entry.id == "WatcherAccessEntry";
        let group = if is_watcher { "outrigger-watcher" } else { "outrigger" };
        assert_eq!(entry.properties["KubernetesGroups"], json!([group]), "{}", entry.id);
        let rights = source("infra/kubernetes/rbac.yaml");
        assert!(rights.contains(&format!("kind: Group\n  name: {group}\n")), "{group}");
    }
}

#[test]
fn nodes_keep_what_they_need_when_the_installation_goes() {
    let template = nodes();
    let kinds = ["AWS::IAM::Role", "AWS::IAM::InstanceProfile", "AWS::EKS::AccessEntry"];
    for kind in kinds {
        assert_eq!(template.resources(kind).count(), 1, "{kind}");
    }
    assert_eq!(template.body["Resources"].as_object().unwrap().len(), kinds.len());
    for template in [installation(), cluster()] {
        assert_eq!(template.resources("AWS::IAM::InstanceProfile").count(), 0);
        for entry in template.resources("AWS::EKS::AccessEntry") {
            assert!(entry.properties.get("Type").is_none(), "{} lets nodes in", entry.id);
        }
        for role in template.resources("AWS::IAM::Role") {
            let trusted = role.properties["AssumeRolePolicyDocument"].to_string();
            assert!(!trusted.contains("ec2."), "{} is a role of nodes", role.id);
        }
        // A stack whose output another imports could not be deleted before that one.
        assert!(!template.body.to_string().contains("Fn::ImportValue"));
    }
}

#[test]
fn the_role_of_nodes_is_one_that_functions_may_lend() {
    let template = nodes();
    let role = property(&template, "AWS::IAM::Role", "NodeRole");
    assert_eq!(role["Path"]["Fn::Sub"], "/outrigger/${Installation}/");
    let installation = installation();
    let (_, lends) = *installation
        .statements()
        .iter()
        .find(|(_, statement)| statement["Sid"] == "LendNodesTheirRole")
        .unwrap();
    let lent = lends["Resource"]["Fn::If"][2][0]["Fn::Sub"].as_str().unwrap();
    assert!(lent.ends_with(":role/outrigger/${AWS::StackName}/*"), "{lent}");
}

#[test]
fn the_table_is_laid_out_as_the_code_has_it() {
    let schema = source("shared/aws/src/store/schema.rs");
    let named = |constant: &str| {
        let after = schema.split(&format!("pub const {constant}: &str = \"")).nth(1).unwrap();
        after.split('"').next().unwrap().to_owned()
    };
    let template = installation();
    let table = property(&template, "AWS::DynamoDB::Table", "Table");
    assert_eq!(table["KeySchema"][0]["AttributeName"], named("CLUSTER"));
    assert_eq!(table["KeySchema"][1]["AttributeName"], named("KEY"));
    assert_eq!(table["TimeToLiveSpecification"]["AttributeName"], named("EXPIRES"));
    let index = &table["GlobalSecondaryIndexes"][0];
    assert_eq!(index["IndexName"], named("INSTANCE_INDEX"));
    assert_eq!(index["KeySchema"][0]["AttributeName"], named("INSTANCE"));
    assert_eq!(table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"], true);
    assert_eq!(table["SSESpecification"]["SSEEnabled"], true);
    let resource = &template.body["Resources"]["Table"];
    for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
        assert_eq!(resource[policy], "Retain", "{policy}: the table outlives its stack");
    }
    let name = json!({"Fn::If": ["MakesTable", {"Ref": "Table"}, {"Ref": "ExistingTableName"}]});
    let variables = &template.body["Globals"]["Function"]["Environment"]["Variables"];
    assert_eq!(variables["TABLE_NAME"], name);
    assert_eq!(template.body["Outputs"]["TableName"]["Value"], name);
}

#[test]
fn no_account_is_named() {
    for template in all() {
        let text = source(&template.path);
        let mut digits = 0;
        for character in text.chars() {
            digits = if character.is_ascii_digit() { digits + 1 } else { 0 };
            assert!(digits < 12, "{} holds an account id", template.path);
        }
    }
}
