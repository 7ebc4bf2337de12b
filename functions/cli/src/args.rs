//! The command line as users type it. What a flag means is decided where it is used.

pub(crate) mod audit;
pub(crate) mod controls;
pub(crate) mod diff;
pub(crate) mod node_selector;
pub(crate) mod recording;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod split;
pub(crate) mod suggest;

use std::path::PathBuf;

use audit::AuditArgs;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use controls::{EndOrphansArgs, FusesArgs, PauseArgs, SwitchArgs, TakeOverArgs, UninstallArgs};
use diff::DiffArgs;
use domain::Timestamp;
use domain::settings::{FeatureGates, MinValuesPolicy, PreferencePolicy, SearchEffort, Settings};
use node_selector::NodeSelector;
use recording::{RecordArgs, ReplayArgs};
use schema::SchemaArgs;
use shell::{CompletionsArgs, ManArgs};
use split::SplitBy;
use suggest::SuggestArgs;

/// How to save what a plan depends on. Lines wrap at spaces: the command stays whole, and can be
/// copied, as its second line has none.
const EVERYTHING: &str = "\
All that a plan depends on, from a live cluster:
  kubectl get -A -o yaml \\
  no,po,ds,deploy,sts,rs,jobs,pdb,pvc,pv,sc,csinodes,ns,pc,nodepools,ec2nodeclasses,nodeclaims
and nodeoverlays, capacitybuffers and scaledobjects where the cluster has those kinds.";

/// The commands of AWS whose output makes a catalogue.
const IMPORTED: &str = "\
What to import, with a region of your own:
  region=eu-west-1
  aws ec2 describe-instance-types --region $region > types.json
  aws ec2 describe-instance-type-offerings --region $region \\
    --location-type availability-zone > offerings.json
  aws ec2 describe-spot-price-history --region $region \\
    --product-descriptions Linux/UNIX \\
    --start-time $(date -u +%FT%TZ) > spot.json
  aws pricing get-products --region us-east-1 \\
    --service-code AmazonEC2 --filters \\
    Type=TERM_MATCH,Field=regionCode,Value=$region \\
    Type=TERM_MATCH,Field=operatingSystem,Value=Linux \\
    Type=TERM_MATCH,Field=preInstalledSw,Value=NA \\
    Type=TERM_MATCH,Field=capacitystatus,Value=Used \\
    Type=TERM_MATCH,Field=marketoption,Value=OnDemand > prices.json
  outrigger catalog import -f types.json offerings.json spot.json \\
    prices.json > catalog.json
(The price list is asked for in us-east-1, eu-central-1 or ap-south-1, whichever region it is of.)";

/// The version, with the commit that it was built from where the build script found one.
pub(crate) const VERSION: &str = env!("OUTRIGGER_VERSION");

