//! What the roles of `template.yaml` allow, against what the code calls.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::BTreeSet;

use outrigger_tests::template::{Template, strings};
use outrigger_tests::workspace::{production, root, sources_under};
use serde_json::json;

fn installation() -> Template {
    Template::read("template.yaml").unwrap()
}

/// `ec2:CreateFleet` and the like, as the code names what it calls.
fn calls() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let folders = ["shared/aws/src", "shared/ec2/src"];
    let sources = folders.iter().flat_map(|folder| sources_under(&root().join(folder))).collect();
    for source in production(sources) {
        let lines: Vec<&str> = source.production_lines().map(|(_, line)| line).collect();
        let code = lines.join("\n");
        for service in ["ec2", "iam", "ssm", "pricing"] {
            let opening = format!("{service}(\"");
            let named = code.split(&opening).skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(named.map(|action| format!("{service}:{action}")));
        }
        for opening in ["self.error(\"", "self.written(\""] {
            let named = code.split(opening).skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(named.map(|action| format!("dynamodb:{action}")));
        }
        let named = code.split("service: \"eks\", name: \"").skip(1);
        found.extend(
            named.filter_map(|rest| rest.split('"').next()).map(|own| format!("eks:{own}")),
        );
    }
    // A transaction is allowed by what it is made of: a put that is allowed already, and a check.
    assert!(found.remove("dynamodb:TransactWriteItems"));
    found.insert("dynamodb:ConditionCheckItem".to_owned());
    found
}

#[test]
fn what_the_code_calls_is_allowed_and_nothing_else_is() {
    let template = installation();
    let allowed: BTreeSet<String> = template
        .statements()
        .iter()
        .flat_map(|(_, statement)| strings(&statement["Action"]))
        .map(str::to_owned)
        .collect();
    let called = calls();
    let denied: Vec<_> = called.difference(&allowed).collect();
    assert!(denied.is_empty(), "no role may {denied:?}");
    // What AWS does on behalf of a call, or Lambda on behalf of a function.
    let implied = [
        "iam:PassRole",
        "iam:TagInstanceProfile",
        "kms:Decrypt",
        "kms:DescribeKey",
        "lambda:InvokeFunction",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
        "sqs:SendMessage",
    ];
    let unused: Vec<_> =
        allowed.difference(&called).filter(|action| !implied.contains(&action.as_str())).collect();
    assert!(unused.is_empty(), "nobody calls {unused:?}");
}

#[test]
fn rights_over_everything_are_rights_to_look() {
    for path in ["template.yaml", "infra/cluster.yaml", "infra/nodes.yaml"] {
        let template = Template::read(path).unwrap();
        for (holder, statement) in template.statements() {
            let sid = statement["Sid"].as_str().unwrap_or_default();
            assert!(!sid.is_empty(), "{holder}: a statement says what it is for");
            for action in strings(&statement["Action"]) {
                assert!(!action.contains('*'), "{holder} {sid}: {action}");
                let verb = action.split(':').nth(1).unwrap();
                let is_read = ["Describe", "Get", "List"].iter().any(|own| verb.starts_with(own));
                let is_everything = strings(&statement["Resource"]).contains(&"*");
                assert!(is_read || !is_everything, "{holder} {sid}: {action} on everything");
            }
        }
    }
}

#[test]
fn what_changes_instances_is_bound_to_the_clusters_by_tags() {
    let template = installation();
    let bound = json!({"Ref": "ClusterNames"});
    // Networks, images and the like have no tags of ours: what may be launched is bound by the
    // launch template, which has.
    let unbound = ["LaunchIntoNetworks", "LaunchWhatLaunchTemplatesName", "AskForFleetsOfThat"];
    for (holder, statement) in template.statements() {
        let sid = statement["Sid"].as_str().unwrap();
        let changes = strings(&statement["Action"])
            .into_iter()
            .any(|action| action.starts_with("ec2:") && !action.starts_with("ec2:Describe"));
        if !changes || unbound.contains(&sid) {
            continue;
        }
        let tags = statement["Condition"]["StringLike"].as_object().into_iter().flatten();
        let is_bound = tags.into_iter().any(|(key, value)| key.contains("Tag/") && *value == bound);
        assert!(is_bound, "{holder} {sid} is not bound to clusters");
    }
}

