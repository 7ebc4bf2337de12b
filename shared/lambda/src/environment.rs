//! Environment variables: the configuration of a function, read once, invalid ones reported
//! together.
//!
//! Names and defaults are Karpenter's where it has them
//! (<https://karpenter.sh/docs/reference/settings/>). A test compares the names with the
//! template's.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use controllers::ports::FunctionName;
use controllers::record::controls::{Mode, usd};
use controllers::record::fuses::Fuses;
use controllers::safeguards::Safeguards;
use domain::instance_overhead::{parse_memory_overhead, parse_reserved_enis};
use domain::money::UsdPerHour;
use domain::settings::{MinValuesPolicy, PreferencePolicy, Settings};
use domain::{SignedDuration, Text};
use ec2::Ec2Settings;

use crate::metrics::Detail;
use crate::schedule::Schedule;

/// A variable and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value where it is not set; `None` where there is no default.
    pub default: Option<&'static str>,
    /// What it does.
    pub meaning: &'static str,
}

/// The DynamoDB table.
pub const TABLE_NAME: &str = "TABLE_NAME";
/// The cluster of events that name no cluster.
pub const CLUSTER_NAME: &str = "CLUSTER_NAME";
/// Whether functions watch, check every few seconds, or poll.
pub const REACTION_MODE: &str = "REACTION_MODE";
/// Which log lines are written.
pub const LOG_LEVEL: &str = "LOG_LEVEL";
/// The CloudWatch namespace of metrics.
pub const METRICS_NAMESPACE: &str = "METRICS_NAMESPACE";
/// What is made a metric.
pub const METRICS_DETAIL: &str = "METRICS_DETAIL";
/// Feature gates.
pub const FEATURE_GATES: &str = "FEATURE_GATES";
/// Whether preferences of pods are respected.
pub const PREFERENCE_POLICY: &str = "PREFERENCE_POLICY";
/// What happens where `minValues` cannot be met.
pub const MIN_VALUES_POLICY: &str = "MIN_VALUES_POLICY";
/// The share of an instance's memory that the hypervisor takes.
pub const VM_MEMORY_OVERHEAD_PERCENT: &str = "VM_MEMORY_OVERHEAD_PERCENT";
/// Network interfaces that pods get no addresses from.
pub const RESERVED_ENIS: &str = "RESERVED_ENIS";
/// The installation's id.
pub const INSTALLATION_ID: &str = "INSTALLATION_ID";
/// Whether functions act.
pub const MODE: &str = "MODE";
/// Launches in a minute.
pub const MAX_LAUNCHES_PER_TICK: &str = "MAX_LAUNCHES_PER_TICK";
/// Launches in an hour.
pub const MAX_LAUNCHES_PER_HOUR: &str = "MAX_LAUNCHES_PER_HOUR";
/// Nodes that begin to end in a minute.
pub const MAX_TERMINATIONS_PER_TICK_PERCENT: &str = "MAX_TERMINATIONS_PER_TICK_PERCENT";
/// What a cluster may cost.
pub const MAX_HOURLY_USD: &str = "MAX_HOURLY_USD";
/// Where function provisioning wakes itself.
pub const PROVISIONING_WAKES_URL: &str = "PROVISIONING_WAKES_URL";
/// Where function lifecycle is woken.
pub const LIFECYCLE_WAKES_URL: &str = "LIFECYCLE_WAKES_URL";
/// Where function disruption is woken.
pub const DISRUPTION_WAKES_URL: &str = "DISRUPTION_WAKES_URL";
/// When function catalog is woken.
pub const CATALOG_SCHEDULE: &str = "CATALOG_SCHEDULE";
/// Whether node classes count as ready without a dry run.
pub const DISABLE_DRY_RUN: &str = "DISABLE_DRY_RUN";