/// Gives an EKS cluster the nodes that its pods need, from outside the cluster.
///
/// Without a command it runs a bundled scenario and shows what happens.
#[derive(Debug, Parser)]
#[command(name = "outrigger", version = VERSION, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The command line of the program under a name that users type.
pub(crate) fn command(name: &'static str) -> clap::Command {
    let command = Arguments::command().bin_name(name).display_name(name);
    // A usage that is written by hand names the program.
    let usage = diff::USAGE.replace("outrigger", name);
    command.mut_subcommand("diff", |diff| diff.override_usage(usage))
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what one tick would do: what is launched, what is disrupted, what has no place, and why
    #[command(after_help = EVERYTHING)]
    Plan(PlanArgs),
    /// Show what a cluster of Karpenter or of node groups would cost, the moves, and what blocks
    #[command(after_help = EVERYTHING)]
    Audit(AuditArgs),
    /// Run a scenario through simulated time, over a cluster and a cloud in memory
    Simulate(SimulateArgs),
    /// Give every reason behind one decision
    #[command(after_help = EVERYTHING)]
    Explain(ExplainArgs),
    /// List the instance types as the scheduler sees them, or import a catalogue with exact prices
    #[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
    Catalog(CatalogArgs),
    /// Turn older manifests (Provisioner, AWSNodeTemplate, v1beta1) into v1
    Convert(ConvertArgs),
    /// Record a live cluster, an audit log or a trace, to be replayed by `simulate --from`
    #[command(
        args_conflicts_with_subcommands = true,
        subcommand_negates_reqs = true,
        disable_help_subcommand = true
    )]
    Record(RecordArgs),
    /// Say what settings a recording speaks for: each replayed, before and after
    Suggest(SuggestArgs),
    /// Print the JSON schema of a document, or list the documents that commands print as JSON
    Schema(SchemaArgs),
    /// Show the nodes of a live cluster: what they hold, and what they cost
    #[command(after_help = EVERYTHING)]
    Top(TopArgs),
    /// Stop all functions for a cluster; nodes stay as they are
    Pause(PauseArgs),
    /// Let the functions plan for a cluster, and change nothing in it
    Observe(SwitchArgs),
    /// End a pause, or let the functions do more than observe
    Resume(SwitchArgs),
    /// Show how a cluster is switched, and whose it is
    Status(SwitchArgs),
    /// Set how much the functions may do in a cluster
    Fuses(FusesArgs),
    /// Confirm that instances without a claim are to be terminated, however many there are
    EndOrphans(EndOrphansArgs),
    /// Give a cluster to another installation
    TakeOver(TakeOverArgs),
    /// Let go of a cluster's nodes, or end them, before the stacks go
    Uninstall(UninstallArgs),
    /// Show what a change of manifests does to a cluster, or what functions that only observe would
    /// have done
    #[command(after_help = diff::EXAMPLES)]
    Diff(DiffArgs),
    /// Print what lets a shell complete commands, flags and values
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
}

/// `outrigger plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) source: SnapshotArgs,
    /// How to print the plan
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// Exit with status 1 when a pod has no place too, as for a plan that breaks a rule
    #[arg(long)]
    pub(crate) strict: bool,
    /// Tick on in simulated time until nothing changes: what that saves, in which steps, and what
    /// holds more back
    #[arg(long, conflicts_with = "strict")]
    pub(crate) until_stable: bool,
}

/// `outrigger explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// What kind of object
    #[arg(value_enum)]
    pub(crate) kind: ExplainedKind,
    /// Its name; NAMESPACE/NAME for a pod outside the namespace `default`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) source: SnapshotArgs,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = ExplainFormat::Text)]
    pub(crate) output: ExplainFormat,
}

/// How to print an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// One self-contained page
    Html,
}

/// What can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainedKind {
    /// Where a pod goes, or why nowhere
    Pod,
    /// Why a node stays or goes, or what a new one is for
    Node,
}

/// `outrigger top`.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Files or folders of YAML or JSON, instead of the live cluster; - reads standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// On a terminal, look again every ten seconds, with what the next tick would do; keys sort,
    /// filter and end it
    #[arg(long, conflicts_with_all = ["files", "by", "now"])]
    pub(crate) live: bool,
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    pub(crate) context: Option<String>,
    /// An InstanceCatalog to take prices from, instead of those of AWS or the embedded one
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// Ask AWS for prices anew; those of the last hour are kept in the user's cache folder
    #[arg(long, conflicts_with_all = ["files", "catalog"])]
    pub(crate) refresh_catalog: bool,
    /// The installation's DynamoDB table, to show how often EC2 takes spot nodes back
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    pub(crate) table: Option<String>,
    /// The region whose prices count; the nodes say it without it
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Split the cost by what pods request: namespace, nodepool, or label:KEY
    #[arg(long, value_name = "GROUP")]
    pub(crate) by: Option<SplitBy>,
    /// Only nodes with these labels, such as karpenter.sh/nodepool=default or 'zone in (a,b)'
    #[arg(short = 'l', long, visible_alias = "selector", value_name = "SELECTOR")]
    pub(crate) node_selector: Option<NodeSelector>,
    /// Labels of nodes to show, each in a column of its own
    #[arg(
        short = 'L',
        long,
        visible_alias = "extra-labels",
        value_name = "KEY,…",
        value_delimiter = ',',
        conflicts_with = "by"
    )]
    pub(crate) label_columns: Vec<String>,
    /// Resources to show the use of: cpu,memory without it
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "by")]
    pub(crate) resources: Vec<String>,
    /// The moment to tell ages at; the wall clock without it
    #[arg(long, value_name = "RFC3339")]
    pub(crate) now: Option<Timestamp>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = TopFormat::Text)]
    pub(crate) output: TopFormat,
}