#[test]
fn nothing_is_launched_but_from_a_launch_template_into_the_vpc_that_was_named() {
    let template = installation();
    let statements = template.statements();
    let launches = |kind: &str, action: &str| {
        let of_kind = statements.iter().filter(|(_, statement)| {
            statement["Resource"].to_string().contains(&format!("{kind}/*"))
                && strings(&statement["Action"]).contains(&action)
        });
        of_kind.map(|(_, statement)| &statement["Condition"]["Fn::If"]).collect::<Vec<_>>()
    };
    let from_template = json!({"Bool": {"ec2:IsLaunchTemplateResource": "true"}});
    for kind in ["image", "snapshot", "capacity-reservation", "placement-group"] {
        let conditions = launches(kind, "ec2:RunInstances");
        assert_eq!(conditions.len(), 1, "{kind}");
        assert_eq!(conditions[0][0], "AreLaunchTemplatesAsked", "{kind}");
        assert_eq!(conditions[0][1], from_template, "{kind}");
    }
    for kind in ["subnet", "security-group"] {
        let conditions = launches(kind, "ec2:RunInstances");
        assert_eq!(conditions.len(), 1, "{kind}");
        assert_eq!(conditions[0][0], "HasVpc", "{kind}");
        assert!(conditions[0][1]["ArnLike"]["ec2:Vpc"].is_object(), "{kind}");
    }
    assert_eq!(launches("subnet", "ec2:CreateFleet"), launches("subnet", "ec2:RunInstances"));
}

#[test]
fn records_are_kept_apart_by_partition() {
    let mut bound = 0;
    for (holder, statement) in installation().statements() {
        let resource = &statement["Resource"]["Fn::If"];
        let on_table = strings(&statement["Action"]).iter().any(|own| own.starts_with("dynamodb:"))
            && resource[1] == json!({"Fn::GetAtt": ["Table", "Arn"]});
        let is_denial = statement["Effect"] == "Deny";
        let by = if is_denial { "ForAnyValue:StringLike" } else { "ForAllValues:StringLike" };
        let keys = &statement["Condition"][by]["dynamodb:LeadingKeys"];
        assert!(!on_table || !keys.is_null(), "{holder} {} sees all partitions", statement["Sid"]);
        bound += usize::from(on_table);
    }
    assert_eq!(bound, 7, "a statement about the table is written in another way");
}

#[test]
fn who_serves_clusters_never_writes_the_catalogue() {
    let template = installation();
    let denied = template
        .statements()
        .into_iter()
        .find(|(_, own)| own["Sid"] == "LeaveTheCatalogueToWhoWritesIt");
    let (holder, denied) = denied.unwrap();
    assert_eq!((holder, &denied["Effect"]), ("ServeClusters", &json!("Deny")));
    let keys = &denied["Condition"]["ForAnyValue:StringLike"]["dynamodb:LeadingKeys"];
    assert_eq!(*keys, json!(["region/*"]));
    for action in ["BatchWriteItem", "DeleteItem", "PutItem"] {
        assert!(strings(&denied["Action"]).contains(&&*format!("dynamodb:{action}")), "{action}");
    }
}

#[test]
fn rights_to_a_table_are_the_same_whoever_made_it() {
    let template = installation();
    let named = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ExistingTableName}";
    let mut about = 0;
    for (holder, statement) in template.statements() {
        if !strings(&statement["Action"]).iter().any(|own| own.starts_with("dynamodb:")) {
            continue;
        }
        let choice = &statement["Resource"]["Fn::If"];
        assert_eq!(choice[0], "MakesTable", "{holder} {}", statement["Sid"]);
        let (own, existing) = (choice[1].to_string(), choice[2]["Fn::Sub"].as_str().unwrap());
        assert_eq!(own.contains("/index/instance"), existing.ends_with("/index/instance"));
        assert!(existing.starts_with(named), "{holder} {}", statement["Sid"]);
        about += 1;
    }
    assert_eq!(about, 8);
}