/// All variables that are read, beside those of Lambda (`_HANDLER`) and of the AWS SDK
/// (`AWS_REGION` and others).
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: TABLE_NAME,
        default: None,
        meaning: "The DynamoDB table that holds what is remembered between runs. Required.",
    },
    Variable {
        name: CLUSTER_NAME,
        default: None,
        meaning: "The EKS cluster of events that name no cluster. Connections to it are opened \
                  before the first event.",
    },
    Variable {
        name: INSTALLATION_ID,
        default: None,
        meaning: "The installation's id, as NAME/UUID of its stack: clusters and instances bear it. \
                  Required.",
    },
    Variable {
        name: MODE,
        default: Some("Active"),
        meaning: "`Active`, or `Observe`: functions plan, and write events, metrics and the plan; \
                  nothing else changes. The table and ConfigMap `kube-system/outrigger` take \
                  precedence.",
    },
    Variable {
        name: MAX_LAUNCHES_PER_TICK,
        default: Some("100"),
        meaning: "The most launches in a calendar minute in a cluster.",
    },
    Variable {
        name: MAX_LAUNCHES_PER_HOUR,
        default: Some("500"),
        meaning: "The most launches in an hour in a cluster; a fifth is kept for replacements of \
                  interrupted nodes.",
    },
    Variable {
        name: MAX_TERMINATIONS_PER_TICK_PERCENT,
        default: Some("20"),
        meaning: "Of a cluster's instances, the share that may begin to end in a calendar minute; \
                  five always may.",
    },
    Variable {
        name: MAX_HOURLY_USD,
        default: Some("1000"),
        meaning: "What a cluster's instances may cost together, dollars an hour; `0` for no bound.",
    },
    Variable {
        name: REACTION_MODE,
        default: Some("watch"),
        meaning: "`watch`: the watcher runs until just before its next invocation, or provisioning \
                  itself where there are no queues, and provisioning acts within \
                  the batching window; `tick`: it runs once, and wakes itself every 5 s to check \
                  whether pods wait; `poll`: it runs once. An event's `mode` takes precedence.",
    },
    Variable {
        name: PROVISIONING_WAKES_URL,
        default: None,
        meaning: "The URL of the SQS queue by which function provisioning wakes itself in `tick` \
                  mode. Without it, that is like `poll`.",
    },
    Variable {
        name: LIFECYCLE_WAKES_URL,
        default: None,
        meaning: "The URL of the SQS queue whose messages wake function lifecycle. Without it, who \
                  watches stays while work is in flight instead of coming back by message.",
    },
    Variable {
        name: DISRUPTION_WAKES_URL,
        default: None,
        meaning: "The same of function disruption.",
    },
    Variable {
        name: LOG_LEVEL,
        default: Some("info"),
        meaning: "`error`, `warn`, `info`, `debug` or `trace`, or directives such as `info,aws=debug`.",
    },
    Variable {
        name: METRICS_NAMESPACE,
        default: Some("Outrigger"),
        meaning: "The CloudWatch namespace of metrics.",
    },
    Variable {
        name: METRICS_DETAIL,
        default: Some("essential"),
        meaning: "`essential`: what alarms and a first look need is made a metric, most of it while \
                  it is not zero; `all`: everything. The rest stands in the logs.",
    },
    Variable {
        name: FEATURE_GATES,
        default: Some(""),
        meaning: "Features by name, such as `NodeRepair=true,SpotToSpotConsolidation=true`.",
    },
    Variable {
        name: PREFERENCE_POLICY,
        default: Some("Respect"),
        meaning: "`Respect`: preferences of pods count as required until they cannot be met; \
                  `Ignore`: they do not count.",
    },
    Variable {
        name: MIN_VALUES_POLICY,
        default: Some("Strict"),
        meaning: "`Strict`: a NodePool whose minValues cannot be met launches nothing; \
                  `BestEffort`: as many values as there are.",
    },
    Variable {
        name: VM_MEMORY_OVERHEAD_PERCENT,
        default: Some("0.075"),
        meaning: "The share of an instance's memory that pods never get, for the hypervisor.",
    },
    Variable {
        name: RESERVED_ENIS,
        default: Some("0"),
        meaning: "Network interfaces of each instance that pods get no addresses from.",
    },
    Variable {
        name: CATALOG_SCHEDULE,
        default: Some("rate(1 hour)"),
        meaning: "When function catalog is woken, as EventBridge Scheduler's rate: function \
                  lifecycle counts a catalogue that nobody has refreshed for too long as a function \
                  that is late.",
    },
    Variable {
        name: DISABLE_DRY_RUN,
        default: Some("false"),
        meaning: "`true`: EC2NodeClasses count as ready without a dry run of their permissions.",
    },
];