/// How to print nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// One self-contained page
    Html,
}

/// What a plan is made from.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    /// Files or folders of YAML or JSON; - reads standard input
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE|DIR",
        num_args = 1..,
        required_unless_present = "live"
    )]
    pub(crate) files: Vec<PathBuf>,
    /// Look at the live cluster of the kubeconfig instead of files, at the prices that AWS says
    ///
    /// Nothing is changed in the cluster. Types and prices of its region are fetched with your
    /// credentials of AWS, and kept for an hour in your cache folder; where AWS does not answer, or
    /// denies it, the embedded catalogue stands in.
    #[arg(long, conflicts_with = "files")]
    pub(crate) live: bool,
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME", requires = "live", conflicts_with = "files")]
    pub(crate) context: Option<String>,
    /// An InstanceCatalog to plan with, instead of that of AWS or the embedded one
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// Ask AWS for prices anew; those of the last hour are kept in the user's cache folder
    #[arg(long, requires = "live", conflicts_with_all = ["files", "catalog"])]
    pub(crate) refresh_catalog: bool,
    /// The installation's DynamoDB table, to weigh spot offerings as the functions do, by what all
    /// its clusters have seen of interruptions
    #[arg(long, value_name = "NAME", requires = "live", conflicts_with = "files")]
    pub(crate) table: Option<String>,
    /// The moment to plan for; the wall clock without it
    #[arg(long, value_name = "RFC3339")]
    pub(crate) now: Option<Timestamp>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// Settings that Karpenter's users know, for every command that decides.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// Features to switch, such as SpotToSpotConsolidation=true
    #[arg(
        long,
        value_name = "NAME=true,…",
        default_value = "",
        hide_default_value = true,
        value_parser = feature_gates
    )]
    feature_gates: GivenGates,
    /// What becomes of preferences of pods
    #[arg(long, value_enum, default_value_t = PreferencePolicyArg::Respect)]
    preference_policy: PreferencePolicyArg,
    /// What happens where minValues cannot be met
    #[arg(long, value_enum, default_value_t = MinValuesPolicyArg::Strict)]
    min_values_policy: MinValuesPolicyArg,
    /// How much work a plan may take to become cheaper [default: full in simulate, suggest, audit
    /// and plan --until-stable, as the functions do; quick elsewhere]
    #[arg(long, value_enum)]
    search_effort: Option<SearchEffortArg>,
    /// The cluster's name
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The region to plan for
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// How the cluster's scheduler is configured, instead of what ConfigMap kube-system/outrigger
    /// says: a KubeSchedulerConfiguration, or its short form
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduler_config: Option<PathBuf>,
}

impl SettingsArgs {
    /// The settings of a plan that someone at a terminal waits for.
    pub(crate) fn settings(&self) -> Settings {
        self.settings_with(SearchEffortArg::Quick)
    }

    /// The settings with which functions are simulated: they search in full.
    pub(crate) fn settings_of_functions(&self) -> Settings {
        self.settings_with(SearchEffortArg::Full)
    }