/// Whether a function watches for work, looks for it every few seconds, or polls once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It runs until just before the next invocation.
    Watch,
    /// It runs once, and checks every few seconds whether it has to again.
    Tick,
    /// It runs once.
    Poll,
}

impl FromStr for Reaction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "watch" => Ok(Self::Watch),
            "tick" => Ok(Self::Tick),
            "poll" => Ok(Self::Poll),
            other => Err(format!("{other:?} is none of watch, tick and poll")),
        }
    }
}

const HOURLY: Schedule = Schedule::every(SignedDuration::from_hours(1));

/// The configuration of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// [`TABLE_NAME`].
    pub table_name: String,
    /// [`CLUSTER_NAME`].
    pub cluster: Option<Text>,
    /// [`REACTION_MODE`].
    pub reaction: Reaction,
    /// [`PROVISIONING_WAKES_URL`], [`LIFECYCLE_WAKES_URL`] and [`DISRUPTION_WAKES_URL`], as far as
    /// they are set.
    pub wakes: BTreeMap<FunctionName, Text>,
    /// [`LOG_LEVEL`].
    pub log_level: String,
    /// [`METRICS_NAMESPACE`].
    pub metrics_namespace: String,
    /// [`METRICS_DETAIL`].
    pub metrics_detail: Detail,
    /// [`FEATURE_GATES`], [`PREFERENCE_POLICY`], [`MIN_VALUES_POLICY`].
    pub settings: Settings,
    /// [`INSTALLATION_ID`], [`MODE`] and the fuses.
    pub safeguards: Safeguards,
    /// [`CATALOG_SCHEDULE`].
    pub catalog_schedule: Schedule,
    /// [`VM_MEMORY_OVERHEAD_PERCENT`], [`RESERVED_ENIS`], [`DISABLE_DRY_RUN`].
    pub ec2: Ec2Settings,
}

/// Variables that are missing or invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct EnvironmentError {
    /// Names, and what is wrong with each; at least one.
    pub problems: Vec<(&'static str, String)>,
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("environment variables: ")?;
        for (index, (name, problem)) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{name}: {problem}")?;
        }
        Ok(())
    }
}

impl Environment {
    /// From the environment of this process.
    pub fn of_process() -> Result<Self, EnvironmentError> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// From a lookup of variables. An empty variable counts as not set.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, EnvironmentError> {
        let mut reader = Reader { lookup, problems: Vec::new() };
        let table_name = reader.required(TABLE_NAME);
        let environment = Self {
            table_name,
            cluster: reader.given(CLUSTER_NAME).map(Into::into),
            reaction: reader.parsed(REACTION_MODE, str::parse, Reaction::Watch),
            wakes: reader.wakes(),
            log_level: reader.text(LOG_LEVEL),
            metrics_namespace: reader.text(METRICS_NAMESPACE),
            metrics_detail: reader.parsed(METRICS_DETAIL, str::parse, Detail::Essential),
            settings: reader.settings(),
            safeguards: reader.safeguards(),
            catalog_schedule: reader.parsed(CATALOG_SCHEDULE, str::parse, HOURLY),
            ec2: reader.ec2(),
        };
        match reader.problems {
            problems if problems.is_empty() => Ok(environment),
            problems => Err(EnvironmentError { problems }),
        }
    }
}