    /// The arguments that give the same settings once more.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self {
            feature_gates: GivenGates { text, gates: _ },
            preference_policy,
            min_values_policy,
            search_effort,
            cluster,
            region,
            scheduler_config,
        } = self;
        let is_default = *preference_policy == PreferencePolicyArg::Respect;
        let preference_policy = typed(preference_policy).filter(|_| !is_default);
        let is_default = *min_values_policy == MinValuesPolicyArg::Strict;
        let min_values_policy = typed(min_values_policy).filter(|_| !is_default);
        let scheduler_config = scheduler_config.as_ref().map(|own| own.display().to_string());
        let given = [
            ("--feature-gates", Some(text.clone()).filter(|own| !own.is_empty())),
            ("--preference-policy", preference_policy),
            ("--min-values-policy", min_values_policy),
            ("--search-effort", search_effort.as_ref().and_then(typed)),
            ("--cluster", cluster.clone()),
            ("--region", region.clone()),
            ("--scheduler-config", scheduler_config),
        ];
        let given = given.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        given.flatten().collect()
    }

    fn settings_with(&self, default_effort: SearchEffortArg) -> Settings {
        Settings {
            feature_gates: self.feature_gates.gates,
            preference_policy: match self.preference_policy {
                PreferencePolicyArg::Respect => PreferencePolicy::Respect,
                PreferencePolicyArg::Ignore => PreferencePolicy::Ignore,
            },
            min_values_policy: match self.min_values_policy {
                MinValuesPolicyArg::Strict => MinValuesPolicy::Strict,
                MinValuesPolicyArg::BestEffort => MinValuesPolicy::BestEffort,
            },
            search_effort: match self.search_effort.unwrap_or(default_effort) {
                SearchEffortArg::Quick => SearchEffort::Quick,
                SearchEffortArg::Full => SearchEffort::Full,
            },
        }
    }
}

/// `--feature-gates`, as typed and as meant.
#[derive(Clone, Debug)]
struct GivenGates {
    text: String,
    gates: FeatureGates,
}

fn feature_gates(text: &str) -> Result<GivenGates, domain::settings::FeatureGateError> {
    let gates = FeatureGates::default().with(text)?;
    Ok(GivenGates { text: text.to_owned(), gates })
}

/// The name under which a value is typed.
fn typed(value: &impl ValueEnum) -> Option<String> {
    value.to_possible_value().map(|own| own.get_name().to_owned())
}

/// `--preference-policy`, in Karpenter's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum PreferencePolicyArg {
    /// Required until they cannot be met
    Respect,
    /// Left out from the start
    Ignore,
}

/// `--min-values-policy`, in Karpenter's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum MinValuesPolicyArg {
    /// The NodePool cannot serve the pod
    Strict,
    /// As many values as there are
    BestEffort,
}

/// `--search-effort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SearchEffortArg {
    /// An answer at once
    Quick,
    /// As much as pays off for nodes that run for hours
    Full,
}

/// How to print a plan or a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// One self-contained page
    Html,
}

/// `outrigger simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// A scenario file, - for standard input, or the name of a bundled scenario
    #[arg(required_unless_present_any = ["list", "from"])]
    pub(crate) scenario: Option<String>,
    /// List the bundled scenarios and recordings
    #[arg(long, conflicts_with = "scenario")]
    pub(crate) list: bool,
    /// Draw everything random from this seed instead of the scenario's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Run one variant of the scenario only, instead of all of them side by side
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    pub(crate) variant: Option<String>,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    /// How to print the run
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// `outrigger catalog`.
#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// Only these instance types; a trailing * matches any ending
    pub(crate) instance_types: Vec<String>,
    /// A file with the EC2NodeClass that the types are seen through
    #[arg(long = "nodeclass", value_name = "FILE")]
    pub(crate) node_class: Option<PathBuf>,
    /// An InstanceCatalog to show, instead of the embedded one
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// The region to show; subnets of the EC2NodeClass say it without it
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// A file with a SpotHistory, to show how often EC2 takes instances back
    #[arg(long, value_name = "FILE")]
    pub(crate) spot_history: Option<PathBuf>,
    /// The installation's DynamoDB table, to show the same by what all its clusters have seen
    #[arg(long, value_name = "NAME", conflicts_with = "spot_history")]
    pub(crate) table: Option<String>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = CatalogFormat::Table)]
    pub(crate) output: CatalogFormat,
    #[command(subcommand)]
    pub(crate) command: Option<CatalogCommand>,
}

/// What to do with a catalogue other than to list it.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Make an InstanceCatalog with exact prices from what the AWS CLI prints
    ///
    /// Every file may hold any of the four lists, and any number of pages of it, as JSON or YAML:
    /// what it is shows in its content. On-demand prices there must be; for what else is missing
    /// something stands in, and a warning says what. Rows of another region are refused. The
    /// catalogue is printed as JSON, for --catalog of other commands.
    #[command(after_help = IMPORTED)]
    Import(ImportArgs),
    /// Print what an installation remembers of spot offerings, for -f and --spot-history
    ///
    /// One SpotHistory, of all clusters of the installation together. Only the table is read.
    SpotHistory(SpotHistoryArgs),
}