struct Reader<L> {
    lookup: L,
    problems: Vec<(&'static str, String)>,
}

impl<L: Fn(&str) -> Option<String>> Reader<L> {
    fn given(&self, name: &'static str) -> Option<String> {
        (self.lookup)(name).filter(|value| !value.is_empty())
    }

    /// Its value, or the default of [`VARIABLES`].
    fn text(&self, name: &'static str) -> String {
        let default = VARIABLES.iter().find(|own| own.name == name).and_then(|own| own.default);
        self.given(name).unwrap_or_else(|| default.unwrap_or_default().to_owned())
    }

    fn required(&mut self, name: &'static str) -> String {
        self.given(name).unwrap_or_else(|| {
            self.problems.push((name, "is not set".to_owned()));
            String::new()
        })
    }

    fn parsed<T, E: fmt::Display>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
        otherwise: T,
    ) -> T {
        parse(&self.text(name)).unwrap_or_else(|error| {
            self.problems.push((name, error.to_string()));
            otherwise
        })
    }

    fn wakes(&self) -> BTreeMap<FunctionName, Text> {
        let queues = [
            (FunctionName::Lifecycle, LIFECYCLE_WAKES_URL),
            (FunctionName::Provisioning, PROVISIONING_WAKES_URL),
            (FunctionName::Disruption, DISRUPTION_WAKES_URL),
        ];
        let known =
            queues.into_iter().filter_map(|(function, name)| Some((function, self.given(name)?)));
        known.map(|(function, url)| (function, url.into())).collect()
    }

    fn settings(&mut self) -> Settings {
        let default = Settings::default();
        Settings {
            feature_gates: self.parsed(
                FEATURE_GATES,
                |text| default.feature_gates.with(text),
                default.feature_gates,
            ),
            preference_policy: self.parsed(
                PREFERENCE_POLICY,
                |text| match text {
                    "Respect" => Ok(PreferencePolicy::Respect),
                    "Ignore" => Ok(PreferencePolicy::Ignore),
                    other => Err(format!("{other:?} is neither Respect nor Ignore")),
                },
                default.preference_policy,
            ),
            min_values_policy: self.parsed(
                MIN_VALUES_POLICY,
                |text| match text {
                    "Strict" => Ok(MinValuesPolicy::Strict),
                    "BestEffort" => Ok(MinValuesPolicy::BestEffort),
                    other => Err(format!("{other:?} is neither Strict nor BestEffort")),
                },
                default.min_values_policy,
            ),
            search_effort: default.search_effort,
        }
    }

    fn safeguards(&mut self) -> Safeguards {
        let default = Fuses::default();
        let percent = |text: &str| match text.parse() {
            Ok(percent) if percent <= 100 => Ok(percent),
            _ => Err(format!("{text:?} is no number from 0 to 100")),
        };
        let no_more_than =
            |text: &str| usd(text).map(|most| (most > UsdPerHour::ZERO).then_some(most));
        Safeguards {
            installation: self.required(INSTALLATION_ID).into(),
            mode: self.parsed(MODE, str::parse, Mode::Paused),
            fuses: Fuses {
                launches_per_tick: self.parsed(MAX_LAUNCHES_PER_TICK, str::parse, 0),
                launches_per_hour: self.parsed(MAX_LAUNCHES_PER_HOUR, str::parse, 0),
                terminations_per_tick_percent: self.parsed(
                    MAX_TERMINATIONS_PER_TICK_PERCENT,
                    percent,
                    0,
                ),
                hourly_usd: self.parsed(MAX_HOURLY_USD, no_more_than, default.hourly_usd),
            },
        }
    }