/// `outrigger catalog spot-history`.
#[derive(Debug, Args)]
pub(crate) struct SpotHistoryArgs {
    /// The installation's DynamoDB table
    #[arg(long, value_name = "NAME")]
    pub(crate) table: String,
    /// The region of the table; the environment or the profile says it without it
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
}

/// `outrigger catalog import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files that the AWS CLI printed; - reads standard input
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE|DIR",
        num_args = 1..,
        required = true
    )]
    pub(crate) files: Vec<PathBuf>,
    /// A file with the EC2NodeClass that the types are seen through
    #[arg(long = "nodeclass", value_name = "FILE")]
    pub(crate) node_class: Option<PathBuf>,
    /// The region of the catalogue; the zones of the files say it without it
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
}

/// How to print a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CatalogFormat {
    /// For people
    Table,
    /// One InstanceCatalog document
    Json,
}

/// `outrigger convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Files or folders of YAML or JSON; - reads standard input
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE|DIR",
        num_args = 1..,
        required = true
    )]
    pub(crate) files: Vec<PathBuf>,
    /// Write the files that change, and print nothing
    #[arg(long, conflicts_with = "diff")]
    pub(crate) in_place: bool,
    /// Print what would change as a unified diff
    #[arg(long)]
    pub(crate) diff: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command("outrigger").debug_assert();
    }

    #[track_caller]
    fn plan_args(line: &str) -> PlanArgs {
        let words = std::iter::once("outrigger").chain(line.split_whitespace());
        match Arguments::try_parse_from(words).unwrap().command {
            Some(Command::Plan(args)) => args,
            other => panic!("{other:?} is no plan"),
        }
    }

    #[test]
    fn several_files_may_follow_one_flag_or_several() {
        let expected: Vec<PathBuf> = vec!["a".into(), "b".into(), "-".into()];
        assert_eq!(plan_args("plan -f a b - --strict").source.files, expected);
        assert_eq!(plan_args("plan -f a -f b -f -").source.files, expected);
    }

    #[test]
    fn a_plan_is_of_files_or_of_the_live_cluster() {
        let args = plan_args("plan --live --context prod").source;
        assert!(args.live && args.files.is_empty());
        assert_eq!(args.context.as_deref(), Some("prod"));
        for wrong in [
            "plan",
            "plan --live -f a",
            "plan -f a --context prod",
            "plan -f a --refresh-catalog",
            "plan --live --catalog a --refresh-catalog",
            "plan -f a --table t",
        ] {
            let words = std::iter::once("outrigger").chain(wrong.split_whitespace());
            assert!(Arguments::try_parse_from(words).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_are_read_in_karpenters_words() {
        let settings = plan_args(
            "plan -f a --feature-gates NodeRepair=true,NodeOverlay=false \
             --preference-policy Ignore --min-values-policy BestEffort",
        )
        .source
        .settings
        .settings();
        assert!(settings.feature_gates.node_repair);
        assert!(!settings.feature_gates.node_overlay);
        assert_eq!(settings.preference_policy, PreferencePolicy::Ignore);
        assert_eq!(settings.min_values_policy, MinValuesPolicy::BestEffort);
    }

    #[test]
    fn settings_left_out_are_karpenters_defaults_and_a_quick_search() {
        let settings = |line: &str| plan_args(line).source.settings.settings();
        let quick = Settings { search_effort: SearchEffort::Quick, ..Settings::default() };
        assert_eq!(settings("plan -f a"), quick);
        assert_eq!(settings("plan -f a --search-effort full"), Settings::default());
    }

    #[test]
    fn a_simulation_searches_as_the_functions_do_unless_asked_for_less() {
        let effort =
            |line: &str| plan_args(line).source.settings.settings_of_functions().search_effort;
        assert_eq!(effort("plan -f a"), SearchEffort::Full);
        assert_eq!(effort("plan -f a --search-effort quick"), SearchEffort::Quick);
    }
}