    fn ec2(&mut self) -> Ec2Settings {
        let default = Ec2Settings::default();
        Ec2Settings {
            vm_memory_overhead_ppm: self.parsed(
                VM_MEMORY_OVERHEAD_PERCENT,
                parse_memory_overhead,
                default.vm_memory_overhead_ppm,
            ),
            reserved_enis: self.parsed(RESERVED_ENIS, parse_reserved_enis, default.reserved_enis),
            dry_runs: !self.parsed(DISABLE_DRY_RUN, str::parse::<bool>, !default.dry_runs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: (&str, &str) = ("INSTALLATION_ID", "own/1");

    fn read(variables: &[(&str, &str)]) -> Result<Environment, EnvironmentError> {
        Environment::read(|name| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_table_and_the_installation_are_all_that_must_be_said() {
        let environment = read(&[("TABLE_NAME", "outrigger"), ID]).unwrap();
        assert_eq!(environment.table_name, "outrigger");
        assert_eq!(environment.reaction, Reaction::Watch);
        assert_eq!(environment.log_level, "info");
        assert_eq!(environment.settings, Settings::default());
        assert_eq!(environment.ec2, Ec2Settings::default());
        let fuses = Fuses::default();
        let safeguards = Safeguards { installation: "own/1".into(), mode: Mode::Active, fuses };
        assert_eq!(environment.safeguards, safeguards);
        assert_eq!(environment.cluster, None);
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let error = read(&[
            ("REACTION_MODE", "nap"),
            ("FEATURE_GATES", "Nonsense=true"),
            ("VM_MEMORY_OVERHEAD_PERCENT", "7.5"),
            ("PREFERENCE_POLICY", "respect"),
            ("MAX_HOURLY_USD", "-1"),
        ])
        .unwrap_err();
        let names: Vec<_> = error.problems.iter().map(|(name, _)| *name).collect();
        let wrong = [
            "TABLE_NAME",
            "REACTION_MODE",
            "FEATURE_GATES",
            "PREFERENCE_POLICY",
            "INSTALLATION_ID",
            "MAX_HOURLY_USD",
            "VM_MEMORY_OVERHEAD_PERCENT",
        ];
        assert_eq!(names, wrong);
        assert!(error.to_string().contains("\"nap\" is none of watch, tick and poll"), "{error}");
    }

    #[test]
    fn what_is_set_counts() {
        let environment = read(&[
            ("TABLE_NAME", "t"),
            ID,
            ("MAX_HOURLY_USD", "0"),
            ("MODE", "Observe"),
            ("CLUSTER_NAME", "prod"),
            ("REACTION_MODE", "poll"),
            ("FEATURE_GATES", "NodeRepair=true"),
            ("MIN_VALUES_POLICY", "BestEffort"),
            ("VM_MEMORY_OVERHEAD_PERCENT", "0.05"),
            ("RESERVED_ENIS", "1"),
            ("DISABLE_DRY_RUN", "true"),
            ("LOG_LEVEL", ""),
        ])
        .unwrap();
        assert_eq!(environment.cluster.as_deref(), Some("prod"));
        assert_eq!(environment.reaction, Reaction::Poll);
        assert!(environment.settings.feature_gates.node_repair);
        assert_eq!(environment.settings.min_values_policy, MinValuesPolicy::BestEffort);
        assert_eq!(environment.ec2.vm_memory_overhead_ppm, 50_000);
        assert_eq!((environment.ec2.reserved_enis, environment.ec2.dry_runs), (1, false));
        assert_eq!(environment.safeguards.mode, Mode::Observe);
        assert_eq!(environment.safeguards.fuses.hourly_usd, None);
        assert_eq!(environment.log_level, "info", "an empty variable is not set");
    }

    #[test]
    fn defaults_that_are_written_down_are_those_that_hold() {
        for variable in VARIABLES.iter().filter(|own| own.default.is_some()) {
            let default = variable.default.unwrap();
            let with_default = read(&[("TABLE_NAME", "t"), ID, (variable.name, default)]);
            assert_eq!(with_default, read(&[("TABLE_NAME", "t"), ID]), "{}", variable.name);
        }
    }
}
